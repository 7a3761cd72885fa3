"""Batches that flow between an arena and its players: decisions out, answers back, results at the end.

All are rows (`core.rows`), one for each seat that must act, or for each match that ended. Nothing here is ever a
single position, and nothing loops over rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sparring.core.documented import documented
from sparring.core.rows import Array, Rows
from sparring.core.spec import GameSpec


@documented
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decisions(Rows):
    """k seats that must act now.

    The arrays are views into the arena's buffers, valid until the arena's next `wait`: copy rows to keep them.
    """

    match: NDArray[np.int32]
    """`int32[k]` the match each row belongs to, as the arena numbers those in play: 0 to matches - 1."""
    seat: NDArray[np.int32]
    """`int32[k]` the seat that must act."""
    observation: Mapping[str, Array]
    """Field name to `dtype[k, *shape]`, as the game's spec says; only what that seat may see."""
    legal: NDArray[np.bool_]
    """`bool[k, actions]`, at least one true in each row."""
    reward: NDArray[np.float32]
    """`float32[k]` what the seat gained since its last row; 0 where `first`."""
    first: NDArray[np.bool_]
    """`bool[k]` true on a seat's first row of a match: its memory is reset."""

    @classmethod
    def none(cls, spec: GameSpec) -> "Decisions":
        """No rows, of the right dtypes and shapes."""
        return cls(
            match=np.empty(0, np.int32),
            seat=np.empty(0, np.int32),
            observation={name: field.zeros(0) for name, field in spec.observation.items()},
            legal=np.empty((0, spec.actions), np.bool_),
            reward=np.empty(0, np.float32),
            first=np.empty(0, np.bool_),
        )

    def slots(self, spec: GameSpec) -> NDArray[np.intp]:
        """`intp[k]` the memory slot of each row: match * seats + seat."""
        return self.match.astype(np.intp) * spec.seats + self.seat


@documented
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Results(Rows):
    """n matches that ended since the last `wait`. The next match of the same number has already started."""

    match: NDArray[np.int32]
    """`int32[n]` as the arena numbers them, each at most once."""
    outcome: NDArray[np.float32]
    """`float32[n, seats]` how the match ended for each seat: 1 won, 0 drawn, -1 lost."""
    reward: NDArray[np.float32]
    """`float32[n, seats]` what each seat gained since its last row, the end included."""
    failed: NDArray[np.bool_]
    """`bool[n]` the match broke off (its engine died); it counts for nothing and trains nobody."""
    points: NDArray[np.float32] | None = None
    """`float32[n, seats]` what each seat's side scored (goals), in games that are played for points by the clock."""
    minutes: NDArray[np.float32] | None = None
    """`float32[n]` of game time that the match took, in the same games."""
    ending: NDArray[np.int8] | None = None
    """`int8[n]` why the match ended, from arenas that say so (`core.Explaining`); means nothing where it `failed`."""

    @classmethod
    @cache  # what most waits return; nothing can be written to no rows
    def none(cls, seats: int) -> "Results":
        """No match ended."""
        return cls(
            match=np.empty(0, np.int32),
            outcome=np.empty((0, seats), np.float32),
            reward=np.empty((0, seats), np.float32),
            failed=np.empty(0, np.bool_),
        )


@documented
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answers(Rows):
    """What a player says to k decisions. Only `action` is always there; learners use the rest."""

    action: NDArray[np.int32]
    """`int32[k]`, each legal in its row."""
    log_prob: NDArray[np.float32] | None = None
    """`float32[k]` log-probability with which the action was drawn."""
    value: NDArray[np.float32] | None = None
    """`float32[k]` what the player expects the seat to gain from here."""
    policy: NDArray[np.float32] | None = None
    """`float32[k, actions]` the whole distribution: a behaviour policy, or a search's improved one."""
