"""Evaluation: matches between two players who take turns in the seats."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sparring.core import Arena, Player, Results, Score
from sparring.rollout import Collector, taking_turns


def evaluate(
    first: Player, second: Player, arena: Arena, *, matches: int, pulse: Callable[[], None] = lambda: None
) -> Score:
    """Plays `matches` matches on a fresh `arena`, seats changing from match to match; `pulse`: see `Collector.play`."""
    lineup = taking_turns([0, 1], arena.spec.seats)
    collector = Collector(arena, {"first": first, "second": second}, lineup)
    points, minutes = np.zeros(2), 0.0

    def count(serials: NDArray[np.int64], results: Results) -> None:
        nonlocal minutes
        if results.points is None or results.minutes is None:
            return
        for number, mine in enumerate(lineup(serials)):
            if not results.failed[number]:
                points[:] += [results.points[number, mine == side].max() for side in (0, 1)]
                minutes += float(results.minutes[number])

    seated, outcome = collector.play(matches, pulse=pulse, ended=count)
    mine = np.where(seated == 0, outcome, np.nan)
    failed = np.isnan(outcome).all(axis=1)
    result = np.nanmean(mine[~failed], axis=1)
    return Score(
        wins=int((result > 0).sum()),
        draws=int((result == 0).sum()),
        losses=int((result < 0).sum()),
        failed=int(failed.sum()),
        decisions_per_match=collector.counters.decisions / max(1, collector.counters.matches),
        points_per_minute=(float(points[0] / minutes), float(points[1] / minutes)) if minutes else None,
    )


def play_one(players: list[Player], arena: Arena) -> list[float]:
    """Plays one match with `players[seat]` in each seat of a fresh one-match `arena`; returns the outcome by seat."""
    seats = {str(seat): player for seat, player in enumerate(players)}
    collector = Collector(
        arena, seats, lambda serials: np.tile(np.arange(len(players), dtype=np.int32), (len(serials), 1))
    )
    _, outcome = collector.play(1)
    return [float(value) for value in outcome[0]]
