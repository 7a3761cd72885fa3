"""Bars and lines as SVG, for pages that need no network."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

_WIDTH = 500
_HEIGHT = 186
_LEFT, _TOP, _BOTTOM, _RIGHT = 56, 12, 26, 10
_LETTER = 9.5
"""The width of a letter, where letters are large."""
_ROW = 19
_NAME = 150
_LABELS = 8
_WIDEST = 60
_COLOURS = 6
_DOTS = 40
_POINTS = 400
"""Of a line, at most: about as many as it is wide."""
_NOTHING = 1e-200
_LONGEST_NAME = 48


def columns(bars: Sequence[tuple[str, int]], *, edges: bool = False) -> str:
    """Vertical bars, one per (label, count); some labels are written, at the middle or the left edge of a bar."""
    most = max((count for _, count in bars), default=0) or 1
    width = min(_WIDEST, (_WIDTH - _LEFT) / max(1, len(bars)))
    ground = _HEIGHT - _BOTTOM
    every = -(-len(bars) // _LABELS)
    parts = []
    for count in filter(None, (most // 2, most)):
        y = ground - count / most * (ground - _TOP)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH}" y2="{y:.1f}"/>')
        parts.append(f'<text class="soft" x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{_short(count)}</text>')
    for number, (label, count) in enumerate(bars):
        x, height = _LEFT + number * width, count / most * (ground - _TOP)
        parts.append(
            f'<rect x="{x + 0.5:.1f}" y="{ground - height:.1f}" width="{max(1.0, width - 1):.1f}" '
            f'height="{height:.1f}">'
            f"<title>{html.escape(label)}: {count:,}</title></rect>"
        )
        if number % every == 0:
            x += 0 if edges else width / 2
            parts.append(f'<text x="{x:.1f}" y="{ground + 15}" text-anchor="middle">{html.escape(label)}</text>')
    parts.append(f'<line x1="{_LEFT}" y1="{ground}" x2="{_WIDTH}" y2="{ground}"/>')
    return _svg(_HEIGHT, parts)


def rows(bars: Mapping[str, int], *, of: int) -> str:
    """Horizontal bars, one per name, with its count and its share of `of`."""
    most = max(bars.values(), default=0) or 1
    about = {name: f"{count:,} ({count / of:.1%})" if of else f"{count:,}" for name, count in bars.items()}
    return _rows([(name, count / most, about[name]) for name, count in bars.items()])


def shares(bars: Sequence[tuple[str, float]]) -> str:
    """Horizontal bars of shares from 0 to 1, one per name."""
    return _rows([(name, share, f"{share:.1%}") for name, share in bars])


def _rows(bars: Sequence[tuple[str, float, str]]) -> str:
    """Horizontal bars, one per (name, length from 0 to 1, text behind it)."""
    parts = []
    for number, (name, length, about) in enumerate(bars):
        y, width = number * _ROW, length * (_WIDTH - _NAME - 110)
        shown = name if len(name) <= 24 else f"{name[:23]}…"
        parts.append(f'<text x="{_NAME - 6}" y="{y + 13}" text-anchor="end">{html.escape(shown)}</text>')
        parts.append(f'<rect x="{_NAME}" y="{y + 3}" width="{max(1.0, width):.1f}" height="{_ROW - 6}"/>')
        parts.append(f'<text class="soft" x="{_NAME + width + 6:.1f}" y="{y + 13}">{about}</text>')
    return _svg(len(bars) * _ROW + 4, parts)


def _svg(height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img">{"".join(parts)}</svg>'


def _short(number: float) -> str:
    if number >= 1e6:
        return f"{number / 1e6:.3g}M"
    return f"{number / 1e3:.3g}k" if number >= 10_000 else f"{number:,.4g}"


@dataclass(frozen=True)
class Curve:
    """A line through points, with an interval around each if known."""

    name: str
    points: Sequence[tuple[float, float]]
    intervals: Sequence[tuple[float, float]] = ()


def curves(
    drawn: Sequence[Curve],
    *,
    low: float | None = None,
    high: float | None = None,
    across: str = "decisions",
    reach: tuple[float, float] | None = None,
    marks: Sequence[tuple[float, str]] | None = None,
    named: bool = True,
    percent: bool = False,
) -> str:
    """Lines over one axis, if `named` with names and last values below; `low` and `high` are shown in any case.

    The axis covers `reach` at least, and has round numbers or else `marks`, each a place and what is written there.
    Shares are written in `percent`.
    """
    drawn = [one for one in drawn if one.points]
    xs = [x for one in drawn for x, _ in one.points] + list(reach or ())
    ys = [y for one in drawn for _, y in one.points] + [end for one in drawn for pair in one.intervals for end in pair]
    if not drawn:
        return _svg(_ROW, ['<text class="soft" x="0" y="13">nothing yet</text>'])
    left, right = min(xs), max(xs)
    right = right if right > left else left + 1
    heights = ticks(min(ys) if low is None else min(low, *ys), max(ys) if high is None else max(high, *ys))
    bottom, top = heights[0], heights[-1]
    ground = _HEIGHT - _BOTTOM

    def x_of(x: float) -> float:
        return _LEFT + (x - left) / (right - left) * (_WIDTH - _LEFT - _RIGHT)

    def y_of(y: float) -> float:
        return ground - (y - bottom) / (top - bottom) * (ground - _TOP)

    parts = []
    for value in heights:
        at = f"{y_of(value):.1f}"
        parts.append(f'<line x1="{_LEFT}" y1="{at}" x2="{_WIDTH - _RIGHT}" y2="{at}"/>')
        text = f"{100 * value:.4g}%" if percent else signed(value)
        parts.append(_soft(_LEFT - 6, y_of(value) + 4, text, anchor="end"))
    places = marks or [(x, signed(x)) for x in ticks(left, right) if left <= x <= right]
    for x, text in places[:-1]:
        parts.append(_soft(x_of(x), ground + 16, text, anchor="middle"))
    x, text = places[-1]
    middle = min(x_of(x), _WIDTH - _LETTER * len(f"{text} {across}") / 2)
    parts.append(_soft(middle, ground + 16, f"{text} {across}", anchor="middle"))
    for number, one in enumerate(drawn):
        colour = f"c{number % _COLOURS}"
        for (x, _), (under, above) in zip(one.points, one.intervals, strict=False):
            at = f"{x_of(x):.1f}"
            parts.append(
                f'<line class="{colour} thin" x1="{at}" y1="{y_of(under):.1f}" x2="{at}" y2="{y_of(above):.1f}"/>'
            )
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in _thinned(one.points))
        parts.append(f'<polyline class="{colour}" points="{path}"/>')
        if len(one.points) <= _DOTS:
            parts += [
                f'<circle class="{colour}" cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="2.5"><title>'
                f"{signed(x)} {html.escape(across)}: {_value(y, percent)}</title></circle>"
                for x, y in one.points
            ]
        if named:
            below = _HEIGHT + 4 + number * _ROW
            parts.append(f'<rect class="{colour}" x="{_LEFT}" y="{below}" width="10" height="10"/>')
            name = html.escape(f"{one.name[:_LONGEST_NAME]}: {_value(one.points[-1][1], percent)}")
            parts.append(f'<text x="{_LEFT + 16}" y="{below + 9}">{name}</text>')
    return _svg(_HEIGHT + (len(drawn) * _ROW + 4 if named else 0), parts)


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most `_POINTS` of many points: the lowest and the highest of each stretch, so that no peak is lost."""
    if len(points) <= _POINTS:
        return points
    length = ceil(len(points) / (_POINTS // 2))
    kept = []
    for begin in range(0, len(points), length):
        stretch = points[begin : begin + length]
        kept += sorted((min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])))
    return kept


def _value(number: float, percent: bool) -> str:
    return f"{number:.1%}" if percent else signed(number)


def ticks(low: float, high: float, *, most: int = 3) -> list[float]:
    """Round numbers that cover `low` to `high` in about `most` steps; a single value gets room on both sides."""
    size = max(abs(low), abs(high))
    if size < _NOTHING or high - low <= 1e-9 * size:
        room = size / 2 if size >= _NOTHING else 1.0
        low, high = low - room, high + room
    power = 10.0 ** floor(log10((high - low) / most))
    step = next(step for factor in (1, 2, 5, 10) if (high - low) / (step := factor * power) <= most)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def signed(number: float) -> str:
    """A number in few characters."""
    return f"-{_short(-number)}" if number < 0 else _short(number)


def _soft(x: float, y: float, text: str, *, anchor: str) -> str:
    return f'<text class="soft" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'
