"""Which algorithms there are, and what each asks of the training loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import nn

from sparring.core import ForwardModel, GameSpec, InputError, Player, load_game
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.learn.alphazero import AlphaZero, AlphaZeroSettings, GateSettings
from sparring.learn.learner import Learner
from sparring.learn.ppo import Ppo, PpoSettings
from sparring.search import Evaluator, SearchPlayer, Symmetric

LearnerSettings = PpoSettings | AlphaZeroSettings


@runtime_checkable
class Reporting(Protocol):
    """A player with figures of its own for the metrics."""

    def report(self) -> dict[str, float]:
        """Figures by name, since the player was made."""
        ...


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
    exact: bool = True
    """Whether the learner compares its own probabilities with those played, so that only torch may play them."""
    gate: GateSettings | None = None
    """The trial new weights must pass before they play; None: they play at once."""


def build_algorithm(
    settings: LearnerSettings, policy: nn.Module, *, spec: GameSpec, device: Device, seed: int
) -> Algorithm:
    """The algorithm that `settings` describes, training `policy` for `spec`."""
    if isinstance(settings, AlphaZeroSettings):
        return _alphazero(settings, policy, spec=spec, device=device, seed=seed)
    recurrent = bool(policy.initial_memory(1))  # type: ignore[operator]
    return Algorithm(
        learner=Ppo(policy, settings, device=device, seed=seed),
        player=NetworkPlayer,
        rows=settings.rows,
        segment=settings.segment if recurrent else 0,
        cut=settings.cut,
    )


def _alphazero(
    settings: AlphaZeroSettings, policy: nn.Module, *, spec: GameSpec, device: Device, seed: int
) -> Algorithm:
    model = forward_model(spec)
    if settings.symmetry and not isinstance(model, Symmetric):
        raise InputError(f"learner.symmetry = true: {spec.game} has no mirror images; only false is allowed")

    def player(engine: InferenceEngine, name: str) -> SearchPlayer:
        evaluator = Evaluator(
            model,
            lambda observation, legal: engine.evaluate(name, observation, legal),
            actions=spec.actions,
            cache=settings.cache,
            symmetry=settings.symmetry,
            version=lambda: engine.policies[name],
        )
        matches = engine.slots // spec.seats
        return SearchPlayer(evaluator, settings.search, play=settings.play, matches=matches, seed=seed)

    image = model.symmetry if isinstance(model, Symmetric) else None
    return Algorithm(
        learner=AlphaZero(policy, settings, device=device, seed=seed, image=image),
        player=player,
        rows=settings.rows,
        keep_policy=True,
        exact=False,
        gate=settings.gate if settings.gate.every else None,
    )


def forward_model(spec: GameSpec) -> ForwardModel:
    """The forward model of the game that `spec` describes; raises `InputError` if it has none."""
    model = load_game(spec.game).model(spec)
    if model is None:
        raise InputError(f"{spec.game} has no forward model, so nothing can be searched in it")
    return model
