"""Ratings: how strong each player is, by one model fitted to all matches at once.

The model is Bradley-Terry with Davidson's draws and an advantage of the first seat. With strengths r, the first of two
players wins, draws and loses in the proportions

    exp(d / 2) : exp(t) : exp(-d / 2),    d = r_first - r_second + advantage

The fit is maximum a posteriori under a weak prior: strengths lie about their mean with a standard deviation of 1,000
Elo points, the advantage and t about 0. It keeps a player who won every match finite, and hardly moves others.
Intervals are of the difference to the anchor, a player whose rating is 0 by definition.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from sparring.core import InputError, RunError
from sparring.league.counts import PairCounts, merged
from sparring.league.ledger import Identity

Floats = NDArray[np.float64]

ELO = 400 / np.log(10)
"""Elo points of one unit of log-odds."""
PRIOR = 1000.0
"""Standard deviation of the prior, in Elo points."""
_CLOSE = 1e-6
"""In units of log-likelihood; a 95% interval ends where it has fallen by 1.92."""
Z = 1.959963984540054
"""Standard deviations of a 95% interval to either side."""


@dataclass(frozen=True)
class Estimate:
    """A number in Elo points with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Ratings:
    """The fitted model, in Elo points."""

    players: tuple[Identity, ...]
    anchor: int
    """The number of the player whose rating is 0."""
    rating: Floats
    """`float64[players]`"""
    covariance: Floats
    """`float64[players, players]` of strengths; only the covariance of differences means anything."""
    advantage: Estimate
    """Of the first seat."""
    draw: float
    """exp(t): 0 if no match was drawn."""
    pools: tuple[tuple[int, ...], ...]
    """Players connected by matches, each pool sorted, the anchor's first."""

    def __len__(self) -> int:
        return len(self.players)

    def estimate(self, player: int) -> Estimate:
        """The rating of `player`."""
        spread = Z * self.error(player, self.anchor)
        rating = float(self.rating[player])
        return Estimate(rating, rating - spread, rating + spread)

    def error(self, one: int, other: int) -> float:
        """The standard error of the difference between two ratings."""
        c = self.covariance
        return float(np.sqrt(max(0.0, c[one, one] + c[other, other] - 2 * c[one, other])))

    def superiority(self) -> Floats:
        """`float64[players, players]` the probability that the row's player is stronger than the column's."""
        c = self.covariance
        variance = np.diag(c)[:, None] + np.diag(c) - 2 * c
        gap = self.rating[:, None] - self.rating
        return np.asarray(ndtr(gap / np.sqrt(np.maximum(variance, 1e-300))), np.float64)

    def expected(self) -> Floats:
        """`float64[players, players]` expected points per match of row against column, seats shared evenly."""
        gap = (self.rating[:, None] - self.rating) / ELO
        there, here = (chances(gap + side * self.advantage.value / ELO, self.draw) for side in (1, -1))
        return np.asarray((there[0] + there[1] / 2 + here[0] + here[1] / 2) / 2, np.float64)

    def gxe(self) -> Floats:
        """`float64[players]` expected points per match of each against all others, each met equally often."""
        expected = self.expected()
        np.fill_diagonal(expected, 0.0)
        return np.asarray(expected.sum(axis=1) / max(1, len(self) - 1), np.float64)


def rate(counts: PairCounts, *, anchor: int | None = None) -> Ratings:
    """Fits the model; the anchor is by default the built-in player with most matches, or else the first player."""
    if not counts.players:
        raise InputError("no matches between two players to rate")
    pairs = merged(counts)
    likelihood = _Likelihood(pairs)
    found = minimize(
        likelihood.value,
        likelihood.start(),
        jac=likelihood.gradient,
        hess=likelihood.hessian,
        method="trust-exact",
        options={"gtol": 1e-7, "maxiter": 1000},
    )
    n = len(pairs.players)
    inverse = cho_solve(cho_factor(likelihood.hessian(found.x)), np.eye(len(found.x)))
    slope = likelihood.gradient(found.x)
    if slope @ inverse @ slope > _CLOSE:  # what one more Newton step would gain
        raise RunError(f"no most likely ratings were found ({found.message}); please report these matches")
    theta = found.x - inverse @ slope
    anchor = default_anchor(pairs) if anchor is None else anchor
    spread = Z * ELO * float(np.sqrt(inverse[n, n]))
    advantage = ELO * float(theta[n])
    return Ratings(
        players=pairs.players,
        anchor=anchor,
        rating=ELO * (theta[:n] - theta[anchor]),
        covariance=ELO**2 * inverse[:n, :n],
        advantage=Estimate(advantage, advantage - spread, advantage + spread),
        draw=float(np.exp(theta[n + 1])) if likelihood.drawn else 0.0,
        pools=_pools(pairs, anchor),
    )


def find_player(players: Sequence[Identity], text: str) -> int:
    """The number of the player that `text` names, by its label in tables or by a name that only one has."""
    called = labels(players)
    found = [at for at, label in enumerate(called) if label == text]
    found = found or [at for at, player in enumerate(players) if player.name == text]
    if len(found) != 1:
        kind = "several players" if found else "no player"
        raise InputError(f"{text!r} is {kind} of the ledger; it has: {', '.join(called)}")
    return found[0]


def labels(players: Sequence[Identity]) -> list[str]:
    """The label of each player in tables: its name, and what tells it from others of that name."""
    by_name: dict[str, list[Identity]] = {}
    for player in players:
        by_name.setdefault(player.name, []).append(player)

    def label(player: Identity) -> str:
        same = by_name[player.name]
        text = player.name
        if len({other.checkpoint for other in same}) > 1:
            text += f"@{player.checkpoint[:8]}"
        if player.style:
            text += f" ({player.style})"
        return text if len({other.kind for other in same}) == 1 else f"{text} ({player.kind})"

    return [label(player) for player in players]


def default_anchor(pairs: PairCounts) -> int:
    """The built-in player with most matches, the first of equals; without one, the first player."""
    played = matches_of(pairs)
    built_in = [at for at, player in enumerate(pairs.players) if player.kind == "built-in"]
    return max(built_in, key=lambda at: (played[at], -at), default=0)


def matches_of(pairs: PairCounts) -> NDArray[np.int64]:
    """`int64[players]` matches of each against others."""
    apart = pairs.first != pairs.second
    played = np.zeros(len(pairs.players), np.int64)
    for side in (pairs.first, pairs.second):
        np.add.at(played, side[apart], pairs.matches[apart])
    return played


def chances(d: Floats, draw: float) -> tuple[Floats, Floats, Floats]:
    """The probabilities of a win, a draw and a loss at log-odds `d: float64[...]` of a win against a loss."""
    top = np.maximum(np.abs(d) / 2, np.log(draw) if draw > 0 else 0.0)
    win, even, loss = np.exp(d / 2 - top), draw * np.exp(-top), np.exp(-d / 2 - top)
    total = win + even + loss
    return win / total, even / total, loss / total


class _Likelihood:
    """The negative log posterior of theta: strengths, advantage and t, in log-odds.

    It is convex. The mean strength, about which no match says anything, is held at 0 by a penalty of its own.
    """

    def __init__(self, pairs: PairCounts) -> None:
        k, self._n = len(pairs.first), len(pairs.players)
        self.drawn = bool(pairs.draws.any())
        row = np.arange(k)
        places = (np.concatenate([row, row, row]), np.concatenate([pairs.first, pairs.second, np.full(k, self._n)]))
        signs = np.concatenate([np.ones(k), -np.ones(k), np.ones(k)])
        self._design = csr_array(coo_array((signs, places), shape=(k, self._n + 1)))
        self._matches = pairs.matches.astype(np.float64)
        self._balance = (pairs.wins - pairs.losses).astype(np.float64)
        self._draws = pairs.draws.astype(np.float64)
        size = self._n + 1 + self.drawn
        prior = np.eye(size)
        prior[: self._n, : self._n] -= 1 / self._n - 1 / self._n**2
        self._prior = prior * (ELO / PRIOR) ** 2

    def start(self) -> Floats:
        """All players equal, with the observed share of draws."""
        theta = np.zeros(len(self._prior))
        if self.drawn:
            share = self._draws.sum() / self._matches.sum()
            theta[-1] = np.log(2 * share / max(1 - share, 1e-3))
        return theta

    def value(self, theta: Floats) -> float:
        """The function itself."""
        d, draw = self._parts(theta)
        top = np.maximum(np.abs(d) / 2, np.log(draw) if draw > 0 else 0.0)
        total = top + np.log(np.exp(d / 2 - top) + np.exp(-d / 2 - top) + draw * np.exp(-top))
        drawn = self._draws.sum() * theta[-1] if self.drawn else 0.0
        return float(self._matches @ total - self._balance @ d / 2 - drawn + theta @ self._prior @ theta / 2)

    def gradient(self, theta: Floats) -> Floats:
        """`float64[theta]` first derivatives."""
        win, even, loss = chances(*self._parts(theta))
        slope = self._design.T @ ((self._matches * (win - loss) - self._balance) / 2)
        if self.drawn:
            slope = np.append(slope, self._matches @ even - self._draws.sum())
        return np.asarray(slope + self._prior @ theta, np.float64)

    def hessian(self, theta: Floats) -> Floats:
        """`float64[theta, theta]` second derivatives."""
        win, even, loss = chances(*self._parts(theta))
        weight = self._matches * (win + loss - (win - loss) ** 2) / 4
        curve = self._prior.copy()
        m = self._n + 1
        curve[:m, :m] += (self._design.T @ (self._design * weight[:, None])).toarray()
        if self.drawn:
            cross = self._design.T @ (-self._matches * even * (win - loss) / 2)
            curve[:m, m] += cross
            curve[m, :m] += cross
            curve[m, m] += self._matches @ (even * (1 - even))
        return np.asarray(curve, np.float64)

    def _parts(self, theta: Floats) -> tuple[Floats, float]:
        return self._design @ theta[: self._n + 1], float(np.exp(theta[-1])) if self.drawn else 0.0


def _pools(pairs: PairCounts, anchor: int) -> tuple[tuple[int, ...], ...]:
    n = len(pairs.players)
    met = coo_array((np.ones(len(pairs.first)), (pairs.first, pairs.second)), shape=(n, n))
    count, pool = connected_components(met, directed=False)
    pools = [tuple(np.flatnonzero(pool == number).tolist()) for number in range(count)]
    return tuple(sorted(pools, key=lambda members: (anchor not in members, members)))
