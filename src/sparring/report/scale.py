"""How self-play scales, as `sparring bench scale` measured it: a table, a plot, and a page that needs no network."""

import html
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from math import log2
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sparring.core.extras import MissingPackage, optional
from sparring.core.files import write_file
from sparring.core.text import printable
from sparring.report.page import boxed, page
from sparring.report.plots import Curve, curves
from sparring.report.progress import duration
from sparring.report.tables import plain_table

_COLUMNS = ("workers", "matches", "per hour", "done", "CPU", "MB", "batch", "linear")
_LEGEND = (
    "Matches an hour are decisions a second over {length:.1f} decisions a match. CPU is in cores, of all processes: "
    "the mean, and the most in half a second. MB is the most memory that all processes took together. Linear is the "
    "speed over what it would be if it grew with the number of engines."
)


def scale_table(result: Mapping[str, Any]) -> Group:
    """One line per cell, the fastest first, at most 80 columns wide, with the recommendation below."""
    first, rows = _rows(result)
    table = plain_table(*first, *_COLUMNS, right=_COLUMNS)
    best = result["recommended"]
    for cell, row in zip(result["cells"], rows, strict=True):
        table.add_row(*row, style="bold" if best and cell["cell"] == best["cell"] else "")
    parts: list[RenderableType] = [Text(printable(_title(result)), style="bold"), table]
    parts += [
        Text(printable(f"failed: {failed['cell']}: {failed['error']}"), style="red") for failed in result["failed"]
    ]
    if best:
        parts.append(Text(f"best here: {' '.join(best['overrides'])}", style="bold"))
    return Group(*parts)


def _title(result: Mapping[str, Any]) -> str:
    over = "".join(f" {text}" for text in result["overrides"])
    stopped = "" if result["finished"] else ", not finished"
    return f"{result['preset']}{over} on {result['machine']}, {duration(result['seconds'])}{stopped}"


def _rows(result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The names of columns that not every game has, and the rows of all columns."""
    engines = [_engines(result, one["cell"]) for one in result["cells"]]
    rows = []
    for one, name in zip(result["cells"], engines, strict=True):
        cell = one["cell"]
        rows.append(
            [
                *([name] if any(engines) else []),
                str(cell["workers"]),
                str(cell["matches"]),
                f"{one['matches_per_hour']:,.0f}",
                "-" if one["completion_rate"] is None else f"{one['completion_rate']:.0%}",
                f"{one['cpu']:.1f}/{one['cpu_peak']:.1f}",
                f"{one['memory'] / 2**20:,.0f}",
                f"{one['batch']:.0f}",
                "-" if one["linear"] is None else f"{one['linear']:.0%}",
            ]
        )
    return ["engines"] if any(engines) else [], rows


def _engines(result: Mapping[str, Any], cell: Mapping[str, Any]) -> str:
    """What steps the cell's matches: `simulators 2` or `servers 1`; empty if the game has neither."""
    if cell["servers"]:
        return f"servers {cell['servers']}"
    return f"{result['spread']} {cell['simulators']}" if result["spread"] else ""


def scale_plot(result: Mapping[str, Any]) -> bytes:
    """Matches per hour over matches in play, one line per way to spread them, as a PNG."""
    with optional("the picture", extra="bench"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    drawn = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(drawn)
    axes = drawn.add_subplot()
    for name, points in _lines(result):
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=name)
    best = result["recommended"]
    if best:
        place = (best["cell"]["matches"], best["matches_per_hour"])
        axes.plot(
            *place, marker="o", markersize=13, fillstyle="none", color="black", linestyle="none", label="best here"
        )
    axes.set_xscale("log", base=2)
    ticks = sorted({one["cell"]["matches"] for one in result["cells"]})
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("matches in play")
    axes.set_ylabel("matches an hour")
    axes.set_title(printable(_title(result)), fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    content = BytesIO()
    drawn.savefig(content, format="png", dpi=120)
    return content.getvalue()


def _lines(result: Mapping[str, Any]) -> list[tuple[str, Sequence[tuple[int, float]]]]:
    lines: dict[str, list[tuple[int, float]]] = {}
    for one in result["cells"]:
        cell = one["cell"]
        engines = _engines(result, cell)
        name = ", ".join(filter(None, (engines, "" if cell["servers"] else f"workers {cell['workers']}")))
        lines.setdefault(name, []).append((cell["matches"], one["matches_per_hour"]))
    return [(name, sorted(points)) for name, points in sorted(lines.items())]


def scale_page(result: Mapping[str, Any]) -> str:
    """The recommendation, the plot and the table as one HTML page."""
    first, rows = _rows(result)
    best = result["recommended"]
    chosen = [bool(best) and cell["cell"] == best["cell"] for cell in result["cells"]]
    lines = [
        f"<tr{' class=best' if bold else ''}>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>"
        for row, bold in zip(rows, chosen, strict=True)
    ]
    heading = "".join(f"<th>{html.escape(name)}</th>" for name in (*first, *_COLUMNS))
    body = [
        f'<div class="box">{_recommendation(result)}</div>',
        boxed("Matches an hour", "over matches in play", _drawn(result)),
        f'<div class="box wide"><table><tr>{heading}</tr>{"".join(lines)}</table></div>',
        f'<p class="about">{_LEGEND.format(length=result["decisions_per_match"])}</p>',
    ]
    return page("How self-play scales", _title(result), "\n".join(body), style="scale")


def _recommendation(result: Mapping[str, Any]) -> str:
    best = result["recommended"]
    if not best:
        return "<p>Nothing was measured yet.</p>"
    command = html.escape(f"sparring train {result['preset']} {' '.join(best['overrides'])}")
    return f"<p>Best here, with <b>{best['matches_per_hour']:,.0f} matches an hour</b>: <code>{command}</code></p>"


def _drawn(result: Mapping[str, Any]) -> str:
    """The plot of the page: from one doubling of the matches to the next it is equally wide."""
    lines = [Curve(name, [(log2(x), y) for x, y in points]) for name, points in _lines(result)]
    marks = [(log2(matches), f"{matches:,}") for matches in sorted({one["cell"]["matches"] for one in result["cells"]})]
    return curves(lines, low=0.0, across="matches", marks=marks)


def save_plots(folder: Path, result: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Writes scale.html and scale.png; without matplotlib only the page, and `say` tells how to install it."""
    if not result["cells"]:
        return
    write_file(folder / "scale.html", scale_page(result).encode())
    say(f"{folder}/scale.html has the same as a page")
    try:
        write_file(folder / "scale.png", scale_plot(result))
    except MissingPackage as error:
        say(str(error))
