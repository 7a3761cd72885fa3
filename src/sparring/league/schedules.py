"""Schedules: how many starts each pair of entrants should have begun by now, given the results so far.

A schedule is asked again whenever a bout has ended. It has no memory: all it knows is the score sheet, which a
tournament that was killed reads from the ledger again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.optimize import nnls

from sparring.league.bouts import Ended
from sparring.league.counts import Ints, PairCounts
from sparring.league.ledger import Identity
from sparring.league.ratings import ELO, Floats, Ratings, Z, chances, rate

Pair = tuple[int, int]

STEP = 4
"""Starts that an active schedule chooses at a time."""


@dataclass
class ScoreSheet:
    """The results of a tournament of `players`, to whose numbers `Pair`s refer."""

    players: tuple[Identity, ...]
    anchor: int
    results: Ints
    """`int64[n, n, 3]` wins, draws and losses of the row's player in the first seat against the column's."""
    ended: dict[Pair, dict[tuple[int, int], Ended]] = field(default_factory=dict)
    """By pair and (start, order): the matches of the tournament itself."""
    broken: dict[Pair, set[tuple[int, int]]] = field(default_factory=dict)
    """Matches that failed, and are not tried again in this run."""
    flying: dict[Pair, set[tuple[int, int]]] = field(default_factory=dict)
    """Matches that are being played."""
    seconds: dict[Pair, float] = field(default_factory=dict)
    """Seconds per match in the fastest bout: the first ones also load and compile."""

    @classmethod
    def empty(cls, players: tuple[Identity, ...], anchor: int) -> "ScoreSheet":
        """Before the first match."""
        return cls(players, anchor, np.zeros((len(players), len(players), 3), np.int64))

    @property
    def pairs(self) -> list[Pair]:
        """Every pair of players."""
        return list(combinations(range(len(self.players)), 2))

    def add(self, pair: Pair, ended: Ended) -> None:
        """Enters a match of the tournament."""
        self.ended.setdefault(pair, {})[ended.start, ended.order] = ended
        first, second = pair if ended.order == 0 else pair[::-1]
        points = ended.points if ended.order == 0 else 1 - ended.points
        self.results[first, second, 0 if points == 1 else 1 if points == 0.5 else 2] += 1

    def begun(self, pair: Pair) -> int:
        """Starts whose two matches have both ended, failed, or are being played."""
        known = {**dict.fromkeys(self.broken.get(pair, ())), **dict.fromkeys(self.flying.get(pair, ()))}
        known |= dict.fromkeys(self.ended.get(pair, ()))
        starts = {start for start, _ in known}
        return sum((start, 0) in known and (start, 1) in known for start in starts)

    def matches(self) -> int:
        """Matches of the tournament that have ended."""
        return sum(len(found) for found in self.ended.values())

    def points(self, pair: Pair) -> tuple[float, int]:
        """Points of the pair's first player in the tournament's matches, and their number."""
        found = self.ended.get(pair, {}).values()
        return sum(one.points for one in found), len(found)

    def pair_points(self, pair: Pair) -> list[float]:
        """Points of the first player in each pair of matches from one start."""
        found = self.ended.get(pair, {})
        return [
            one.points + found[start, 1].points
            for (start, order), one in found.items()
            if order == 0 and (start, 1) in found
        ]

    def counts(self) -> PairCounts:
        """All matches, as ratings take them."""
        first, second = np.nonzero(self.results.sum(axis=2))
        wins, draws, losses = self.results[first, second].T
        return PairCounts(
            self.players, first, second, wins, draws, losses, np.zeros(len(first), np.int64), (("", "", ""),)
        )

    def ratings(self) -> Ratings:
        """The ratings so far."""
        return rate(self.counts(), anchor=self.anchor)

    def cost(self) -> Floats:
        """`float64[n, n]` seconds per match of each pair, estimated as the sum of what both players take."""
        n = len(self.players)
        known = list(self.seconds.items())
        if not known:
            return np.ones((n, n))
        design = np.zeros((len(known) + n, n))
        usual = float(np.mean([seconds for _, seconds in known])) / 2
        target = np.full(len(design), 0.01 * usual)
        for row, ((one, other), seconds) in enumerate(known):
            design[row, [one, other]] = 1.0
            target[row] = seconds
        design[len(known) :] = 0.01 * np.eye(n)
        each = nnls(design, target)[0]
        return np.asarray(np.maximum(each[:, None] + each, 1e-3 * usual), np.float64)


Schedule = Callable[[ScoreSheet], dict[Pair, int]]
"""Starts that each pair should have begun by now; if all have, the tournament is over."""


def round_robin(starts: int) -> Schedule:
    """Everyone meets everyone in `starts`."""
    return lambda sheet: dict.fromkeys(sheet.pairs, starts)


def gauntlet(starts: int) -> Schedule:
    """The first player meets all others."""
    return lambda sheet: {pair: starts for pair in sheet.pairs if 0 in pair}


def swiss(starts: int, rounds: int) -> Schedule:
    """In each round players with the most similar points who have not met are paired; of an odd number one rests."""

    def wanted(sheet: ScoreSheet) -> dict[Pair, int]:
        met: dict[Pair, int] = {}
        points = np.zeros(len(sheet.players))
        rested: list[int] = []
        for _ in range(rounds):
            drawn, resting = _swiss_round(points, met, rested)
            for pair in drawn:
                met[pair] = met.get(pair, 0) + starts
            if any(sheet.begun(pair) < met[pair] or sheet.flying.get(pair) for pair in drawn):
                return met
            if resting is not None:
                rested.append(resting)
                points[resting] += 0.5
            for pair in drawn:
                won, played = sheet.points(pair)
                share = won / played if played else 0.5
                points[pair[0]] += share
                points[pair[1]] += 1 - share
        return met

    return wanted


def _swiss_round(points: Floats, met: dict[Pair, int], rested: list[int]) -> tuple[list[Pair], int | None]:
    """The pairs, from the top: each with the nearest player below it has not met, if possible; and who rests."""
    left = sorted(range(len(points)), key=lambda player: (-points[player], player))
    resting = None
    if len(left) % 2:
        resting = min(reversed(left), key=rested.count)
        left.remove(resting)
    return _drawn(left, met, 0) or _drawn(left, met, max(met.values(), default=0)) or [], resting


def _drawn(left: list[int], met: dict[Pair, int], most: int) -> list[Pair] | None:
    """All of `left` in pairs, from the top, that have met in at most `most` starts; None if impossible."""
    if not left:
        return []
    one = left[0]
    for other in sorted(left[1:], key=lambda player: met.get((min(one, player), max(one, player)), 0)):
        pair = (min(one, other), max(one, other))
        if met.get(pair, 0) <= most:
            rest = _drawn([player for player in left[1:] if player != other], met, most)
            if rest is not None:
                return [pair, *rest]
    return None


def active(*, width: float | None, confidence: float | None, matches: int) -> Schedule:
    """The pair whose bout narrows the intervals that are still too wide the most.

    Everyone plays before anyone plays much. Then it counts half per second, half per match: time is short, and so is
    the number of matches. Ratings that these cannot make certain enough, such as that of a player who always loses,
    have to wait for the others.

    Args:
        width: the widest 95% interval of a rating to accept, in Elo points.
        confidence: if no `width` is given, how certain the order of every pair must be.
        matches: the most to play.
    """

    def wanted(sheet: ScoreSheet) -> dict[Pair, int]:
        begun = {pair: sheet.begun(pair) for pair in sheet.pairs}
        room = min(STEP, matches // 2 - sum(begun.values()))
        if room <= 0:
            return begun
        unmet = [pair for pair in sheet.pairs if not _have_met(sheet, pair[0]) or not _have_met(sheet, pair[1])]
        if unmet:
            first = min(unmet, key=lambda pair: sheet.anchor not in pair)
            return {**begun, first: begun[first] + room}
        targets = open_questions(sheet, width, confidence)
        if not len(targets):
            return begun
        known = knowledge(sheet)
        if width is not None:
            left = matches - 2 * sum(begun.values())
            targets = known.within_reach(targets, error=width / (2 * Z * ELO), matches=left)
        best = known.most_telling(targets, np.sqrt(sheet.cost()))
        return {**begun, best: begun[best] + room}

    return wanted


def _have_met(sheet: ScoreSheet, player: int) -> bool:
    """Whether `player` has a result against anybody, or is playing for one."""
    return bool(sheet.results[player].any() or sheet.results[:, player].any()) or any(
        player in pair for pair in sheet.flying
    )


def open_questions(sheet: ScoreSheet, width: float | None, confidence: float | None) -> Floats:
    """`float64[m, n]` the differences of strengths that must be known better."""
    n = len(sheet.players)
    if not sheet.results.any():
        return np.eye(n)
    ratings, unit = sheet.ratings(), np.eye(n)
    if width is not None:
        wide = [at for at in range(n) if 2 * Z * ratings.error(at, ratings.anchor) > width]
        return np.asarray(unit[wide] - unit[ratings.anchor], np.float64)
    sure = ratings.superiority()
    rows = [
        (unit[one] - unit[other]) / ratings.error(one, other)
        for one, other in sheet.pairs
        if max(sure[one, other], sure[other, one]) < (confidence or 0.95)
    ]
    return np.array(rows).reshape(-1, n)


def _left_open(results: Ints) -> Floats:
    """`float64[n, n]` how much a match of each pair can still tell by the pair's own record, from 0 to 1/4.

    The variance of a result, if it is as likely as in the record with half a win added to either side. Without this,
    a pair in which one side always wins looks promising for ever: its difference is the least certain of all.
    """
    both = results + results[:, :, ::-1].swapaxes(0, 1)
    won, lost = (both[:, :, side] + both[:, :, 1] / 2 + 0.5 for side in (0, 2))
    return np.asarray(won * lost / (won + lost) ** 2, np.float64)


@dataclass(frozen=True)
class Knowledge:
    """What is known of the players' strengths, and what matches can tell."""

    spread: Floats
    """`float64[n, n]` the covariance of the strengths."""
    told: Floats
    """`float64[n, n]` the variance of one result of each pair."""

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """`int64[p]` each: the first and the second player of every pair."""
        return np.triu_indices(len(self.spread), 1)

    def gains(self, targets: Floats, matches: int) -> Floats:
        """`float64[p, m]` by how much `matches` of each pair would lower the variances of `targets: float64[m, n]`."""
        one, other = self.pairs
        v = self.spread[one] - self.spread[other]
        weight = matches * self.told[one, other]
        own = v[np.arange(len(v)), one] - v[np.arange(len(v)), other]
        return np.asarray((weight / (1 + weight * own))[:, None] * (v @ targets.T) ** 2, np.float64)

    def within_reach(self, targets: Floats, *, error: float, matches: int) -> Floats:
        """The `targets` that `matches` of one pair would make known to within `error`.

        If there are none, all of them, in units of their errors, so that each gets its share.
        """
        variance = np.einsum("mi,ij,mj->m", targets, self.spread, targets)
        reached = variance - self.gains(targets, matches).max(axis=0) <= error**2
        return targets[reached] if reached.any() else np.asarray(targets / np.sqrt(variance)[:, None], np.float64)

    def most_telling(self, targets: Floats, cost: Floats) -> Pair:
        """The pair whose next bout lowers the variances of the `targets` the most for its `cost: float64[n, n]`."""
        one, other = self.pairs
        best = int((self.gains(targets, 2 * STEP).sum(axis=1) / cost[one, other]).argmax())
        return int(one[best]), int(other[best])


def knowledge(sheet: ScoreSheet) -> Knowledge:
    """What the score sheet tells, as if the matches in play had ended as expected."""
    n = len(sheet.players)
    if sheet.results.any():
        ratings = sheet.ratings()
        spread, strength = ratings.covariance / ELO**2, ratings.rating / ELO
        advantage, draw = ratings.advantage.value / ELO, ratings.draw
    else:
        spread, strength, advantage, draw = np.eye(n), np.zeros(n), 0.0, 0.0
    variance = np.diag(spread)[:, None] + np.diag(spread) - 2 * spread
    gap = (strength[:, None] - strength) / np.sqrt(1 + np.pi * np.maximum(variance, 0) / 8)  # shrunk by uncertainty
    told = np.zeros((n, n))
    for side in (advantage, -advantage):
        win, _, loss = chances(gap + side, draw)
        told += (win + loss - (win - loss) ** 2) / 8
    told = np.minimum(told, _left_open(sheet.results))
    for (one, other), flying in sheet.flying.items():
        v = spread[one] - spread[other]
        weight = told[one, other] * len(flying)
        spread = spread - weight * np.outer(v, v) / (1 + weight * (v[one] - v[other]))
    return Knowledge(spread, told)
