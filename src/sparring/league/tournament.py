"""Tournaments: entrants meet as a schedule says, in pairs of matches; the ledger is the whole state.

A tournament that was killed goes on when it is called again: only matches that are missing in the ledger are played.
One with more players or more matches goes on from those of a smaller one in the same way.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sparring.core import InputError
from sparring.league.bouts import BLOCK, Bout, Ended, Played, Series, Table
from sparring.league.counts import pair_counts
from sparring.league.crews import Crew, Processes
from sparring.league.entrants import Style
from sparring.league.keeping import Keeper, holding
from sparring.league.ledger import Identity, Ledger, json_text
from sparring.league.ratings import Z, find_player, labels, matches_of
from sparring.league.schedules import Pair, Schedule, ScoreSheet, active, gauntlet, open_questions, round_robin, swiss
from sparring.league.seating import Seating
from sparring.league.sprt import Sprt
from sparring.league.summary import kept_matches, pentanomial, summarise

ScheduleName = Literal["active", "round-robin", "swiss", "gauntlet"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Who meets whom, and until when."""

    schedule: ScheduleName = "active"
    matches: int = 100
    """Per pair that meets; an active schedule plays at most as many as a round robin would."""
    rounds: int = 0
    """Of a Swiss tournament; 0: as many as it takes to find a winner, and one more."""
    elo_width: float | None = None
    """An active schedule plays until no rating's interval is wider."""
    confidence: float | None = None
    """An active schedule plays until the order of every pair is this certain; for an SPRT, its confidence."""
    sprt: str | None = None
    anchor: str | None = None
    seed: int = 0
    workers: int = 0
    """Processes of this machine that play; 0: this one."""
    cluster: str | None = None
    """The address of a Ray cluster that plays, on all but one of its CPUs; None: this machine."""
    keep: Path | None = None
    """The folder in which matches worth looking at are kept."""
    kept: int = 3
    """Of each kind."""


@dataclass
class Progress:
    """How far a tournament has come."""

    matches: int
    total: int
    detail: str
    sheet: ScoreSheet = field(repr=False)

    def rows(self) -> list[tuple[str, float, float, int]] | None:
        """(player, rating, half of its interval, matches), the strongest first; None in the middle of a bout."""
        if self.sheet.matches() != self.matches:
            return None
        if not self.sheet.results.any():
            return []
        ratings, names = self.sheet.ratings(), labels(self.sheet.players)
        played = matches_of(self.sheet.counts())
        return [
            (names[at], float(ratings.rating[at]), Z * ratings.error(at, ratings.anchor), int(played[at]))
            for at in sorted(range(len(names)), key=lambda at: -ratings.rating[at])
        ]


def play_tournament(
    players: Sequence[str],
    ledger: Path,
    rules: Rules,
    *,
    game: str | None = None,
    settings: dict[str, Any] | None = None,
    style: Style | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Plays what `rules` ask for and the ledger does not have yet; returns a summary as plain data.

    A `KeyboardInterrupt`, which `on_progress` may raise too, ends it early; what has been played stays.
    """
    _check_rules(rules)
    style, players = style or Style(), with_checkpoints(players)
    seating = Seating.of(*players, game=game, settings=settings, rating=True, varied=True)
    with ExitStack() as stack:
        series = Series(seating, style, seed=rules.seed)
        _check(series.identities, seating.spec.seats)
        if rules.keep is not None:
            stack.enter_context(holding(rules.keep, seating.game))
        book = stack.enter_context(Ledger(ledger, create=True))
        keeper = None if rules.keep is None else Keeper(rules.keep, rules.kept, book, series.prefixes)
        table = stack.enter_context(Table(seating, style, book.add, seed=rules.seed, keeper=keeper))
        sheet = read_sheet(book, seating, series, rules)
        schedule, total, test = _schedule(sheet, rules)
        complete = True
        try:
            for number in range(len(players)):  # a player that cannot play is refused before the first match
                table.seat(number, say)
            names = [entrant.name for entrant in seating.entrants]
            if rules.workers or rules.cluster is not None:
                table.close()
                with closing(_crew(players, seating, style, rules, ledger, book, say)) as crew:
                    _play(sheet, schedule, crew, names, total, on_progress)
            else:
                _play(sheet, schedule, table, names, total, on_progress)
        except KeyboardInterrupt:
            complete = False
        final = read_sheet(book, seating, series, rules)
        if complete and (short := _fallen_short(final, rules)):
            say(short)
        summary = summarise(
            final, seating, rules.schedule, test, book, series, complete=complete, confidence=rules.confidence
        )
        return summary if keeper is None else {**summary, "kept": kept_matches(keeper, final)}


def with_checkpoints(players: Sequence[str]) -> list[str]:
    """`players`, with each folder `RUN/checkpoints` replaced by all the checkpoints in it."""
    found: list[str] = []
    for text in players:
        folder = Path(text)
        if folder.name == "checkpoints" and folder.is_dir():
            inside = sorted(path for path in folder.iterdir() if path.is_dir() and path.name.isdecimal())
            if not inside:
                raise InputError(f"{text}: no checkpoints there")
            found += map(str, inside)
        else:
            found.append(text)
    return found


def _check_rules(rules: Rules) -> None:
    if rules.cluster is None:
        return
    if rules.workers:
        raise InputError("--workers: with --cluster its processes play; allowed: 0")
    if rules.keep is not None:
        raise InputError("--keep: matches that are played on a cluster are not kept; leave out --keep or --cluster")


def _crew(
    players: Sequence[str],
    seating: Seating,
    style: Style,
    rules: Rules,
    ledger: Path,
    book: Ledger,
    say: Callable[[str], None],
) -> Crew:
    """The processes that play instead of this one."""
    if rules.cluster is not None:
        from sparring.league.cluster_bouts import BoutsOnCluster  # needs Ray

        return BoutsOnCluster(seating, style, book.add, address=rules.cluster, seed=rules.seed, say=say)
    keep = None if rules.keep is None else (rules.keep, rules.kept)
    return Processes(rules.workers, players, seating, style, ledger, seed=rules.seed, keep=keep)


def _check(identities: Sequence[Identity], seats: int) -> None:
    if len(identities) < 2:
        raise InputError("a tournament takes two players or more")
    if seats % 2:
        raise InputError(f"tournaments are of two sides; this game has {seats} seats")
    for at, one in enumerate(identities):
        for other in identities[:at]:
            if one == other or (one.checkpoint and (one.checkpoint, one.style) == (other.checkpoint, other.style)):
                same = "" if one.name == other.name else f" and {other.name} are the same weights:"
                raise InputError(f"{one.name}{same or ':'} the same player twice; each can enter once")


def read_sheet(book: Ledger, seating: Seating, series: Series, rules: Rules) -> ScoreSheet:
    """The entrants' matches at these settings in the ledger, whether of this tournament or not."""
    identities = tuple(series.identities)
    if rules.anchor is not None:
        anchor = find_player(identities, rules.anchor)
    else:
        anchor = next((at for at, one in enumerate(identities) if one.kind == "built-in"), 0)
    sheet = ScoreSheet.empty(identities, anchor)
    for pair in sheet.pairs:
        for match in book.series(series.prefix(*pair)):
            place = series.read(*pair, match.id)
            if place is not None:
                start, order = place
                first = 0.5 + match.seats[0].outcome / 2
                sheet.add(pair, Ended(start, order, first if order == 0 else 1 - first, match.note))
    everything = [tally for tally in book.tallies(seating.game.name) if tally.settings == json_text(series.settings)]
    found = pair_counts(tally for tally in everything if set(tally.players) <= set(identities))
    numbers = [identities.index(player) for player in found.players]
    sheet.results[:] = 0
    seated = [np.array(numbers, np.int64)[side] for side in (found.first, found.second)]
    np.add.at(sheet.results, (seated[0], seated[1]), np.stack([found.wins, found.draws, found.losses], axis=1))
    for at in range(len(identities)):
        sheet.results[at, at] = 0
    return sheet


def _schedule(sheet: ScoreSheet, rules: Rules) -> tuple[Schedule, int, Sprt | None]:
    """The schedule, how many matches it plays at most, and the test that ends it, if any."""
    starts, pairs, n = max(1, ceil(rules.matches / 2)), len(sheet.pairs), len(sheet.players)
    if rules.sprt is not None:
        if n != 2:
            raise InputError(f"--sprt is a test between two players; {n} are given")
        test = Sprt.parse(rules.sprt, confidence=rules.confidence or 0.95)

        def until_decided(sheet: ScoreSheet) -> dict[Pair, int]:
            begun = sheet.begun((0, 1))
            decided = test.verdict(pentanomial(sheet)) is not None
            return {(0, 1): begun if decided else min(starts, begun + BLOCK)}

        return until_decided, 2 * starts, test
    if rules.schedule == "active":
        if rules.elo_width is not None and rules.confidence is not None:
            raise InputError("--elo-width and --confidence: an active schedule plays until one of them; give one")
        width = _elo_width(rules)
        most = 2 * starts * pairs
        return active(width=width, confidence=rules.confidence, matches=most), most, None
    for name, value in (("--elo-width", rules.elo_width), ("--confidence", rules.confidence)):
        if value is not None:
            raise InputError(f"{name} is for the active schedule; {rules.schedule} plays a fixed number of matches")
    if rules.schedule == "swiss":
        rounds = rules.rounds or ceil(log2(n)) + 1
        return swiss(starts, rounds), 2 * starts * (n // 2) * rounds, None
    if rules.schedule == "gauntlet":
        return gauntlet(starts), 2 * starts * (n - 1), None
    return round_robin(starts), 2 * starts * pairs, None


def _elo_width(rules: Rules) -> float | None:
    """The widest interval at which an active schedule ends; None if it ends by `confidence`."""
    return rules.elo_width or (100.0 if rules.confidence is None else None)


def _fallen_short(sheet: ScoreSheet, rules: Rules) -> str:
    """What an active schedule has not reached with the matches it may play; empty if there is nothing."""
    if rules.schedule != "active" or rules.sprt is not None:
        return ""
    width = _elo_width(rules)
    if not len(open_questions(sheet, width, rules.confidence)):
        return ""
    aim = (
        f"intervals are wider than {width:g} Elo"
        if width is not None
        else f"orders are less than {rules.confidence:.0%} sure"
    )
    return f"some {aim} after the {sheet.matches():,} matches it may play; more: --matches above {rules.matches}"


def _play(
    sheet: ScoreSheet,
    schedule: Schedule,
    by: Table | Crew,
    names: Sequence[str],
    total: int,
    on_progress: Callable[[Progress], None],
) -> None:
    """Plays what the schedule asks for, at a table here or by a crew."""
    played = sheet.matches()

    def report(detail: str, more: int = 0) -> None:
        on_progress(Progress(played + more, max(total, played), detail, sheet))

    def begin(bout: Bout) -> None:
        sheet.flying.setdefault((bout.one, bout.other), set()).update(_places(bout))

    def enter(done: Played) -> None:
        nonlocal played
        pair = (done.bout.one, done.bout.other)
        sheet.flying[pair] -= _places(done.bout)
        if not sheet.flying[pair]:
            del sheet.flying[pair]
        for ended in done.ended:
            sheet.add(pair, ended)
        sheet.broken.setdefault(pair, set()).update(done.broken)
        each = done.seconds / max(1, len(done.bout))
        sheet.seconds[pair] = min(each, sheet.seconds.get(pair, each))
        played = sheet.matches()

    if isinstance(by, Table):
        while (bout := _next(sheet, schedule)) is not None:
            detail = f"{names[bout.one]} - {names[bout.other]}"
            begin(bout)
            report(detail)
            enter(by.play(bout, pulse=lambda ended, detail=detail: report(detail, ended)))  # type: ignore[misc]
        report("")
        return
    flying = 0
    while True:
        while flying < by.room and (bout := _next(sheet, schedule)) is not None:
            begin(bout)
            by.begin(bout)
            flying += 1
        if not flying:
            break
        for done in by.wait():
            enter(done)
            flying -= 1
        report(", ".join(f"{names[one]} - {names[other]}" for one, other in sheet.flying))
    report("")


def _next(sheet: ScoreSheet, schedule: Schedule) -> Bout | None:
    """The next bout of the pair furthest behind its schedule; None if there is nothing to play now."""
    wanted = schedule(sheet)
    behind = sorted((sheet.begun(pair) / starts, pair) for pair, starts in wanted.items() if starts)
    for _, pair in behind:
        known = {*sheet.ended.get(pair, ()), *sheet.broken.get(pair, ()), *sheet.flying.get(pair, ())}
        for block in range(0, wanted[pair], BLOCK):
            starts = range(block, min(block + BLOCK, wanted[pair]))
            missing = [tuple(start for start in starts if (start, order) not in known) for order in (0, 1)]
            if any(missing):
                return Bout(*pair, (missing[0], missing[1]))
    return None


def _places(bout: Bout) -> set[tuple[int, int]]:
    return {(start, order) for order in (0, 1) for start in bout.starts[order]}
