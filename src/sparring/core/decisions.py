"""Batches that flow between an arena and its players: decisions out, answers back, results at the end.

All are structs of arrays with one row per seat that must act (or per match that ended). Nothing here is
ever a single position, and nothing loops over rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core.spec import GameSpec

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Decisions:
    """k seats that must act now.

    The arrays are views into the arena's buffers, valid until the arena's next `wait`. Whoever keeps rows
    copies them.
    """

    match: NDArray[np.int32]
    """`int32[k]` the arena slot each row belongs to."""
    seat: NDArray[np.int32]
    """`int32[k]` the seat that must act."""
    observation: Mapping[str, Array]
    """Field name to `dtype[k, *shape]`, as the game's spec says; only what that seat may see."""
    legal: NDArray[np.bool_]
    """`bool[k, actions]`, at least one true in each row."""
    reward: NDArray[np.float32]
    """`float32[k]` what the seat gained since its last row; 0 where `first`."""
    first: NDArray[np.bool_]
    """`bool[k]` true on a seat's first row of a match: its memory starts anew."""

    def __len__(self) -> int:
        return len(self.match)

    def take(self, rows: NDArray[np.intp]) -> "Decisions":
        """A copy that holds only `rows: intp[j]`, in that order."""
        return Decisions(
            match=self.match[rows],
            seat=self.seat[rows],
            observation={name: array[rows] for name, array in self.observation.items()},
            legal=self.legal[rows],
            reward=self.reward[rows],
            first=self.first[rows],
        )

    def slots(self, spec: GameSpec) -> NDArray[np.intp]:
        """`intp[k]` the memory slot of each row: match * seats + seat."""
        return self.match.astype(np.intp) * spec.seats + self.seat


@dataclass(frozen=True, slots=True)
class Results:
    """n matches that ended since the last `wait`. Their slots have already started the next match."""

    match: NDArray[np.int32]
    """`int32[n]` the arena slot, each at most once."""
    outcome: NDArray[np.float32]
    """`float32[n, seats]` how the match ended for each seat: 1 won, 0 drawn, -1 lost."""
    reward: NDArray[np.float32]
    """`float32[n, seats]` what each seat gained since its last row, the end included."""
    failed: NDArray[np.bool_]
    """`bool[n]` the match broke off (its engine died); it counts for nothing and trains nobody."""

    def __len__(self) -> int:
        return len(self.match)

    @classmethod
    def none(cls, seats: int) -> "Results":
        """No match ended."""
        return cls(
            match=np.empty(0, np.int32),
            outcome=np.empty((0, seats), np.float32),
            reward=np.empty((0, seats), np.float32),
            failed=np.empty(0, np.bool_),
        )


@dataclass(frozen=True, slots=True)
class Answers:
    """What a player says to k decisions. Only `action` is always there; learners use the rest."""

    action: NDArray[np.int32]
    """`int32[k]`, each legal in its row."""
    log_prob: NDArray[np.float32] | None = None
    """`float32[k]` log-probability with which the action was drawn."""
    value: NDArray[np.float32] | None = None
    """`float32[k]` what the player expects the seat to gain from here."""
    policy: NDArray[np.float32] | None = None
    """`float32[k, actions]` the whole distribution: a behaviour policy, or a search's improved one."""
