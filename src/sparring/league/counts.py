"""Pair counts: a ledger's matches, counted by who met whom and how it ended."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.league.ledger import Identity, Tally

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PairCounts:
    """k rows, each a player in the first seat (or team) against one in the second, in one setup.

    Rows and players are sorted, so that results do not depend on the order of the matches.
    """

    players: tuple[Identity, ...]
    first: Ints
    """`int64[k]` numbers of players."""
    second: Ints
    """`int64[k]`"""
    wins: Ints
    """`int64[k]` of the first."""
    draws: Ints
    """`int64[k]`"""
    losses: Ints
    """`int64[k]`"""
    setup: Ints
    """`int64[k]` numbers of setups."""
    setups: tuple[tuple[str, str, str], ...]
    """Settings, team set and opening."""
    left_out: int = 0
    """Matches that are not between two players: mixed teams, or more than two."""

    @property
    def matches(self) -> Ints:
        """`int64[k]` in each row."""
        return self.wins + self.draws + self.losses


def pair_counts(tallies: Iterable[Tally]) -> PairCounts:
    """The matches between two players, alone or each a whole team of its own."""
    rows: dict[tuple[Identity, Identity, tuple[str, str, str]], list[int]] = {}
    left_out = 0
    sides_of: dict[tuple[int, int], tuple[int, int] | None] = {}
    for tally in tallies:
        key = (id(tally.players), id(tally.teams))  # all tallies of a lineup share these two tuples
        if key not in sides_of:
            sides_of[key] = _sides(tally.players, tally.teams)
        sides = sides_of[key]
        if sides is None:
            left_out += tally.matches
            continue
        mine, yours = tally.outcomes[sides[0]], tally.outcomes[sides[1]]
        pair = (tally.players[sides[0]], tally.players[sides[1]], (tally.settings, tally.team_set, tally.opening))
        rows.setdefault(pair, [0, 0, 0])[0 if mine > yours else 1 if mine == yours else 2] += tally.matches
    players = sorted({player for first, second, _ in rows for player in (first, second)})
    setups = sorted({setup for _, _, setup in rows})
    number = {player: at for at, player in enumerate(players)}
    place = {setup: at for at, setup in enumerate(setups)}
    table = np.array(
        sorted(
            (number[first], number[second], place[setup], *counts) for (first, second, setup), counts in rows.items()
        ),
        np.int64,
    ).reshape(-1, 6)
    return PairCounts(
        players=tuple(players),
        first=table[:, 0],
        second=table[:, 1],
        setup=table[:, 2],
        wins=table[:, 3],
        draws=table[:, 4],
        losses=table[:, 5],
        setups=tuple(setups),
        left_out=left_out,
    )


def merged(counts: PairCounts) -> PairCounts:
    """`counts` summed over setups: one row per pair of players in their seats."""
    key, row = np.unique(counts.first * len(counts.players) + counts.second, return_inverse=True)
    first, second = np.divmod(key, max(1, len(counts.players)))

    def total(values: Ints) -> Ints:
        summed = np.zeros(len(key), np.int64)
        np.add.at(summed, row, values)
        return summed

    return PairCounts(
        players=counts.players,
        first=first,
        second=second,
        wins=total(counts.wins),
        draws=total(counts.draws),
        losses=total(counts.losses),
        setup=np.zeros(len(key), np.int64),
        setups=(("", "", ""),),
        left_out=counts.left_out,
    )


def numbered(texts: Sequence[str]) -> tuple[Ints, list[str]]:
    """`int64[n]` the index of each text among the distinct ones, and those in order."""
    names = sorted(set(texts))
    at = {text: number for number, text in enumerate(names)}
    return np.array([at[text] for text in texts], np.int64), names


def _sides(players: Sequence[Identity], teams: Sequence[int]) -> tuple[int, int] | None:
    """A seat of each of the two sides, that of seat 0 first; None if this is not a match between two players."""
    found = {team: seat for seat, team in reversed(list(enumerate(teams)))}
    if len(found) != 2 or any(players[seat] != players[found[team]] for seat, team in enumerate(teams)):
        return None
    first, second = sorted(found.values())
    return first, second
