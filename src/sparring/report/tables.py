"""Results as tables for people and as plain data for programs."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from sparring.core import Game, Score, player_names, shipped_weights
from sparring.core.checkup import Check
from sparring.core.text import printable
from sparring.report.progress import duration

if TYPE_CHECKING:
    from sparring.serving.protocol import Report

_MOST_NOTES = 20


def plain_table(*names: str, right: Collection[str] = ()) -> Table:
    """A table without a frame, with a rule below its headings; the columns in `right` hold numbers."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def score_table(title: str, scores: Mapping[str, Score]) -> Group:
    """One line per opponent."""
    names = ["opponent", "win rate", "95% interval", "wins", "draws", "losses"]
    if any(score.points_per_minute is not None for score in scores.values()):
        names.append("for : against / min")
    table = plain_table(*names, right=names[1:])
    for column in table.columns[1:]:
        column.no_wrap = True
    for name, score in scores.items():
        low, high = score.interval
        counts = (f"{count:,}" for count in (score.wins, score.draws, score.losses))
        points = () if score.points_per_minute is None else ("{:.2f} : {:.2f}".format(*score.points_per_minute),)
        table.add_row(name, f"{score.win_rate:.1%}", f"{low:.1%} - {high:.1%}", *counts, *points)
    forfeits = [note for score in scores.values() for note in score.forfeits]
    return Group(Text(title, style="bold"), table, *endings_text(scores), *forfeits_text(forfeits_json(forfeits)))


def endings_text(scores: Mapping[str, Score]) -> list[Text]:
    """Why the matches with each opponent ended, the commonest reason first; nothing in games that do not say."""
    lines = []
    for name, score in scores.items():
        counts = [f"{why} {count:,}" for why, count in Counter(score.endings).most_common() if count]
        if counts:
            lines.append(Text(f"matches with {printable(name)} ended by: {', '.join(counts)}"))
    return lines


def forfeits_text(forfeits: Mapping[str, Any]) -> list[Text]:
    """How many matches were forfeited, and why; nothing if none was."""
    if not forfeits["matches"]:
        return []
    about = Text(f"{forfeits['matches']:,} matches were forfeited:", style="yellow")
    return [about, *(Text("  " + printable(note, 300)) for note in forfeits["notes"][:5])]


def forfeits_json(notes: Sequence[str]) -> dict[str, Any]:
    """How many matches were forfeited, and the reasons, each once, as plain data."""
    return {"matches": len(notes), "notes": sorted(set(notes))[:_MOST_NOTES]}


def exploited_table(player: str, found: Mapping[str, Any]) -> Group:
    """What a best response to `player` won, which a perfect one would win at least."""
    title = f"best response to {player} after {found['decisions']:,} decisions: a lower bound"
    parts = [score_table(title, {player: found["score"]})]
    if found["exact"] is not None:
        low, high = found["interval"]
        share = f", {found['gain'] / found['exact']:.0%} of it" if found["exact"] > 0 else ""
        text = (
            f"gain a match {found['gain']:.4f} ({low:.4f} - {high:.4f}); exactly {found['exact']:.4f} for a perfect one"
        )
        parts.append(Group(Text(text + share)))
    return Group(*parts)


def exploited_json(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same as plain data."""
    return {**found, "score": score_json(found["score"])}


def score_json(score: Score) -> dict[str, Any]:
    """The same as plain data."""
    names = (
        "matches",
        "wins",
        "draws",
        "losses",
        "failed",
        "win_rate",
        "interval",
        "decisions_per_match",
        "points_per_minute",
    )
    return {name: getattr(score, name) for name in names} | {
        "endings": dict(score.endings),
        "forfeits": forfeits_json(score.forfeits),
    }


def games_table(games: Sequence[Game]) -> Table:
    """The games, each with its players and its trained agents below; a screen has room for all that come with us."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    for game in games:
        kinds = {"players": player_names(game), "trained": shipped_weights(game.name)}
        table.add_row(game.name, Group(game.summary, _names(kinds)))
    return table


def game_table(game: Game) -> Group:
    """A game with its players, its trained agents and its presets, and what else there is to read about it."""
    presets = sorted(path.stem for path in game.presets.glob("*.yaml"))
    kinds = {"players": player_names(game), "trained": shipped_weights(game.name), "presets": presets}
    return Group(Text(game.name, style="bold").append(f"  {game.summary}", "not bold"), "", _names(kinds))


def _names(kinds: Mapping[str, Collection[str]]) -> Table:
    """A line of names per kind that has any; more lines if they need them."""
    names = Table.grid(padding=(0, 2, 0, 0))
    names.add_column(style="dim", no_wrap=True)
    for kind, found in kinds.items():
        if found:
            names.add_row(kind, Text(", ".join(found)))
    return names


def presets_table(presets: Mapping[str, Path]) -> Table:
    """One row per preset, with the comment at its top."""
    table = plain_table("preset", "what it trains")
    table.columns[0].no_wrap = True
    for name, path in presets.items():
        table.add_row(name, Text(preset_comment(path)))
    return table


def preset_comment(path: Path) -> str:
    """The comment at the top of a preset: what it trains."""
    lines = takewhile(lambda line: line.startswith("#"), path.read_text().splitlines())
    return " ".join(line.lstrip("# ") for line in lines)


def bench_table(ways: Mapping[str, Mapping[str, Any]]) -> Table:
    """The self-play benchmark: one line per way of playing."""
    names = ("way", "matches/hour", "speed-up", "decisions/s", "mean batch", "win rate", "95% interval")
    table = plain_table(*names, right=names[1:])
    for way, values in ways.items():
        low, high = values["interval"]
        table.add_row(
            way,
            f"{values['matches_per_hour']:,.0f}",
            f"{values['speed_up']:.2f}",
            f"{values['decisions_per_second']:,.0f}",
            f"{values['mean_batch']:.1f}",
            f"{values['win_rate']:.1%}",
            f"{low:.1%} - {high:.1%}",
        )
    return table


def checks_table(checks: Sequence[Check]) -> Group:
    """What `sparring doctor` found, the worst last: one line per check, the command that fixes it below; the count."""
    table = plain_table("check", "", "found")
    table.columns[0].no_wrap = True
    styles = {"ok": "green", "warn": "yellow", "fail": "bold red"}
    for check in sorted(checks, key=lambda check: [*styles].index(check.status)):
        found = Text(printable(check.found), overflow="fold")
        if check.mend:
            found.append(f"\nrun: {printable(check.mend)}", style="bold")
        table.add_row(check.name, Text(check.status, style=styles[check.status]), found)
    counts = Counter(check.status for check in checks)
    return Group(table, f"{counts['ok']} ok, {counts['warn']} to look at, {counts['fail']} failed")


def status_table(address: str, report: "Report") -> Group:
    """The status of a policy server: one line per model."""
    names = ("model", "version", "clients", "slots", "requests", "batch", "queue", "p50/p95/p99 ms")
    table = plain_table(*names, right=names[1:])
    for name, values in report.models.items():
        table.add_row(
            name,
            str(values.version),
            str(values.sessions),
            f"{values.slots_used}/{values.slots}",
            f"{values.requests:,}",
            f"{values.mean_batch:.1f}",
            str(values.queue),
            "/".join(_milliseconds(seconds) for seconds in (values.p50, values.p95, values.p99)),
        )
    return Group(f"{address}: up {duration(report.uptime)}, {report.requests_per_second:,.0f} requests/s", table)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f}" if seconds < 0.1 else f"{1000 * seconds:.0f}"


_LADDER_FAULTS = (
    "invalid_choices",
    "unavailable_choices",
    "late_choices",
    "time_outs",
    "forfeited",
    "failed",
    "reconnects",
)


def ladder_table(summary: Mapping[str, Any]) -> Group:
    """Results of matches on live servers: a line per opponent, faults and speed below; without matches faults alone."""
    low, high = summary["interval"]
    about = f"{summary['username']} ({summary['model']}) at {summary['format']}: {summary['matches']} matches"
    faults = [f"{key.replace('_', ' ')} {summary[key]}" for key in _LADDER_FAULTS if summary[key]]
    if not summary["matches"]:
        return Group(about, f"faults: {', '.join(faults) or 'none'}")
    table = plain_table("opponent", "wins", "draws", "losses", right=("wins", "draws", "losses"))
    for name, counts in summary["opponents"].items():
        table.add_row(name, *map(str, counts.values()))
    table.add_section()
    table.add_row("all", *(str(summary[key]) for key in ("wins", "draws", "losses")))
    known = [str(rating) for rating in summary["ratings"].values() if rating is not None]
    rating = f", rating {' and '.join(known)}" if known else ""
    answer = summary["answer_ms"]
    return Group(
        about,
        table,
        f"win rate {summary['win_rate']:.1%}, 95% interval {low:.1%} - {high:.1%}{rating}",
        f"faults: {', '.join(faults) or 'none'}",
        f"answers p50 {answer['p50']:.0f} ms, p99 {answer['p99']:.0f} ms, mean batch {summary['mean_batch']:.1f}, "
        f"{summary['matches_per_hour']:,.0f} matches/hour",
    )
