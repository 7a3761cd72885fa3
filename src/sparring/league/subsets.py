"""Ratings of subsets: how strong each player is in one seat, with one team set, against one kind of opponent.

A player's rating in a subset is the most likely one of the same model on its matches there, with everything else fixed
as fitted to all matches. Where it clearly differs from the player's rating, the one number hides something.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sparring.league.counts import PairCounts, numbered
from sparring.league.ratings import ELO, PRIOR, Estimate, Floats, Ratings, Z, chances

Axis = Literal["seat", "team_set", "opening", "opponent", "settings"]
AXES: tuple[Axis, ...] = get_args(Axis)

_CHANCE = 0.05
"""The probability of any false warning, at most."""
_FARTHEST = 20.0
"""How far a subset's rating may lie from the overall one, in log-odds: about 3,500 Elo points."""
_HALVINGS = 40


@dataclass(frozen=True)
class Subset:
    """A player's matches on one value of an axis."""

    player: int
    axis: Axis
    value: str
    rating: Estimate
    wins: int
    draws: int
    losses: int
    overall: float
    """The player's rating over all matches."""
    deviance: float
    """Twice the log-likelihood that the subset's own rating gains over `overall`."""

    @property
    def matches(self) -> int:
        """Matches in the subset."""
        return self.wins + self.draws + self.losses


def subsets(counts: PairCounts, ratings: Ratings, axis: Axis) -> list[Subset]:
    """Every player's rating on every value of `axis` it has matches on; empty if there is only one value."""
    apart = counts.first != counts.second
    first, second, setup = counts.first[apart], counts.second[apart], counts.setup[apart]
    wins, draws, losses = counts.wins[apart], counts.draws[apart], counts.losses[apart]
    value, names = _values(counts, axis, first, second, setup)
    if len(names) < 2:
        return []
    player = np.concatenate([first, second])
    opponent = np.concatenate([second, first])
    side = np.repeat([1.0, -1.0], len(first))
    key, group = np.unique(player * len(names) + value, return_inverse=True)
    cells = _Cells(
        group=group,
        offset=(side * ratings.advantage.value - ratings.rating[opponent]) / ELO,
        won=np.concatenate([wins, losses]),
        drawn=np.concatenate([draws, draws]),
        lost=np.concatenate([losses, wins]),
        draw=ratings.draw,
        centre=ratings.rating[key // len(names)] / ELO,
    )
    best = cells.root(cells.slope, cells.centre - _FARTHEST, cells.centre + _FARTHEST)
    floor = cells.cost(best)
    low = cells.root(lambda r: floor + Z**2 / 2 - cells.cost(r), best - 2 * _FARTHEST, best)
    high = cells.root(lambda r: cells.cost(r) - floor - Z**2 / 2, best, best + 2 * _FARTHEST)
    deviance = np.maximum(0.0, 2 * (cells.cost(cells.centre) - floor))
    counted = [cells.total(which).astype(int).tolist() for which in (cells.won, cells.drawn, cells.lost)]
    return [
        Subset(
            player=int(key[at]) // len(names),
            axis=axis,
            value=names[int(key[at]) % len(names)],
            rating=Estimate(*(float(ELO * ends[at]) for ends in (best, low, high))),
            wins=counted[0][at],
            draws=counted[1][at],
            losses=counted[2][at],
            overall=float(ELO * cells.centre[at]),
            deviance=float(deviance[at]),
        )
        for at in range(len(key))
    ]


def holes(found: list[Subset]) -> list[Subset]:
    """The subsets that clearly differ from their player's rating, the clearest first.

    The threshold is Bonferroni-corrected: without any hole, at least 95 of 100 reports are empty.
    """
    limit = float(ndtri(1 - _CHANCE / 2 / max(1, len(found)))) ** 2
    return sorted((one for one in found if one.deviance > limit), key=lambda one: -one.deviance)


def _values(
    counts: PairCounts, axis: Axis, first: NDArray[Any], second: NDArray[Any], setup: NDArray[Any]
) -> tuple[NDArray[np.int64], list[str]]:
    """`int64[2 * k]` the value of each row for its first and then for its second player, and the values' names."""
    if axis == "seat":
        return np.repeat([0, 1], len(first)), ["first", "second"]
    if axis == "opponent":
        kinds, names = numbered([player.kind for player in counts.players])
        return np.concatenate([kinds[second], kinds[first]]), names
    place = ("settings", "team_set", "opening").index(axis)
    values, names = numbered([setup[place] for setup in counts.setups])
    return np.concatenate([values[setup], values[setup]]), names


@dataclass(frozen=True)
class _Cells:
    """Rows of results, each in one cell: a player on a value. Each cell's rating is a one-dimensional problem."""

    group: NDArray[np.intp]
    """`intp[k]` the cell of each row."""
    offset: Floats
    """`float64[k]` added to the player's strength."""
    won: NDArray[np.int64]
    drawn: NDArray[np.int64]
    lost: NDArray[np.int64]
    draw: float
    centre: Floats
    """`float64[cells]` the overall ratings, about which the prior lies."""

    def total(self, values: NDArray[Any]) -> Floats:
        """`float64[cells]` sums of `values: [k]`."""
        return np.bincount(self.group, values, len(self.centre)).astype(np.float64)

    def cost(self, strength: Floats) -> Floats:
        """`float64[cells]` the negative log posterior."""
        seen = zip((self.won, self.drawn, self.lost), self._chances(strength), strict=True)
        fit = sum(self.total(count * np.log(np.maximum(chance, 1e-300))) for count, chance in seen)
        return np.asarray((strength - self.centre) ** 2 / 2 * (ELO / PRIOR) ** 2 - fit, np.float64)

    def slope(self, strength: Floats) -> Floats:
        """`float64[cells]` the derivative of `cost`."""
        win, _, loss = self._chances(strength)
        matches = self.won + self.drawn + self.lost
        fit = self.total((matches * (win - loss) - (self.won - self.lost)) / 2)
        return np.asarray(fit + (strength - self.centre) * (ELO / PRIOR) ** 2, np.float64)

    def root(self, rising: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
        """`float64[cells]` the zero of each cell's function, which rises from `low` to `high`."""
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = rising(middle) < 0
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2, np.float64)

    def _chances(self, strength: Floats) -> tuple[Floats, Floats, Floats]:
        return chances(strength[self.group] + self.offset, self.draw)
