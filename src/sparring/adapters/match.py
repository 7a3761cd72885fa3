"""One match of any game, driven seat by seat: the common base of the adapters.

An arena starts the next match by itself; other libraries want to say when. A `SingleMatch` holds an arena
of one match, keeps the rows that wait for an answer, and stops at each end until it is asked to go on.
"""

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    Array,
    Decisions,
    Game,
    GameSpec,
    IllegalAction,
    InputError,
    Results,
    RunError,
    illegal_action,
)

UNDRAWN = "environments draw nothing; `sparring play` shows a match"
"""What is said to who wants to see one."""


@dataclass(frozen=True)
class Ended:
    """How a match ended: reward since each seat's last row, and outcome, `float32[seats]` each."""

    reward: NDArray[np.float32]
    outcome: NDArray[np.float32]


class SingleMatch:
    """One match at a time. Every mistake of the caller is told before anything is played, so that play can go on."""

    def __init__(self, game: Game, settings: Any, *, seed: int) -> None:
        self.game = game
        self.spec: GameSpec = game.spec(settings)
        self._settings = settings
        self._seed = seed
        self._arena = self.game.arena(self._settings, matches=1, seed=seed)
        self._fresh = True
        self._rows: Decisions | None = None
        self._idle = "no match has begun"
        """Why there is nothing to answer; empty while a match is played."""
        self._closed = False

    def start(self, seed: int | None = None) -> None:
        """Begins a new match; a running one, or a new `seed`, takes a new arena."""
        self._check_open()
        if seed is not None or not self._fresh:
            self._seed = self._seed + 1 if seed is None else seed
            self._arena.close()
            self._arena = self.game.arena(self._settings, matches=1, seed=self._seed)
            self._rows = None
        self._fresh = False
        if self._rows is None:
            ended = self._advance()
            if ended is not None:
                raise RunError(f"{self.game.name}: a match ended before anyone could act")
        self._idle = ""

    @property
    def waiting(self) -> Decisions:
        """The rows of the match that wait for an answer; raises `InputError` if none is played."""
        self._check_open()
        if self._idle or self._rows is None:
            raise InputError(f"{self._idle}: call reset() before step()")
        return self._rows

    def action(self, row: int, action: Any, hint: str) -> int:
        """The number of the action that a caller gave for a waiting row: a whole number, perhaps numpy's.

        Raises `InputError` if it is none, and `IllegalAction`, with `hint`, if the rules forbid it.
        """
        waiting = self.waiting
        given = action.item() if isinstance(action, np.ndarray) and action.size == 1 else action
        try:
            number = index(given)
        except TypeError:
            most = self.spec.actions - 1
            raise InputError(f"action = {action!r}: allowed: a whole number, 0 to {most}") from None
        if not 0 <= number < self.spec.actions or not waiting.legal[row, number]:
            refused = illegal_action(f"seat {waiting.seat[row]}", number, waiting.legal[row])
            raise IllegalAction(f"{refused}; {hint}")
        return number

    def act(self, actions: NDArray[np.int32]) -> Ended | None:
        """Answers all waiting rows; returns how the match ended, or None with new rows in `waiting`."""
        self._arena.act(self.waiting, actions)
        self._idle = "the match broke off"
        ended = self._advance()
        self._idle = "" if ended is None else "the match has ended"
        return ended

    def close(self) -> None:
        """Frees the arena."""
        self._closed = True
        self._arena.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RunError("the environment is closed")

    def _advance(self) -> Ended | None:
        decisions, results = self._arena.wait()
        self._rows = _copy(decisions) if len(decisions) else None
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
