"""Evaluation: matches between two players who take turns in the seats."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparring.core import Arena, Explaining, Game, Player, Rated, Results, Score
from sparring.league.entrants import Style
from sparring.league.ledger import Ledger
from sparring.league.rated import RatedMatches
from sparring.league.seating import Seating
from sparring.league.verdicts import judged
from sparring.rollout import Collector, taking_turns

Serials = NDArray[np.int64]
Turns = NDArray[np.int32]
Record = Callable[[Serials, Turns, Results, tuple[str, ...]], None]
"""Gets ended matches: their numbers, turns, results as they count, and why each was forfeited, if it was."""

MATCHES = 400
"""Matches per rating, unless the game says otherwise (`core.Rated`)."""


def evaluate(
    first: Player,
    second: Player,
    arena: Arena,
    *,
    matches: int,
    names: tuple[str, str] = ("first", "second"),
    pulse: Callable[[int], None] = lambda ended: None,
    record: Record = lambda serials, turns, results, notes: None,
) -> Score:
    """Plays `matches` matches on a fresh `arena`, seats changing from match to match; `pulse`: see `Collector.play`.

    `names` are for the records that an arena keeps, and for what is said of a player that breaks the rules. `record`
    gets matches as they end. A forfeit is a loss.
    """
    players = dict(zip(_distinct(names), (first, second), strict=True))
    lineup = taking_turns([0, 1], arena.spec.seats)
    collector = Collector(arena, players, lineup)
    points, minutes, forfeits = np.zeros(2), 0.0, list[str]()
    reasons = arena.endings if isinstance(arena, Explaining) else ()
    endings = np.zeros(len(reasons), np.int64)
    outcome = np.full((matches, arena.spec.seats), np.nan, np.float32)

    def count(serials: NDArray[np.int64], turns: NDArray[np.int32], results: Results) -> None:
        nonlocal minutes
        results, notes = judged(results, lineup(serials), players)
        outcome[serials] = np.where(results.failed[:, None], np.nan, results.outcome)
        forfeits.extend(filter(None, notes))
        record(serials, turns, results, notes)
        if results.ending is not None:
            endings[:] += np.bincount(results.ending[~results.failed], minlength=len(reasons))
        if results.points is None or results.minutes is None:
            return
        for number, mine in enumerate(lineup(serials)):
            if not results.failed[number]:
                points[:] += [results.points[number, mine == side].max() for side in (0, 1)]
                minutes += float(results.minutes[number])

    seated, _ = collector.play(matches, pulse=pulse, ended=count)
    mine = np.where(seated == 0, outcome, np.nan)
    failed = np.isnan(outcome).all(axis=1)
    result = np.nanmean(mine[~failed], axis=1)
    return Score(
        wins=int((result > 0).sum()),
        draws=int((result == 0).sum()),
        losses=int((result < 0).sum()),
        failed=int(failed.sum()),
        forfeits=tuple(forfeits),
        decisions_per_match=collector.decided / matches,
        points_per_minute=(float(points[0] / minutes), float(points[1] / minutes)) if minutes else None,
        minutes=minutes,
        endings=dict(zip(reasons, endings.tolist(), strict=True)),
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
    ledger: Path | None = None,
) -> Score:
    """The score of the first of two entrants against the second, at most `parallel` matches at the same time.

    Every match is added to the file `ledger`, created if need be, as soon as it has ended.
    """
    names = (seating.entrants[0].name, seating.entrants[1].name)
    parallel = min(parallel, matches)
    with ExitStack() as stack:
        book = None if ledger is None else stack.enter_context(Ledger(ledger, create=True))
        (first, second), arena = stack.enter_context(seating.seated(matches=parallel, seed=seed, style=style, say=say))
        rated = None if book is None else RatedMatches(book, seating, style or Style(), parallel=parallel, seed=seed)
        courses: set[tuple[float, ...]] = set()

        def record(serials: Serials, turns: Turns, results: Results, notes: tuple[str, ...]) -> None:
            courses.update(map(tuple, np.column_stack([serials % 2, turns, results.outcome]).tolist()))
            if rated is not None:
                rated.add(serials, turns, results, notes)

        score = evaluate(first, second, arena, matches=matches, names=names, pulse=pulse, record=record)
        if rated is not None and rated.known:
            say(f"{ledger}: {rated.known:,} of these matches were there already; another seed plays others")
        if style is not None and style.temperature == 0 and len(courses) <= 2 < matches:
            say("at temperature 0 these two played the same match again and again: the interval means nothing")
        return score


def rating_matches(game: Game, usual: int = MATCHES) -> int:
    """Matches that a rating of `game` plays unless the user says otherwise: the game's own number, or the `usual`."""
    return game.rating_matches if isinstance(game, Rated) else usual


def _distinct(names: Sequence[str]) -> list[str]:
    """`names`, numbered if two are the same."""
    if len(set(names)) == len(names):
        return list(names)
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]
