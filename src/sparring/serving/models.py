"""Where a served policy comes from: a checkpoint that may be read again, or a factory in the user's own code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor, nn

from sparring.core import GameSpec, InputError
from sparring.core.checkpoints import locate_checkpoint
from sparring.core.networks import Factory
from sparring.core.versions import present_spec
from sparring.policy.checkpoint import load_checkpoint


@dataclass
class ModelSource:
    """A named policy, and how to read it again."""

    name: str
    spec: GameSpec
    """In the version of the game installed here."""
    policy: nn.Module
    version: int
    path: Path | None = None
    """The checkpoint or run folder its weights were read from; None for a factory's own."""
    _seen: tuple[int, int] = field(default=(0, 0))

    @classmethod
    def from_checkpoint(
        cls, name: str, path: Path, factory: Factory | None = None, *, say: Callable[[str], None] = print
    ) -> "ModelSource":
        """The checkpoint in `path`, or the best (else newest) of a run folder; `factory` may build its network."""
        seen = _stamp(path)
        checkpoint = load_checkpoint(path)
        spec = present_spec(checkpoint.spec)
        policy = checkpoint.policy(spec, factory, say=lambda text: say(f"{name}: {text}"))
        return cls(name, spec, policy, checkpoint.version, path, seen)

    def changed(self) -> bool:
        """Whether the folder holds a different checkpoint than the one read last."""
        if self.path is None:
            return False
        try:
            return _stamp(self.path) != self._seen
        except (InputError, OSError):
            return False  # between the old one's removal and the new one's arrival

    def read_again(self) -> tuple[Mapping[str, Tensor], int]:
        """Weights and version of what the folder holds now; raises `InputError` if they do not fit the policy."""
        if self.path is None:
            raise InputError(f"model {self.name} comes from a factory and cannot be read again")
        self._seen = _stamp(self.path)
        checkpoint = load_checkpoint(self.path)
        if present_spec(checkpoint.spec) != self.spec:
            raise InputError(f"{self.path} now holds a checkpoint for another game or other settings")
        weights = checkpoint.weights_for(self.policy, self.spec, say=lambda text: None)
        mine = {key: tensor.shape for key, tensor in self.policy.state_dict().items()}
        if {key: tensor.shape for key, tensor in weights.items()} != mine:
            raise InputError(f"{self.path} now holds a network of another size; start a new server for it")
        return weights, checkpoint.version


def _stamp(path: Path) -> tuple[int, int]:
    """Changes whenever the checkpoint in `path` is replaced."""
    about = locate_checkpoint(path)
    status = (about / "policy.json").stat()
    return status.st_mtime_ns, status.st_ino
