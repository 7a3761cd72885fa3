"""The learner protocol: turns episodes into better weights, and knows nothing of arenas."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from sparring.core import Episodes, RunError
from sparring.learn.ties import Tie
from sparring.policy import Policy


class Learner(Protocol):
    """What the training loop needs of an algorithm."""

    @property
    def policy(self) -> Policy:
        """The policy being trained; its weights go to the inference engine after each update."""
        ...

    def update(self, episodes: Episodes, *, progress: float, ties: Sequence[Tie] = ()) -> dict[str, float]:
        """Learns from `episodes`, held to `ties`; `progress` in [0, 1] drives schedules. Returns metrics by name."""
        ...

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything that `load` needs to continue exactly: tensors by name, and JSON-ready values."""
        ...

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        ...


class NotFinite(RunError):
    """A NaN or infinity in training: names the tensor and carries the batch that caused it."""

    def __init__(self, tensor: str, batch: Mapping[str, Tensor]) -> None:
        super().__init__(f"training stopped: {tensor} is not finite")
        self.tensor = tensor
        self.batch = dict(batch)


def first_not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """The name of the first of `tensors` that holds a NaN or an infinity, or None."""
    return next((name for name, t in tensors.items() if t.is_floating_point() and not torch.isfinite(t).all()), None)


def mean_metrics(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of every metric over gradient steps, which all have the same metrics."""
    return {name: float(np.mean([step[name] for step in steps])) for name in steps[0]}


def explained_variance(error_variance: float, target_variance: float) -> float:
    """The share of the value targets' variance that the value function predicted: 1 is all, 0 or less is none."""
    return 1 - error_variance / target_variance if target_variance > 0 else 0.0
