"""Checkpoints: weights as safetensors, everything else as JSON. No pickle, so loading one runs no code.

A third file holds their checksums; older checkpoints without it are read unchecked. Where the game numbers named
things, its vocabulary is part of the spec: weights made with another one are matched by name.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from sparring.core import GameSpec, InputError, instead, load_game, shipped_weights
from sparring.core.checkpoints import ABOUT, WEIGHTS, locate_checkpoint
from sparring.core.checksums import read_checked, with_checksums
from sparring.core.documented import documented
from sparring.core.files import write_folder
from sparring.core.networks import FACTORY, Factory, build_with
from sparring.core.versions import stored_spec
from sparring.policy.interface import Versatile
from sparring.policy.named import renumber_weights
from sparring.policy.network import build_network

FORMAT = 1


@documented
@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A saved policy: what it plays, how it is built, its weights and where they come from.

    Two are equal only if they are the same object; `digest` tells whether they have the same weights.
    """

    spec: GameSpec
    """The game it was trained for."""
    network: Mapping[str, Any]
    """The network's size options."""
    version: int
    """Updates that it was trained for."""
    weights: Mapping[str, Tensor]
    """By name."""
    about: Mapping[str, Any]
    """Free facts for people: decisions trained on, win rates."""

    def __repr__(self) -> str:
        numbers = sum(tensor.numel() for tensor in self.weights.values())
        network = f"network {dict(self.network)}, {numbers:,} numbers"
        return f"<Checkpoint of {self.spec.game} {dict(self.spec.settings)}: update {self.version}, {network}>"

    @property
    def digest(self) -> str:
        """SHA-256 of the weights, which tells apart two players of the same name."""
        return hashlib.sha256(tensor_bytes(self.weights)).hexdigest()

    def policy(
        self, spec: GameSpec, factory: Factory | None = None, *, say: Callable[[str], None] = print
    ) -> nn.Module:
        """A network with these weights that plays `spec`; raises `InputError` if it cannot.

        `factory` is needed if the user's own code built it: what a checkpoint names is never imported. `say` reports
        weights made with another vocabulary.
        """
        if not isinstance(spec, GameSpec):
            raise InputError(f"spec = {spec!r:.60}: allowed: a GameSpec, such as checkpoint.spec")
        if self.spec.game != spec.game:
            raise InputError(f"a checkpoint of {self.spec.game} cannot play {spec.game}")
        game = load_game(spec.game)
        own = self.network.get(FACTORY)
        if own is not None and factory is None:
            raise InputError(f"its network is built by {own}, code of your own: name it, as in {own}=FOLDER")
        policy: nn.Module = (
            build_network(self.network, game, spec)
            if factory is None
            else build_with(factory, spec, name="its factory")
        )
        several = isinstance(policy, Versatile) and self.spec.observation == spec.observation
        reason = None if several else game.fits(self.spec, spec)
        if reason is not None:
            raise InputError(reason)
        try:
            policy.load_state_dict(dict(self.weights_for(policy, spec, say=say)))
        except RuntimeError as error:
            problem = str(error).strip().splitlines()[-1].strip()  # below torch's heading
            raise InputError(f"weights do not fit their own network: {problem}") from error
        return policy

    def weights_for(self, policy: nn.Module, spec: GameSpec, *, say: Callable[[str], None]) -> Mapping[str, Tensor]:
        """These weights in the order of the vocabulary of `spec`, for `policy`."""
        was, now = self.spec.vocabulary, spec.vocabulary
        if was is None or now is None or was.names == now.names:
            return self.weights
        weights = renumber_weights(self.weights, policy, was, now)
        say(f"weights of another vocabulary ({was.difference(now)}); a new name starts as the mean of the others")
        return weights


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes `folder` in one step."""
    about = {
        "format": FORMAT,
        "spec": checkpoint.spec.to_json(),
        "network": dict(checkpoint.network),
        "version": checkpoint.version,
        "about": dict(checkpoint.about),
    }
    files = {WEIGHTS: tensor_bytes(checkpoint.weights), ABOUT: (json.dumps(about, indent=2) + "\n").encode()}
    write_folder(folder, with_checksums(files))


def load_checkpoint(path: str | Path) -> Checkpoint:
    """The checkpoint in folder `path`, the best (else newest) one of a run folder, or weights that are shipped by name.

    Raises `InputError` if there is none.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"a checkpoint is found by its folder or the name of shipped weights, not by {path!r}")
    shipped = shipped_weights()
    if not Path(path).exists() and str(path) not in shipped:
        raise InputError(f"{path}: no such folder, and no shipped weights{instead(str(path), shipped)}")
    folder = locate_checkpoint(Path(path) if Path(path).exists() else shipped[str(path)])
    files = read_checked(folder, [ABOUT, WEIGHTS])
    try:
        data = json.loads(files[ABOUT])
        if data.get("format") != FORMAT:
            raise InputError(f"{folder}: checkpoint format {data.get('format')}; this version reads {FORMAT}")
        checkpoint = Checkpoint(
            spec=_spec(data["spec"], folder),
            network=dict(data["network"]),
            version=int(data["version"]),
            weights=parse_tensors(files[WEIGHTS], where=f"{folder}: corrupt checkpoint ({WEIGHTS})"),
            about=dict(data["about"]),
        )
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{folder}: corrupt checkpoint ({ABOUT}: {error})") from error
    for name, tensor in checkpoint.weights.items():
        if tensor.isnan().any():
            raise InputError(f"{folder}: {name} in {WEIGHTS} holds NaN; take an earlier checkpoint")
    return checkpoint


def _spec(data: Any, folder: Path) -> GameSpec:
    try:
        return stored_spec(data)
    except InputError as error:
        raise InputError(f"{folder}: corrupt checkpoint ({ABOUT}: {error})") from error


def tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """`tensors` as safetensors."""
    return bytes(save_tensors({name: torch.as_tensor(t).detach().cpu().contiguous() for name, t in tensors.items()}))


def parse_tensors(content: bytes, *, where: str) -> dict[str, Tensor]:
    """The tensors of safetensors bytes; raises `InputError`, beginning with `where`, if they are damaged."""
    try:
        tensors: dict[str, Tensor] = load_tensors(content)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError) as error:
        raise InputError(f"{where}: {error}") from error
    return tensors
