"""Intransitivity: how much of who beats whom no list of ratings can express.

The log-odds of every pair that met, minus the advantage of the seat, are a flow on the graph of players. Its Hodge
decomposition has two parts: a gradient (differences of one potential, what ratings explain) and a cyclic part. Pairs
are weighted by how well their log-odds are known, so that the cyclic part to expect by chance is known.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from sparring.league.counts import PairCounts, merged
from sparring.league.ratings import ELO, Floats, Ratings, Z


@dataclass(frozen=True)
class Cycles:
    """The two parts of who beats whom."""

    gradient: float
    """Share of the flow's energy that ratings explain; 1 if nobody met."""
    cyclic: float
    """The rest."""
    by_chance: float
    """The mean cyclic share if there were no cycles."""
    p_value: float
    """How likely so large a cyclic part would be by chance."""
    worst: tuple[int, int, int] | None
    """The clearest cycle of three players, each of whom beats the next (95% certain); None if there is none."""


def payoffs(counts: PairCounts) -> Floats:
    """`float64[players, players]` points per match of the row's player against the column's; NaN if they never met."""
    n = len(counts.players)
    points, matches = np.zeros((n, n)), np.zeros((n, n))
    apart = counts.first != counts.second
    first, second = counts.first[apart], counts.second[apart]
    np.add.at(points, (first, second), (counts.wins + counts.draws / 2)[apart])
    np.add.at(points, (second, first), (counts.losses + counts.draws / 2)[apart])
    for one, other in ((first, second), (second, first)):
        np.add.at(matches, (one, other), counts.matches[apart])
    return np.asarray(np.divide(points, matches, out=np.full((n, n), np.nan), where=matches > 0), np.float64)


def cycles(counts: PairCounts, ratings: Ratings) -> Cycles:
    """The decomposition of the matches in `counts`, with the first seat's advantage from `ratings`."""
    flow, weight = _flow(merged(counts), ratings.advantage.value / ELO)
    one, other = np.nonzero(np.triu(weight))
    w, y = weight[one, other], flow[one, other]
    energy = float(w @ y**2)
    if energy == 0:
        return Cycles(1.0, 0.0, 0.0, 1.0, None)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    potential = np.linalg.lstsq(laplacian, (weight * flow).sum(axis=1), rcond=None)[0]
    circling = float(w @ (y - potential[one] + potential[other]) ** 2)
    freedom = len(y) - len(counts.players) + len(ratings.pools)
    return Cycles(
        gradient=1 - circling / energy,
        cyclic=circling / energy,
        by_chance=min(1.0, freedom / energy),
        p_value=float(chdtrc(freedom, circling)) if freedom else 1.0,
        worst=_worst(flow * np.sqrt(weight)),
    )


def _flow(pairs: PairCounts, advantage: float) -> tuple[Floats, Floats]:
    """`float64[n, n]` log-odds of row against column, and `float64[n, n]` the inverse of their variance.

    Half a match added to either side keeps the log-odds of clean sweeps finite.
    """
    n = len(pairs.players)
    flow, weight = np.zeros((n, n)), np.zeros((n, n))
    apart = pairs.first != pairs.second
    first, second, draws = pairs.first[apart], pairs.second[apart], pairs.draws[apart]
    won, lost = pairs.wins[apart] + draws / 2 + 0.5, pairs.losses[apart] + draws / 2 + 0.5
    known = won * lost / (won + lost)
    gap = np.log(won / lost) - advantage
    np.add.at(flow, (first, second), known * gap)
    np.add.at(flow, (second, first), -known * gap)
    for one, two in ((first, second), (second, first)):
        np.add.at(weight, (one, two), known)
    return np.divide(flow, weight, out=flow, where=weight > 0), weight


def _worst(clear: Floats) -> tuple[int, int, int] | None:
    """The cycle of three with the clearest weakest link, if that is certain; `clear` is in standard errors."""
    best, found = Z, None
    for first in range(len(clear)):
        steps = np.minimum(np.minimum(clear[first][:, None], clear), clear[:, first])
        second, third = np.unravel_index(int(steps.argmax()), steps.shape)
        if steps[second, third] > best:
            best, found = float(steps[second, third]), (first, int(second), int(third))
    return found
