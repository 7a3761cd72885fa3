"""Which algorithms there are, and what each asks of the training loop."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from sparring.core import GameSpec, Player
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.learn.alphazero import AlphaZero, AlphaZeroSettings, GateSettings
from sparring.learn.imitation import Imitation, ImitationSettings
from sparring.learn.learner import Learner
from sparring.learn.magnet import Magnet, MagnetSettings
from sparring.learn.offline import Offline, OfflineSettings
from sparring.learn.ppo import Ppo
from sparring.learn.rnad import Rnad, RnadSettings
from sparring.policy import Policy
from sparring.search import SearchPlayer, Symmetric
from sparring.search.seating import forward_model, search_player
from sparring.training.config import LearnerSettings


@runtime_checkable
class Reporting(Protocol):
    """A player or an arena with metrics of its own."""

    def report(self) -> dict[str, float]:
        """Metrics by name: a player's since it was made, an arena's since the last call."""
        ...


@dataclass(frozen=True)
class Algorithm:
    """A learner, and how its episodes must be played."""

    learner: Learner
    player: Callable[[InferenceEngine, str], Player]
    """Seats the policy of an engine."""
    batch_size: int
    """Decisions collected for each update."""
    temperature: float = 1.0
    """What the policy is played at."""
    settings_at: str = "learner"
    """The key of the configuration that holds `batch_size` and `minibatch_size`, for messages."""
    segment_length: int = 0
    """Decisions from one stored memory to the next; 0 for networks without memory."""
    truncate_after: int = 0
    """Decisions after which an unfinished episode is learned from; 0 waits for the end."""
    keep_policy: bool = False
    """Whether the learner needs the whole distribution that each action was drawn from."""
    exact: bool = True
    """Whether the learner compares its own probabilities with those played, so that only torch may compute them."""
    gate: GateSettings | None = None
    """The trial new weights must pass before they play; None: they play at once."""
    deployed: Policy | None = None
    """The policy that is rated and saved, if it is not the one that plays."""
    policy_threshold: float = 0.0
    """Actions less likely than this are left out where the policy is rated."""


def build_algorithm(
    settings: LearnerSettings, policy: Policy, *, spec: GameSpec, device: Device, seed: int, sharded: bool = False
) -> Algorithm:
    """The algorithm that `settings` describes, training `policy` for `spec`.

    PPO and those that learn from data can have their policy `sharded` over processes.
    """
    if isinstance(settings, AlphaZeroSettings):
        return _alphazero(settings, policy, spec=spec, device=device, seed=seed)
    if isinstance(settings, ImitationSettings):
        learner = Imitation(policy, settings, device=device, seed=seed, sharded=sharded)
        return Algorithm(learner=learner, player=NetworkPlayer, batch_size=settings.batch_size)
    if isinstance(settings, OfflineSettings):
        offline = Offline(policy, settings, device=device, seed=seed, sharded=sharded)
        return Algorithm(learner=offline, player=NetworkPlayer, batch_size=settings.batch_size)
    recurrent = bool(policy.initial_memory(1))
    if isinstance(settings, RnadSettings):
        rnad = Rnad(policy, settings, device=device)
        return Algorithm(
            learner=rnad,
            player=partial(NetworkPlayer, temperature=settings.temperature, keep_policy=True),
            batch_size=settings.batch_size,
            temperature=settings.temperature,
            segment_length=settings.segment_length if recurrent else 0,
            keep_policy=True,
            deployed=rnad.target,
            policy_threshold=settings.policy_threshold,
        )
    if isinstance(settings, MagnetSettings):
        return Algorithm(
            learner=Magnet(policy, settings, device=device, seed=seed),
            player=NetworkPlayer,
            batch_size=settings.ppo.batch_size,
            settings_at="learner.ppo",
            segment_length=settings.ppo.segment_length if recurrent else 0,
        )
    return Algorithm(
        learner=Ppo(policy, settings, device=device, seed=seed, sharded=sharded),
        player=NetworkPlayer,
        batch_size=settings.batch_size,
        segment_length=settings.segment_length if recurrent else 0,
        truncate_after=settings.truncate_after,
    )


def _alphazero(settings: AlphaZeroSettings, policy: Policy, *, spec: GameSpec, device: Device, seed: int) -> Algorithm:
    model = forward_model(spec)

    def player(engine: InferenceEngine, name: str) -> SearchPlayer:
        return search_player(
            engine,
            name,
            settings.search,
            play=settings.play,
            seed=seed,
            symmetry=settings.symmetry,
            cache=settings.cache,
        )

    symmetry = model.symmetry if isinstance(model, Symmetric) else None
    return Algorithm(
        learner=AlphaZero(policy, settings, device=device, seed=seed, symmetry=symmetry),
        player=player,
        batch_size=settings.batch_size,
        keep_policy=True,
        exact=False,
        gate=settings.gate if settings.gate.every else None,
    )
