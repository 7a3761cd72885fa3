"""Which algorithms there are, and what each asks of the training loop."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from sparring.core import Player
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.learn.learner import Learner
from sparring.learn.ppo import Ppo, PpoSettings


@dataclass(frozen=True)
class Algorithm:
    """A learner, and how its episodes must be played."""

    learner: Learner
    player: Callable[[InferenceEngine, str], Player]
    """Seats the policy of an engine."""
    rows: int
    """Decisions an update."""
    segment: int = 0
    cut: int = 0
    keep_policy: bool = False


def build_algorithm(settings: PpoSettings, policy: nn.Module, *, device: Device, seed: int) -> Algorithm:
    """The algorithm that `settings` describes, training `policy`."""
    recurrent = bool(policy.initial_memory(1))  # type: ignore[operator]
    return Algorithm(
        learner=Ppo(policy, settings, device=device, seed=seed),
        player=NetworkPlayer,
        rows=settings.rows,
        segment=settings.segment if recurrent else 0,
        cut=settings.cut,
    )
