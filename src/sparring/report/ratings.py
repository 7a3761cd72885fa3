"""Ratings as tables that fit 80 columns."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparring.core.text import printable
from sparring.report.tables import plain_table


def standings_table(summary: Mapping[str, Any]) -> Group:
    """Players by strength, ratings by the axis asked for, mixed teams and warnings; see `league.standings`."""
    parts: list[RenderableType] = []
    if "players" in summary:
        title = f"{summary['game']}: {summary['matches']:,} matches, ratings in Elo points, {summary['anchor']} = 0"
        parts += [
            Text(printable(title), style="bold"),
            _players(summary["players"], summary["anchor"]),
            *_model(summary),
        ]
    if "by" in summary:
        title = f"by {summary['by']['axis'].replace('_', ' ')}"
        parts += ["", Text(title, style="bold"), _subsets(summary["by"])]
    if "teams" in summary:
        title = f"{summary['game']}: players of mixed teams, by openskill"
        parts += [*([""] if parts else []), Text(printable(title), style="bold"), _teams(summary["teams"])]
    parts += [Text(printable(f"warning: {text}"), style="yellow") for text in summary.get("warnings", ())]
    return Group(*parts)


def _players(players: list[Mapping[str, Any]], anchor: str) -> Table:
    names = ("player", "rating", "95% interval", "GXE", "matches", "score")
    table = plain_table(*names, right=names[1:])
    for one in players:
        score = "-" if one["score"] is None else f"{one['score']:.1%}"
        table.add_row(
            Text(printable(one["player"]), overflow="fold"),
            f"{one['rating']:+,.0f}",
            "anchor" if one["player"] == anchor else _interval(one),
            f"{one['gxe']:.1%}",
            f"{one['matches']:,}",
            score,
        )
    return _unbroken(table)


def _subsets(by: Mapping[str, Any]) -> Table:
    names = ("player", str(by["axis"]).replace("_", " "), "rating", "95% interval", "matches", "score")
    table = plain_table(*names, right=names[2:])
    for one in by["subsets"]:
        table.add_row(
            Text(printable(one["player"]), overflow="fold"),
            Text(printable(one["value"] or "-"), overflow="fold"),
            f"{one['rating']:+,.0f}",
            _interval(one),
            f"{one['matches']:,}",
            f"{one['score']:.1%}",
        )
    return _unbroken(table, words=2)


def _teams(teams: list[Mapping[str, Any]]) -> Table:
    names = ("player", "rating", "95% interval", "matches")
    table = plain_table(*names, right=names[1:])
    for one in teams:
        low, high = one["interval"]
        interval = f"{low:.1f} to {high:.1f}"
        name = Text(printable(one["player"]), overflow="fold")
        table.add_row(name, f"{one['rating']:.1f}", interval, f"{one['matches']:,}")
    return _unbroken(table)


def _model(summary: Mapping[str, Any]) -> list[RenderableType]:
    first, circles = summary["advantage"], summary["cycles"]
    lines = [f"first seat {first['value']:+,.0f} ({first['low']:+,.0f} to {first['high']:+,.0f})"]
    if len(summary["players"]) > 2:
        lines.append(f"ratings explain {circles['gradient']:.0%} of who beats whom")
    return [Text("; ".join(lines), style="dim")]


def _interval(one: Mapping[str, Any]) -> str:
    low, high = one["interval"]
    return f"{low:+,.0f} to {high:+,.0f}"


def _unbroken(table: Table, words: int = 1) -> Table:
    """`table`, with only the first `words` columns allowed to wrap."""
    for column in table.columns[words:]:
        column.no_wrap = True
    return table
