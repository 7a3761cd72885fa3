"""Rating a policy against built-in players, at once or in a thread of its own while training goes on."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from torch import nn

from sparring.core import Adaptive, Game, GameSpec, Score, Solvable, Watchable, built_in
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.league import evaluate
from sparring.policy.checkpoint import Checkpoint
from sparring.training.config import EvaluationSettings

_POLICY = "main"


@dataclass(frozen=True)
class Rated:
    """A policy at rest and how it did."""

    checkpoint: Checkpoint
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class Rater:
    """Plays policies of one run against its built-in opponents, in arenas of their own."""

    game: Game
    settings: Any
    spec: GameSpec
    device: Device
    evaluation: EvaluationSettings
    matches: int
    """The most matches to play at the same time."""
    seed: int
    least: float
    """Actions less likely than this are left out."""

    def player(self, policy: nn.Module, *, matches: int, seed: int) -> NetworkPlayer:
        """`policy` as it is rated, with room for `matches` matches; the module belongs to the player from now on."""
        engine = InferenceEngine(self.spec, slots=matches * self.spec.seats, device=self.device, seed=seed)
        engine.add(_POLICY, policy)
        return NetworkPlayer(
            engine, _POLICY, temperature=self.evaluation.temperature, policy_threshold=self.least, keep_policy=True
        )

    def rate(
        self,
        policy: Callable[[], nn.Module],
        *,
        update: int,
        standing: Mapping[str, int] | None,
        pulse: Callable[[], None] = lambda: None,
    ) -> dict[str, Score]:
        """A score against each opponent; `policy` makes a copy to play with, `standing` is a curriculum's.

        What `pulse` raises, called every now and then, breaks off.
        """
        scores = {}
        for number, name in enumerate(self.evaluation.opponents):
            seed = self.seed + 1_000_003 * (number + 1) + update
            arena = self.game.arena(self.settings, matches=min(self.evaluation.matches, self.matches), seed=seed)
            try:
                if standing is not None and isinstance(arena, Adaptive):
                    arena.stand_at(standing)
                player = self.player(policy(), matches=arena.matches, seed=seed)
                opponent = built_in(self.game, self.spec, name, seed=seed)
                scores[name] = evaluate(player, opponent, arena, matches=self.evaluation.matches, pulse=pulse)
            finally:
                arena.close()
        return scores

    def show(
        self, policy: Callable[[], nn.Module], folder: Path, *, update: int, standing: Mapping[str, int] | None
    ) -> None:
        """Lets the game keep the best of some matches against the last of the opponents in `folder`."""
        if not isinstance(self.game, Watchable) or not self.evaluation.opponents:
            return
        rival, seed = self.evaluation.opponents[-1], self.seed + 11_000_003 * update
        arena = self.game.arena(self.settings, matches=1, seed=seed)
        try:
            if standing is not None and isinstance(arena, Adaptive):
                arena.stand_at(standing)
            players = self.player(policy(), matches=1, seed=seed), built_in(self.game, self.spec, rival, seed=seed)
            self.game.keep_matches(arena, players, folder, names=(self.game.name, rival), update=update)
        finally:
            arena.close()

    def solve(self, policy: Callable[[], nn.Module]) -> dict[str, float]:
        """Exact figures of a policy, where the game can be solved."""
        if not isinstance(self.game, Solvable):
            return {}
        seat = lambda matches: self.player(policy(), matches=matches, seed=0)  # noqa: E731
        return {"nash_conv": self.game.nash_conv(self.settings, seat)}


class Abandoned(Exception):
    """A rating was broken off because nobody waits for it any more."""


class Background:
    """One rating at a time in a thread of its own."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rate")
        self._coming: Future[Rated] | None = None
        self._closing = Event()

    def begin(self, rating: Callable[[], Rated]) -> None:
        """Starts `rating`, which calls `pulse` as it goes; the one before must have been taken."""
        if self._coming is not None:
            raise RuntimeError("a rating is still to be taken")
        self._coming = self._thread.submit(rating)

    def take(self, *, wait: bool) -> Rated | None:
        """The rating that was begun, if it is done or `wait` says to wait for it; None if there is none."""
        if self._coming is None or not (wait or self._coming.done()):
            return None
        rated, self._coming = self._coming.result(), None
        return rated

    def pulse(self) -> None:
        """Raises `Abandoned` once `close` was called."""
        if self._closing.is_set():
            raise Abandoned

    def close(self) -> None:
        """Breaks off what is under way and ends the thread."""
        self._closing.set()
        self._thread.shutdown(wait=True)
