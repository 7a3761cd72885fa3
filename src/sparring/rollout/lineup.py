"""Lineups: which player sits in which seat of which match.

A lineup maps serial numbers of matches to player numbers, so that opponents may differ by match and the
assignment depends only on the match's number and on what was known when that number was given out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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


class Meetings:
    """Player 0 against itself or another player, drawn at random in shares that may change over time.

    Who meets whom depends on the seed, the match's serial number, and the shares that held when that number was given
    out: later changes of the shares do not change earlier draws. Against another, player 0 takes turns in the seats.
    Opponents with a number above `last` are all played by player `last`.
    """

    def __init__(self, seats: int, *, seed: int, last: int) -> None:
        self._seats = seats
        self._last = last
        self._start = mix(np.array([seed % 2**64], np.uint64))
        self._tables: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
        """First serial, the opponents' numbers, and where each one's part of [0, 1) ends. The list is replaced, never
        changed: matches may begin in another thread meanwhile."""

    def change(self, shares: Mapping[int, float], *, at: int) -> None:
        """From match `at` on, player 0 meets each opponent in this share of its matches, and itself in the rest."""
        table = (at, np.array(list(shares), np.int64), np.cumsum(list(shares.values())))
        self._tables = [*(earlier for earlier in self._tables if earlier[0] < at), table]

    def forget(self, before: int) -> None:
        """Drops what is needed only for matches before number `before`."""
        ends = [at for at, _, _ in self._tables[1:]]
        self._tables = self._tables[sum(end <= before for end in ends) :]

    def opponents(self, serials: NDArray[np.int64]) -> NDArray[np.int64]:
        """`int64[n]` player 0's opponent in each match; 0 for itself."""
        tables = self._tables
        lot = (mix(self._start + serials.astype(np.uint64) * STEP) >> np.uint64(11)) / 2.0**53
        table_of = np.searchsorted([at for at, _, _ in tables], serials, side="right") - 1
        drawn = np.zeros(len(serials), np.int64)
        for number in np.unique(table_of):
            _, opponents, ends = tables[number]
            rows = np.flatnonzero(table_of == number)
            drawn[rows] = np.append(opponents, 0)[np.searchsorted(ends, lot[rows], side="right")]
        return drawn

    def snapshot(self) -> list[Any]:
        """The shares so far, JSON-ready."""
        return [[at, opponents.tolist(), ends.tolist()] for at, opponents, ends in self._tables]

    def restore(self, snapshot: Sequence[Any]) -> None:
        """Goes back to `snapshot`."""
        self._tables = [
            (int(at), np.array(opponents, np.int64), np.array(ends, np.float64)) for at, opponents, ends in snapshot
        ]

    def __call__(self, serials: NDArray[np.int64]) -> NDArray[np.int32]:
        """The lineup."""
        seated = taking_turns([0, 1], self._seats)(serials)
        return (seated * np.minimum(self.opponents(serials), self._last)[:, None]).astype(np.int32)
