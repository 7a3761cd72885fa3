"""The learner protocol: turns episodes into better weights, and knows nothing of arenas."""

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor, nn

from sparring.core import Episodes, RunError


class Learner(Protocol):
    """What the training loop needs of an algorithm."""

    @property
    def policy(self) -> nn.Module:
        """The policy being trained; its weights go to the inference engine after each update."""
        ...

    def update(self, episodes: Episodes, *, progress: float) -> dict[str, float]:
        """Learns from `episodes`; `progress` in [0, 1] drives schedules. Returns metrics by name."""
        ...

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All that `load` needs to continue exactly: tensors by name, and JSON-ready values."""
        ...

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        ...


class NotFinite(RunError):
    """A NaN or infinity in training: names the tensor and carries the batch that caused it."""

    def __init__(self, tensor: str, batch: dict[str, Tensor]) -> None:
        super().__init__(f"training stopped: {tensor} is not finite")
        self.tensor = tensor
        self.batch = batch
