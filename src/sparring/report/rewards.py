"""What the components of a reward paid over a run, and what happens without each of them: tables and a plot."""

import html
from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from sparring.core.text import printable
from sparring.report.plots import signed, ticks
from sparring.report.tables import plain_table

_WIDTH, _HEIGHT, _LEFT, _TOP = 860, 400, 60, 44
_LEGEND, _ROW = 210, 20
_MARKS = 6
"""Intervals of an axis, at most."""
_COLOURS = (
    "#2563c9",
    "#d1651b",
    "#2c8a4b",
    "#c2268f",
    "#7a4a21",
    "#12a5b8",
    "#8a4bc2",
    "#b98a1d",
    "#d0342c",
    "#5b6472",
)
_DASHES = ("none", "7 4", "2 3")
"""Of the first lines, of those after as many as there are colours, and so on."""


def rewards_table(title: str, paid: Mapping[str, tuple[float, float]]) -> Group:
    """What each component paid a row at the start and at the end of a run, the largest at the end first."""
    table = plain_table("component", "first", "last", "share of the last", right=("first", "last", "share of the last"))
    total = sum(abs(last) for _, last in paid.values()) or 1.0
    for name, (first, last) in sorted(paid.items(), key=lambda item: -abs(item[1][1])):
        table.add_row(Text(printable(name)), f"{first:+.5f}", f"{last:+.5f}", f"{abs(last) / total:.0%}")
    return Group(Text(printable(title), style="bold"), table)


def ablation_table(runs: Mapping[str, Mapping[str, float]]) -> Table:
    """One row per run, with the figures of each."""
    headings = list(next(iter(runs.values())))
    table = plain_table("run", *headings, right=headings)
    for name, figures in runs.items():
        table.add_row(Text(printable(name)), *(f"{figures[heading]:.2f}" for heading in headings))
    return table


def rewards_plot(title: str, series: Mapping[str, Sequence[float]]) -> str:
    """An SVG with one smoothed line per component over the updates; the legend is in the order of their ends."""
    smoothed = {name: _smooth(values) for name, values in series.items()}
    updates = max(len(line) for line in smoothed.values())
    marks = ticks(
        min(0.0, *(float(line.min()) for line in smoothed.values())),
        max(0.0, *(float(line.max()) for line in smoothed.values())),
        most=_MARKS,
    )
    floor = _TOP + _HEIGHT

    def x(update: float) -> float:
        return _LEFT + (update - 1) / max(1, updates - 1) * _WIDTH

    def y(value: float) -> float:
        return float(floor - (value - marks[0]) / (marks[-1] - marks[0]) * _HEIGHT)

    rows = max(floor + 50, _TOP + _ROW * len(series) + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + _LEGEND} {rows}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="white"/><text x="{_LEFT}" y="24" font-size="16">'
        f"{html.escape(printable(title, 100))}</text>",
    ]
    for value in marks:
        stroke = "#ddd" if value else "#667085"
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{stroke}"/>'
            f'<text x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#667085">{signed(value)}</text>'
        )
    inside = [mark for mark in ticks(1, updates, most=_MARKS) if 1 < mark <= updates and mark == int(mark)]
    parts += [
        f'<line x1="{x(update):.1f}" x2="{x(update):.1f}" y1="{floor}" y2="{floor + 5}" stroke="#667085"/>'
        f'<text x="{x(update):.1f}" y="{floor + 19}" text-anchor="middle" fill="#667085">{update:,.0f}</text>'
        for update in (1, *inside)
    ]
    parts.append(f'<text x="{_LEFT + _WIDTH}" y="{floor + 38}" text-anchor="end" fill="#667085">update</text>')
    ranked = sorted(smoothed.items(), key=lambda item: -float(item[1][-1]))
    for number, (name, line) in enumerate(ranked):
        stroke = f'stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="2"'
        dashes = f'stroke-dasharray="{_DASHES[number // len(_COLOURS) % len(_DASHES)]}"'
        points = " ".join(f"{x(update):.1f},{y(value):.1f}" for update, value in enumerate(line.tolist(), 1))
        parts.append(f'<polyline points="{points}" fill="none" {stroke} {dashes} stroke-linejoin="round"/>')
        at, left = _TOP + _ROW * number + 8, _LEFT + _WIDTH + 16
        parts.append(
            f'<line x1="{left}" x2="{left + 24}" y1="{at}" y2="{at}" {stroke} {dashes}/>'
            f'<text x="{left + 32}" y="{at + 4}">{html.escape(printable(name, 24))}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _smooth(values: Sequence[float]) -> np.ndarray:
    window = max(1, len(values) // 40)
    padded = np.concatenate([np.repeat(values[:1], window - 1), values])
    return np.convolve(padded, np.ones(window) / window, mode="valid")
