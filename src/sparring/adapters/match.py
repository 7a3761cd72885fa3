"""One match of any game, driven seat by seat: the common base of the adapters.

An arena starts the next match by itself; other libraries want to say when. A `SingleMatch` holds an arena
of one match, keeps the rows that wait for an answer, and stops at each end until it is asked to go on.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Decisions, Game, GameSpec, Results, RunError


@dataclass(frozen=True)
class Ended:
    """How a match ended: reward since each seat's last row, and outcome, `float32[seats]` each."""

    reward: NDArray[np.float32]
    outcome: NDArray[np.float32]


class SingleMatch:
    """One match at a time, with the rows that wait in `waiting`."""

    def __init__(self, game: Game, settings: Any, *, seed: int) -> None:
        self.game = game
        self.spec: GameSpec = game.spec(settings)
        self._settings = settings
        self._seed = seed
        self._arena = self.game.arena(self._settings, matches=1, seed=seed)
        self._fresh = True
        self.waiting: Decisions | None = None

    def start(self, seed: int | None = None) -> None:
        """Begins a new match; a running one, or a new `seed`, takes a new arena."""
        if seed is not None or not self._fresh:
            self._seed = self._seed + 1 if seed is None else seed
            self._arena.close()
            self._arena = self.game.arena(self._settings, matches=1, seed=self._seed)
            self.waiting = None
        self._fresh = False
        if self.waiting is None:
            ended = self._advance()
            if ended is not None:
                raise RunError(f"{self.game.name}: a match ended before anyone could act")

    def act(self, actions: NDArray[np.int32]) -> Ended | None:
        """Answers all waiting rows; returns how the match ended, or None with new rows in `waiting`."""
        if self.waiting is None:
            raise RunError("no match is running: start one first")
        self._arena.act(self.waiting, actions)
        return self._advance()

    def close(self) -> None:
        """Frees the arena."""
        self._arena.close()

    def _advance(self) -> Ended | None:
        decisions, results = self._arena.wait()
        self.waiting = _copy(decisions) if len(decisions) else None
        if not len(results):
            return None
        if results.failed[0]:
            raise RunError(f"{self.game.name}: the match broke off")
        self._fresh = True
        return _ended(results)


def shown_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which a field is shown: bytes and booleans as float32, as other libraries take bytes for pixels."""
    return np.dtype(np.float32) if dtype in (np.uint8, np.bool_) else dtype


def observation_row(decisions: Decisions, row: int) -> dict[str, Array]:
    """The observation of one row, in the dtypes in which it is shown."""
    return {name: array[row].astype(shown_dtype(array.dtype)) for name, array in decisions.observation.items()}


def nothing_seen(spec: GameSpec) -> dict[str, Array]:
    """An observation of zeros."""
    return {name: np.zeros(field.shape, shown_dtype(np.dtype(field.dtype))) for name, field in spec.observation.items()}


def _copy(decisions: Decisions) -> Decisions:
    return decisions.take(np.arange(len(decisions)))


def _ended(results: Results) -> Ended:
    return Ended(reward=results.reward[0].copy(), outcome=results.outcome[0].copy())
