"""A tournament as one HTML page that needs no network: who is strongest, ratings, the heat map of pay-offs, curves."""

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sparring.core.text import printable
from sparring.report.page import page
from sparring.report.plots import ticks
from sparring.report.settings import in_a_line
from sparring.report.tournament import sprt_text

_WIDTH, _ROW, _MARGIN = 640, 32, 36
_HEIGHT, _LEFT, _FLOOR = 260, 60, 225
_LONGEST, _LONG, _SHORT = 200, 40, 18
_ROOMY = 10
"""Players of a cross table with room for large cells."""
_SURE = 0.95
_LABELS = 12
"""Of a curve's updates, at most."""


def tournament_page(summary: Mapping[str, Any], folder: Path = Path()) -> str:
    """The page of what `league.tournament.play_tournament` returns; kept matches are linked from `folder`."""
    settings = in_a_line({key: value for key, value in summary["settings"].items() if value not in ("", None)})
    parts = []
    if "sprt" in summary:
        parts.append(_section("Test", f"<p>{html.escape(sprt_text(summary['sprt']))}</p>"))
    if "players" in summary:
        verdict = f'<p class="verdict">{_verdict(summary)}</p>'
        parts.append(_section(f"Ratings in Elo points, {_name(summary['anchor'])} = 0", verdict + _ratings(summary)))
        parts.append(_section("Points of the row's player against the column's, in percent", _heat_map(summary)))
        for run, points in summary["curves"].items():
            parts.append(_section(f"{_name(run)}: rating by update", _curve(points)))
        if summary.get("kept"):
            parts.append(_section("Matches worth looking at", _kept(summary["kept"], folder)))
        notes = [*summary["warnings"], *summary["forfeits"]["notes"]]
        if notes:
            parts.append(_section("Notes", "".join(f"<p>{html.escape(printable(note))}</p>" for note in notes)))
    about = f"{summary['matches']:,} matches, {summary['schedule']}" + (
        "" if summary["complete"] else ", stopped early"
    )
    return page(f"Tournament of {summary['game']}", f"{about}; {settings}", "\n".join(parts), style="tournament")


def _section(title: str, body: str) -> str:
    return f'<section class="box"><h2>{title}</h2><div class="wide">{body}</div></section>'


def _name(player: str, most: int = _LONGEST) -> str:
    """A player's name, which may be written in any direction; of one that is too long both ends, which differ."""
    name = printable(player, _LONGEST)
    shown = name if len(name) <= most else f"{name[: most // 3]}…{name[most // 3 + 1 - most :]}"
    return f'<bdi title="{html.escape(name)}">{html.escape(shown)}</bdi>'


def _verdict(summary: Mapping[str, Any]) -> str:
    """Who is the strongest, how surely, and what that means against the second."""
    first, second = summary["players"][:2]
    surely = summary["superiority"][0][1]
    won = 1 / (1 + 10 ** ((second["rating"] - first["rating"]) / 400))
    return (
        f"<b>{_name(first['player'])}</b> {'is the strongest' if surely >= _SURE else 'leads'}: "
        f"with a probability of {surely:.1%} it is stronger than {_name(second['player'])}, "
        f"from which it is expected to take {won:.0%} of the points."
    )


def _ratings(summary: Mapping[str, Any]) -> str:
    """One row per player: the rating as a dot, its interval as a line, followed by the numbers; a scale below."""
    players: Sequence[Mapping[str, Any]] = summary["players"]
    low = min(min(one["interval"][0], one["rating"]) for one in players)
    high = max(max(one["interval"][1], one["rating"]) for one in players)
    marks = ticks(low, high)

    def at(elo: float) -> float:
        return float(_MARGIN + (elo - marks[0]) / (marks[-1] - marks[0]) * (_WIDTH - 2 * _MARGIN))

    def drawn(parts: str) -> str:
        return f'<td class="plot"><svg viewBox="0 0 {_WIDTH} {_ROW}" role="img">{parts}</svg></td>'

    grid = "".join(
        f'<line class="{"soft" if elo else "zero"}" x1="{at(elo):.1f}" y1="0" x2="{at(elo):.1f}" y2="{_ROW}"/>'
        for elo in marks
    )
    rows = []
    for one in players:
        left, right = (at(elo) for elo in one["interval"])
        bar = (
            f'<line class="bar" x1="{left:.1f}" y1="16" x2="{right:.1f}" y2="16"/>'
            f'<circle cx="{at(one["rating"]):.1f}" cy="16" r="5"/>'
        )
        low_text, high_text = one["interval"]
        interval = "anchor" if one["player"] == summary["anchor"] else f"{low_text:+,.0f} to {high_text:+,.0f}"
        cells = (f"{one['rating']:+,.0f}", interval, f"{one['gxe']:.1%}", f"{one['matches']:,}")
        rows.append(
            f"<tr><th>{_name(one['player'], _LONG)}</th>{drawn(grid + bar)}"
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    titles = "".join(f"<td>{name}</td>" for name in ("rating", "95% interval", "GXE", "matches"))
    head = f'<tr><th>player</th><td class="plot"></td>{titles}</tr>'
    scale = "".join(f'<text x="{at(elo):.1f}" y="18" text-anchor="middle">{_elo(elo)}</text>' for elo in marks)
    rows.append(f"<tr><th></th>{drawn(scale)}</tr>")
    return f'<table class="ratings">{head}{"".join(rows)}</table>'


def _heat_map(summary: Mapping[str, Any]) -> str:
    """Red where the row's player lost, green where it won, darker if more clearly."""
    players = summary["players"]
    dense = len(players) > _ROOMY
    head = "".join(f'<th title="{_full(one)}">{at}</th>' for at, one in enumerate(players, 1))
    rows = []
    for at, (one, cells) in enumerate(zip(players, summary["cross_table"], strict=True)):
        pairs = zip(cells, players, strict=True)
        shown = [_heat(cell, f"{_full(one)} against {_full(other)}") for cell, other in pairs]
        shown[at] = '<td class="self"></td>'
        name = _name(one["player"], _SHORT if dense else _LONG)
        rows.append(f"<tr><th><i>{at + 1}</i> {name}</th>{''.join(shown)}</tr>")
    return f'<table class="{"heat dense" if dense else "heat"}"><tr><th></th>{head}</tr>{"".join(rows)}</table>'


def _full(one: Mapping[str, Any]) -> str:
    return html.escape(printable(one["player"], _LONGEST))


def _heat(cell: Mapping[str, Any] | None, who: str) -> str:
    if cell is None:
        return f'<td class="none" title="{who}: not played">-</td>'
    score = cell["score"]
    look = "won" if score >= 0.5 else "lost"
    about = f"{who}: {cell['wins']} won, {cell['draws']} drawn, {cell['losses']} lost"
    strength = f"--strength: {abs(score - 0.5) * 200:.0f}%"
    shown = f"{100 * score:.0f}<small>{_matches(cell)}</small>"
    return f'<td class="{look}" style="{strength}" title="{about}">{shown}</td>'


def _matches(cell: Mapping[str, Any]) -> str:
    """How many matches a cell counts."""
    return f"{cell['wins'] + cell['draws'] + cell['losses']:,}"


def _curve(points: Sequence[Mapping[str, Any]]) -> str:
    """Ratings over updates as a line, their intervals as a band."""
    updates = [point["update"] for point in points]
    marks = ticks(min(point["interval"][0] for point in points), max(point["interval"][1] for point in points))
    low, high = marks[0], marks[-1]
    span, length = max(high - low, 1.0), max(max(updates) - min(updates), 1)

    def x(update: float) -> float:
        return float(_LEFT + (update - min(updates)) / length * (_WIDTH - _LEFT - 15))

    def y(elo: float) -> float:
        return float(_FLOOR - (elo - low) / span * (_FLOOR - 15))

    band = [f"{x(point['update']):.1f},{y(point['interval'][1]):.1f}" for point in points]
    band += [f"{x(point['update']):.1f},{y(point['interval'][0]):.1f}" for point in reversed(points)]
    line = " ".join(f"{x(point['update']):.1f},{y(point['rating']):.1f}" for point in points)
    parts = [f'<polygon points="{" ".join(band)}"/><polyline points="{line}"/>']
    for elo in marks:
        parts.insert(0, f'<line class="soft" x1="{_LEFT}" y1="{y(elo):.1f}" x2="{_WIDTH}" y2="{y(elo):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(elo) + 4:.1f}" text-anchor="end">{_elo(elo)}</text>')
    every = -(-len(points) // _LABELS)
    for number, point in enumerate(points):
        at = x(point["update"])
        parts.append(f'<circle cx="{at:.1f}" cy="{y(point["rating"]):.1f}" r="4"/>')
        if number % every == 0:
            parts.append(f'<text x="{at:.1f}" y="{_FLOOR + 20}" text-anchor="middle">{point["update"]:,}</text>')
    return f'<svg class="curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{"".join(parts)}</svg>'


def _elo(points: float) -> str:
    return f"{points:+,.0f}" if points else "0"


def _kept(kept: Sequence[Mapping[str, Any]], folder: Path) -> str:
    """One row per match, with the path from `folder` to its file."""
    rows = []
    for one in kept:
        first, second = map(_name, one["players"])
        path = quote(Path(os.path.relpath(one["path"], folder)).as_posix(), errors="surrogateescape")
        won = "drawn" if one["winner"] is None else f"{_name(one['winner'])} ({one['expected']:.0%} expected)"
        rows.append(
            f'<tr><td>{", ".join(one["kinds"])}</td><th><a href="{html.escape(path)}">{first} - {second}</a></th>'
            f"<td>{won}</td><td>{one['length']:,}</td><td>{one['margin']:.3g}</td></tr>"
        )
    head = "<tr><td>what it is</td><th>match</th><td>winner</td><td>decisions</td><td>margin</td></tr>"
    return f'<table class="kept">{head}{"".join(rows)}</table>'
