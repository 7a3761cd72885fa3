"""Lineups: which player sits in which seat of which match.

A lineup maps serial numbers of matches to player numbers, so that opponents may differ by match and the
assignment depends on nothing but the match's number.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Lineup = Callable[[NDArray[np.int64]], NDArray[np.int32]]
"""`int64[n]` serial numbers of matches to `int32[n, seats]` player numbers."""


def everyone(player: int, seats: int) -> Lineup:
    """Self-play: one player in every seat."""
    return lambda serials: np.full((len(serials), seats), player, np.int32)


def taking_turns(players: Sequence[int], seats: int) -> Lineup:
    """Each player in an equal block of seats (a team, where there are more seats than players).

    Blocks move on by one each match, so that everyone plays every side equally often.
    """
    block = seats // len(players)
    order = np.repeat(np.asarray(players, np.int32), block)

    def lineup(serials: NDArray[np.int64]) -> NDArray[np.int32]:
        shift = serials[:, None] * block + np.arange(seats)
        seated: NDArray[np.int32] = order[shift % seats]
        return seated

    return lineup
