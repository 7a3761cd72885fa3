"""Lineups: which player sits in which seat of which match.

A lineup maps serial numbers of matches to player numbers, so that opponents may differ by match and the
assignment depends on nothing but the match's number.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sparring.core.splitmix import STEP, mix

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


def meeting(shares: Sequence[float], seats: int, *, seed: int) -> Lineup:
    """Player 0 against player 1, 2, ... in these shares of the matches, drawn by lot, and against itself in the rest.

    Against another it takes turns in the seats, as in `taking_turns`.
    """
    start = mix(np.array([seed % 2**64], np.uint64))
    ends = np.cumsum(shares)
    turns = [taking_turns([0, opponent], seats) for opponent in range(1, len(shares) + 1)]

    def lineup(serials: NDArray[np.int64]) -> NDArray[np.int32]:
        lot = (mix(start + serials.astype(np.uint64) * STEP) >> np.uint64(11)) / 2.0**53
        drawn = np.searchsorted(ends, lot, side="right")
        seated = np.zeros((len(serials), seats), np.int32)
        for opponent, turn in enumerate(turns):
            rows = drawn == opponent
            seated[rows] = turn(serials[rows])
        return seated

    return lineup
