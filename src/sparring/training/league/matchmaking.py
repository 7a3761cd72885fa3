"""Matchmaking: how often a learner meets each member of the pool, by its win rates against them.

self         the present weights
uniform      every member equally often
hard         (1 - p) ** power, for a win rate p: those that beat us (AlphaStar's prioritised fictitious self-play)
even         p (1 - p): those about as strong as we are
near         by the distance in Elo points that the win rate implies
newest       the newest snapshot of a main run
exploiters   as hard, among the snapshots of exploiters
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.training.league.settings import Draw, LeagueSettings

Floats = NDArray[np.float64]


@dataclass
class Member:
    """A policy in the pool, and how the learner does against it."""

    number: int
    """Its number in `Meetings`."""
    name: str
    """Of its folder in the pool, and in the metrics."""
    role: str
    points: float = 0.0
    """Won against it: 1 for a win, a half for a draw."""
    matches: float = 0.0
    """Played against it; both fade with time."""
    retired: bool = False
    """Out of the pool, but still in a match."""

    @property
    def win_rate(self) -> float:
        """The learner's, a half before anything is known."""
        return (self.points + 1) / (self.matches + 2)

    def note(self, points: float, matches: int, window: int) -> None:
        """Adds matches, scaling down so that no more than `window` count."""
        self.points, self.matches = self.points + points, self.matches + matches
        if self.matches > window:
            self.points, self.matches = self.points * window / self.matches, window


def counts(member: Member, settings: LeagueSettings) -> bool:
    """Whether a run of this role plays to beat `member`."""
    return not member.retired and (settings.role != "exploiter" or member.role == "main")


def shares(members: Sequence[Member], settings: LeagueSettings) -> dict[int, float]:
    """The share of the matches against each member, by number; the rest is against itself.

    A way of drawing that finds no member leaves its share to the others.
    """
    pool = [member for member in members if counts(member, settings)]
    found: list[tuple[float, Floats]] = []
    for draw, weight in settings.draws.items():
        weights = np.zeros(0) if draw == "self" else _weights(draw, pool, settings)
        if weight > 0 and (draw == "self" or weights.sum() > 0):
            found.append((weight, weights / weights.sum() if draw != "self" else np.zeros(len(pool))))
    if not found:
        return {}
    each: Floats = np.sum([weight * part for weight, part in found], axis=0) / sum(weight for weight, _ in found)
    return {member.number: float(share) for member, share in zip(pool, each, strict=True) if share > 0}


def _weights(draw: Draw, pool: Sequence[Member], settings: LeagueSettings) -> Floats:
    """`float64[m]` how likely each member is drawn, up to a factor."""
    rate = np.array([member.win_rate for member in pool])
    main = np.array([member.role == "main" for member in pool], np.bool_)
    if draw == "uniform":
        return np.ones(len(pool))
    if draw == "even":
        return np.asarray(rate * (1 - rate))
    if draw == "near":
        elo = 400 * np.log10(rate / (1 - rate))
        return np.asarray(np.exp(-((elo / settings.elo_width) ** 2) / 2))
    if draw == "newest":
        newest = np.zeros(len(pool))
        newest[np.flatnonzero(main)[-1:]] = 1
        return newest
    hard: Floats = (1 - rate) ** settings.power
    return hard if draw == "hard" else np.where(main, 0.0, hard)


def most_alike(members: Sequence[Member], policies: Mapping[int, Floats], *, keep: int) -> Member:
    """The member whose loss matters least to the pool; never the one of number `keep`.

    `policies` are the members' distributions `[rows, actions]` at the same positions. The distance of two members is
    the mean total variation between these plus the difference of the win rates against them; the member closest to its
    two nearest neighbours goes.
    """
    distance = np.array(
        [
            [
                0.5 * np.abs(policies[one.number] - policies[other.number]).sum(axis=1).mean()
                + abs(one.win_rate - other.win_rate)
                for other in members
            ]
            for one in members
        ]
    )
    crowding = np.sort(distance, axis=1)[:, 1:3].sum(axis=1)
    candidates = [at for at in np.argsort(crowding, kind="stable").tolist() if members[at].number != keep]
    return members[int(candidates[0])]
