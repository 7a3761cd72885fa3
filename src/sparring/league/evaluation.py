"""Evaluation: two players, every seat order, a win rate and how sure we are of it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from sparring.core import Arena, Player
from sparring.rollout import Collector, taking_turns


@dataclass(frozen=True)
class Score:
    """How the first player did against the second."""

    matches: int
    wins: int
    draws: int
    losses: int
    failed: int
    decisions_per_match: float

    @property
    def rate(self) -> float:
        """Points per match: a win is 1, a draw a half."""
        return (self.wins + 0.5 * self.draws) / self.matches if self.matches else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of `rate`."""
        return wilson_interval(self.rate, self.matches)


def evaluate(
    first: Player, second: Player, arena: Arena, *, matches: int, pulse: Callable[[], None] = lambda: None
) -> Score:
    """Plays `matches` matches on a fresh `arena`, seats changing from match to match; `pulse`: see `Collector.play`."""
    collector = Collector(arena, {"first": first, "second": second}, taking_turns([0, 1], arena.spec.seats))
    seated, outcome = collector.play(matches, pulse=pulse)
    mine = np.where(seated == 0, outcome, np.nan)
    failed = np.isnan(outcome).all(axis=1)
    result = np.nanmean(mine[~failed], axis=1)
    return Score(
        matches=int((~failed).sum()),
        wins=int((result > 0).sum()),
        draws=int((result == 0).sum()),
        losses=int((result < 0).sum()),
        failed=int(failed.sum()),
        decisions_per_match=collector.counters.decisions / max(1, collector.counters.matches),
    )


def wilson_interval(rate: float, matches: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval: stays inside [0, 1] and is honest near its ends."""
    if matches == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    middle = rate + z * z / (2 * matches)
    spread = z * sqrt(rate * (1 - rate) / matches + z * z / (4 * matches * matches))
    scale = 1 + z * z / matches
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def play_one(players: list[Player], arena: Arena) -> list[float]:
    """Plays one match with `players[seat]` in each seat of a fresh one-match `arena`; returns the outcome by seat."""
    seats = {str(seat): player for seat, player in enumerate(players)}
    collector = Collector(
        arena, seats, lambda serials: np.tile(np.arange(len(players), dtype=np.int32), (len(serials), 1))
    )
    _, outcome = collector.play(1)
    return [float(value) for value in outcome[0]]
