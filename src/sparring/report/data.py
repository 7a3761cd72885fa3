"""What is in episode stores, as a table for the terminal and as a page with plots.

Both are made of the counts that `sparring data stats --json` prints.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparring.core.text import printable
from sparring.report.page import boxed, facts, page
from sparring.report.plots import columns, rows
from sparring.report.settings import in_a_line

_BAR = 30
_TOP = 10
_MOST_NUMBERS = 40
"""Actions without names that a page shows."""


def statistics_table(found: Mapping[str, Any]) -> Group:
    """The counts of each spec, at most 80 columns wide."""
    parts: list[RenderableType] = []
    for spec in found["specs"]:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(max_width=64)
        for label, text in _lines(spec):
            table.add_row(label, Text(text))
        parts += [*([""] if parts else []), Text(_title(spec), style="bold"), table]
    return Group(*parts)


def statistics_page(found: Mapping[str, Any]) -> str:
    """The counts of each spec as one HTML page that needs no network."""
    games = sorted({spec["game"] for spec in found["specs"]})
    sections = "\n".join(map(_section, found["specs"]))
    return page(f"Episodes of {', '.join(games)}", ", ".join(found["stores"]), sections, style="plots")


def _title(spec: Mapping[str, Any]) -> str:
    settings = dict(spec["settings"])
    name = settings.pop("format", None)
    return printable(f"{spec['game']} {name or in_a_line(settings)}", 200)


def _lines(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "matches", f"{spec['matches']:,}"
    truncated = f", {spec['truncated']:,} of them truncated" if spec["truncated"] else ""
    yield "episodes", f"{spec['episodes']:,} of {spec['players']:,} players{truncated}"
    yield "decisions", f"{spec['decisions']:,}"
    results = spec["results"]
    yield "results", _shares(results, sum(results.values()))
    yield "lengths", _summary(spec["lengths"])
    yield from (("", line) for line in _bars(spec["lengths"]["histogram"]))
    ratings = spec["ratings"]
    if ratings["known"]:
        yield "ratings", f"{_summary(ratings)}; {ratings['known'] / spec['episodes']:.1%} known"
        yield from (("", line) for line in _bars(ratings["histogram"]))
    dates = spec["dates"]
    if dates["known"]:
        yield "dates", f"{dates['first']} to {dates['last']}; {dates['known'] / spec['episodes']:.1%} known"
    actions = spec["actions"]
    of = "actions" if actions["by"] == "kind" else "actions, by number"
    yield of, _shares(dict(list(actions["counts"].items())[:_TOP]), sum(actions["counts"].values()))
    unknown = spec["unknown"]
    if unknown["decisions"]:
        yield "unknown", f"{unknown['share']:.1%} of the decisions: {_several(unknown)}"
    for what, counts in spec["top"].items():
        names = {printable(name, 60): count for name, count in list(counts.items())[:_TOP]}
        yield what, _shares(names, spec["episodes"])


def _shares(counts: Mapping[str, int], total: int) -> str:
    return ", ".join(f"{name} {count / max(1, total):.1%}" for name, count in counts.items())


def _several(unknown: Mapping[str, Any]) -> str:
    return f"one of {unknown['mean_candidates']:.1f} actions on average"


def _summary(counts: Mapping[str, Any]) -> str:
    return "{min:,} to {max:,}, median {median:,}, mean {mean:,.1f}".format(**counts)


def _bars(histogram: Sequence[Mapping[str, int]]) -> list[str]:
    most = max(bar["count"] for bar in histogram)
    width = max(len(f"{bar['from']:,}") for bar in histogram)
    return [
        f"{bar['from']:>{width},}+ {'█' * round(_BAR * bar['count'] / most) or '▏' * (bar['count'] > 0):<{_BAR}} "
        f"{bar['count']:,}"
        for bar in histogram
    ]


def _section(spec: Mapping[str, Any]) -> str:
    results, unknown = spec["results"], spec["unknown"]
    counts = {
        "matches": f"{spec['matches']:,}",
        "episodes": f"{spec['episodes']:,}",
        "decisions": f"{spec['decisions']:,}",
        "players": f"{spec['players']:,}",
        "won, drawn, lost": " / ".join(f"{count:,}" for count in results.values()),
        "decisions whose action is unknown": f"{unknown['share']:.1%}",
    }
    if spec["truncated"]:
        counts["truncated episodes"] = f"{spec['truncated']:,}"
    if unknown["decisions"]:
        counts["actions that such a one may have been, on average"] = f"{unknown['mean_candidates']:.1f}"
    plots = "".join(boxed(*one) for one in _plots(spec))
    body = f'<div class="facts">{facts(counts)}</div>\n<div class="plots">{plots}</div>'
    return f"<section><h2>{html.escape(_title(spec))}</h2>\n{body}</section>"


def _plots(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(title, what to know, plot)."""
    lengths, ratings, dates, actions = (spec[name] for name in ("lengths", "ratings", "dates", "actions"))
    yield "Decisions of an episode", _summary(lengths), _histogram(lengths["histogram"])
    if ratings["known"]:
        about = f"{_summary(ratings)}; known of {ratings['known'] / spec['episodes']:.1%}"
        yield "Episodes by rating", about, _histogram(ratings["histogram"])
    if dates["known"]:
        about = f"{dates['first']} to {dates['last']}; known of {dates['known'] / spec['episodes']:.1%}"
        yield "Episodes by month", about, columns(list(dates["months"].items()))
    counts, total = actions["counts"], sum(actions["counts"].values())
    if actions["by"] == "kind":
        yield "Actions by kind", "where they are known", rows(counts, of=total)
    else:
        most = dict(list(counts.items())[:_MOST_NUMBERS])
        yield "Actions by number", f"the {len(most)} most frequent of {len(counts)}", rows(most, of=total)
    for what, top in spec["top"].items():
        yield f"Top {what}", "share of the episodes", rows(top, of=spec["episodes"])


def _histogram(histogram: Sequence[Mapping[str, int]]) -> str:
    wide = any(bar["below"] - bar["from"] > 1 for bar in histogram)
    return columns([(f"{bar['from']:,}", bar["count"]) for bar in histogram], edges=wide)
