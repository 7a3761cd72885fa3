"""What the training loop drives: something that learns a bit more at every `advance`, and can be saved in between.

`SelfPlay` learns from what it plays, `Study` from episodes on disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from sparring.core import Array, GameSpec, Stages
from sparring.learn.sharding import gathered_weights
from sparring.policy.checkpoint import Checkpoint
from sparring.training.algorithms import Algorithm
from sparring.training.config import TrainConfig
from sparring.training.rating import Rater, Standing


@dataclass(frozen=True)
class Snapshot:
    """What a trainee is besides its learner, between two updates."""

    values: Mapping[str, Any]
    """JSON-ready."""
    tensors: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    """By group."""
    arrays: Mapping[str, Array] = field(default_factory=dict)


class Trainee(Protocol):
    """What the loop, the saver and ratings need."""

    update: int
    """How many updates there have been."""
    decisions: int
    """Trained on so far."""
    spec: GameSpec
    stages: Stages
    algorithm: Algorithm
    rater: Rater

    @property
    def standing(self) -> Standing:
        """Where a curriculum stands."""
        ...

    def start(self) -> None:
        """Gets ready; raises `InputError` if it cannot."""
        ...

    def advance(self) -> dict[str, float]:
        """One update. Returns its metrics."""
        ...

    def adapt(self, metrics: Mapping[str, float]) -> None:
        """Lets a curriculum see an update's metrics."""
        ...

    def checkpoint(self) -> Checkpoint:
        """A copy of the policy that is rated and saved."""
        ...

    def snapshot(self) -> Snapshot:
        """All that `restore` needs besides the learner's own state."""
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a `snapshot`; what else is in it is passed over."""
        ...

    def pause(self) -> None:
        """Waits until nothing goes on in the background."""
        ...

    def close(self) -> None:
        """Frees what it holds."""
        ...


def copy_policy(
    algorithm: Algorithm, spec: GameSpec, config: TrainConfig, *, update: int, decisions: int
) -> Checkpoint:
    """A checkpoint of the policy that `algorithm` deploys; if it is spread over processes, all must call this."""
    weights = gathered_weights(algorithm.deployed or algorithm.learner.policy)
    about = {"decisions": decisions, "win_rates": {}}
    return Checkpoint(spec, config.network, version=update, weights=weights, about=about)
