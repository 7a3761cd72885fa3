"""Evaluation: matches between two players who take turns in the seats."""

from collections.abc import Callable, Sequence

import numpy as np

from sparring.core import Arena, Player, Score
from sparring.league.entrants import Style
from sparring.league.seating import Seating
from sparring.rollout import Collector, taking_turns


def evaluate(
    first: Player,
    second: Player,
    arena: Arena,
    *,
    matches: int,
    names: tuple[str, str] = ("first", "second"),
    pulse: Callable[[int], None] = lambda ended: None,
) -> Score:
    """Plays `matches` matches on a fresh `arena`, seats changing from match to match; `pulse`: see `Collector.play`.

    `names` are for the records that an arena keeps.
    """
    players = dict(zip(_distinct(names), (first, second), strict=True))
    collector = Collector(arena, players, taking_turns([0, 1], arena.spec.seats))
    seated, outcome = collector.play(matches, pulse=pulse)
    mine = np.where(seated == 0, outcome, np.nan)
    failed = np.isnan(outcome).all(axis=1)
    result = np.nanmean(mine[~failed], axis=1)
    return Score(
        wins=int((result > 0).sum()),
        draws=int((result == 0).sum()),
        losses=int((result < 0).sum()),
        failed=int(failed.sum()),
        decisions_per_match=collector.counters.decisions / max(1, collector.counters.matches),
    )


def evaluate_entrants(
    seating: Seating,
    *,
    matches: int,
    parallel: int = 256,
    seed: int = 0,
    style: Style | None = None,
    pulse: Callable[[int], None] = lambda ended: None,
    say: Callable[[str], None] = lambda text: None,
) -> Score:
    """The score of the first of two entrants against the second, at most `parallel` matches at the same time."""
    names = (seating.entrants[0].name, seating.entrants[1].name)
    with seating.seated(matches=min(parallel, matches), seed=seed, style=style, say=say) as ((first, second), arena):
        return evaluate(first, second, arena, matches=matches, names=names, pulse=pulse)


def _distinct(names: Sequence[str]) -> list[str]:
    """`names`, numbered where two are the same."""
    if len(set(names)) == len(names):
        return list(names)
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]
