"""Results as tables for people and as plain data for programs."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from sparring.core import Game, Score, player_names, shipped_weights

if TYPE_CHECKING:
    from sparring.serving.protocol import Report


def score_table(title: str, scores: Mapping[str, Score]) -> Table:
    """One line an opponent."""
    table = Table("opponent", "win rate", "95% interval", "wins", "draws", "losses", title=title, title_justify="left")
    if any(score.points_per_minute is not None for score in scores.values()):
        table.add_column("for : against a minute")
    for name, score in scores.items():
        low, high = score.interval
        counts = map(str, (score.wins, score.draws, score.losses))
        points = () if score.points_per_minute is None else ("{:.2f} : {:.2f}".format(*score.points_per_minute),)
        table.add_row(name, f"{score.win_rate:.1%}", f"{low:.1%} - {high:.1%}", *counts, *points)
    return table


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
    return {name: getattr(score, name) for name in names}


def games_table(games: Sequence[Game]) -> Table:
    """What is installed: one line a game."""
    table = Table("game", "what there is", show_lines=True)
    for game in games:
        names = {
            "players": player_names(game),
            "presets": sorted(path.stem for path in game.presets.glob("*.yaml")),
            "trained agents": shipped_weights(game.name),
        }
        known = [f"{kind}: {', '.join(found)}" for kind, found in names.items() if found]
        table.add_row(game.name, "\n".join([game.summary, *known]))
    return table


def presets_table(presets: Mapping[str, Path]) -> Table:
    """One row a preset, with what the comment at its top says."""
    table = Table("preset", "what it trains", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.columns[0].no_wrap = True
    for name, path in presets.items():
        lines = takewhile(lambda line: line.startswith("#"), path.read_text().splitlines())
        table.add_row(name, Text(" ".join(line.lstrip("# ") for line in lines)))
    return table


def bench_table(ways: Mapping[str, Mapping[str, Any]]) -> Table:
    """The self-play benchmark: one line a way."""
    table = Table("way", "matches/hour", "speed-up", "decisions/s", "mean batch", "win rate", "95% interval")
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


def status_table(address: str, report: "Report") -> Group:
    """How a policy server is: one line a model."""
    names = ("model", "version", "clients", "slots", "requests", "batch", "queue", "p50/p95/p99 ms")
    table = Table(*names, box=None, padding=(0, 1), pad_edge=False)
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
    return Group(f"{address}: up {report.uptime:,.0f} s, {report.requests_per_second:,.0f} requests/s", table)


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
    """What came of matches on live servers: one line an opponent, faults and speed below."""
    low, high = summary["interval"]
    about = f"{summary['username']} ({summary['model']}) at {summary['format']}: {summary['matches']} matches"
    table = Table("opponent", "wins", "draws", "losses")
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
        ", ".join(f"{key.replace('_', ' ')} {summary[key]}" for key in _LADDER_FAULTS),
        f"answers p50 {answer['p50']:.0f} ms, p99 {answer['p99']:.0f} ms, mean batch {summary['mean_batch']:.1f}, "
        f"{summary['matches_per_hour']:,.0f} matches/hour",
    )
