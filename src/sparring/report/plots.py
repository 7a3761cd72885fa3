"""Bars as SVG, for pages that need no network."""

import html
from collections.abc import Mapping, Sequence

_WIDTH = 500
_HEIGHT = 190
_LEFT, _TOP, _BOTTOM = 44, 14, 30
_ROW = 19
_NAME = 150
_LABELS = 8
_WIDEST = 60


def columns(bars: Sequence[tuple[str, int]], *, edges: bool = False) -> str:
    """Upright bars, one a (label, count); some of the labels are written, at the middle or the left edge of a bar."""
    most = max((count for _, count in bars), default=0) or 1
    width = min(_WIDEST, (_WIDTH - _LEFT) / max(1, len(bars)))
    floor = _HEIGHT - _BOTTOM
    every = -(-len(bars) // _LABELS)
    parts = []
    for count in filter(None, (most // 2, most)):
        y = floor - count / most * (floor - _TOP)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH}" y2="{y:.1f}"/>')
        parts.append(f'<text class="soft" x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{_short(count)}</text>')
    for number, (label, count) in enumerate(bars):
        x, height = _LEFT + number * width, count / most * (floor - _TOP)
        parts.append(
            f'<rect x="{x + 0.5:.1f}" y="{floor - height:.1f}" width="{max(1.0, width - 1):.1f}" height="{height:.1f}">'
            f"<title>{html.escape(label)}: {count:,}</title></rect>"
        )
        if number % every == 0:
            x += 0 if edges else width / 2
            parts.append(f'<text x="{x:.1f}" y="{floor + 15}" text-anchor="middle">{html.escape(label)}</text>')
    parts.append(f'<line x1="{_LEFT}" y1="{floor}" x2="{_WIDTH}" y2="{floor}"/>')
    return _svg(_HEIGHT, parts)


def rows(bars: Mapping[str, int], *, of: int) -> str:
    """Lying bars, one a name, with its count and its share of `of`."""
    most = max(bars.values(), default=0) or 1
    room = _WIDTH - _NAME - 110
    parts = []
    for number, (name, count) in enumerate(bars.items()):
        y = number * _ROW
        shown = name if len(name) <= 24 else f"{name[:23]}…"
        length = count / most * room
        parts.append(f'<text x="{_NAME - 6}" y="{y + 13}" text-anchor="end">{html.escape(shown)}</text>')
        parts.append(f'<rect x="{_NAME}" y="{y + 3}" width="{max(1.0, length):.1f}" height="{_ROW - 6}"/>')
        about = f"{count:,} ({count / of:.1%})" if of else f"{count:,}"
        parts.append(f'<text class="soft" x="{_NAME + length + 6:.1f}" y="{y + 13}">{about}</text>')
    return _svg(len(bars) * _ROW + 4, parts)


def _svg(height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img">{"".join(parts)}</svg>'


def _short(number: float) -> str:
    if number >= 1e6:
        return f"{number / 1e6:.3g}M"
    return f"{number / 1e3:.3g}k" if number >= 10_000 else f"{number:,.4g}"
