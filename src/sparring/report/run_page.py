"""A training run as one page: summary, curves of its metrics, win rates with intervals, calibration, accuracy by turn.

It is made from the run's metrics.jsonl and config.yaml and needs no network. Any run will do, even one that is still
training or was cut short.
"""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

from sparring.core import InputError
from sparring.core.score import wilson_interval
from sparring.core.settings import read_settings
from sparring.core.text import printable
from sparring.report.page import page
from sparring.report.plots import Curve, curves, shares, signed
from sparring.report.run_summary import WIN_RATE, Line, mapping_in, ratings_table, run_summary, why_unrated

_LONGEST_LINE = 1 << 20
_SHARES = {"top1": "likeliest", "top3": "three likeliest", "frequent_top1": "most frequent of the game"}
_PART_OF_A_PAGE = {"loss": "Learning", "play": "Play", "time": "Where the time goes"}
_LEARNING = {
    "policy_loss": ("Policy loss", ""),
    "value_loss": ("Value loss", ""),
    "entropy": ("Entropy", "the lower, the surer the policy is"),
    "approx_kl": ("KL", "how far an update moved the policy"),
    "clip_fraction": ("Clipped", "share of the decisions at which an update was held back"),
    "explained_variance": ("Explained variance", "1: the value knows how it ends"),
    "calibration_error": ("Calibration error", "of the value"),
    "value_bias": ("Value bias", "above 0: too hopeful"),
    "grad_norm": ("Gradient norm", "before clipping"),
}
"""Metrics of `loss/` that come first, with what they are called and what they tell."""
_BY = {
    "turn": "Likeliest by decision of the match, from this one on",
    "rating": "Likeliest by rating, from this one on",
    "format": "Likeliest by format",
}


def run_page(run: Path) -> str:
    """The page of the run in folder `run`; raises `InputError` if there is none."""
    lines = read_metrics(run)
    config = read_settings(run / "config.yaml")
    sections = _sections(lines, config)
    body = [run_summary(run, lines, config)]
    body += [f'<h2>{title}</h2>\n<div class="plots even">{"".join(plots)}</div>' for title, plots in sections if plots]
    return page(f"Run {printable(run.resolve().name, 100)}", printable(str(run), 200), "\n".join(body), style="plots")


def read_metrics(run: Path) -> list[dict[str, float]]:
    """The lines of a run's metrics.jsonl that hold numbers, without one that a crash cut short."""
    path = run / "metrics.jsonl"
    if not path.is_file():
        raise InputError(f"{run}: no metrics.jsonl here; a run folder has one after its first update")
    found = []
    with path.open("rb") as file:
        for text in iter(lambda: file.readline(_LONGEST_LINE), b""):
            with suppress(ValueError, RecursionError):
                line = json.loads(text)
                if isinstance(line, dict) and _number(line.get("update")) and _number(line.get("decisions")):
                    found.append({str(name): float(value) for name, value in line.items() if _number(value)})
    if not found:
        raise InputError(f"{path}: no line of metrics in it yet")
    return found


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and isfinite(value)


def _sections(lines: Sequence[Line], config: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """(title, plots)."""
    yield "Strength", list(_strength(lines, config))
    for group, title in (("validation", "Held-out matches"), ("validation_later", "Held-out matches, by date")):
        yield title, list(_validation(lines, group))
    for group, title in _PART_OF_A_PAGE.items():
        names = sorted({name for line in lines for name in line if name.startswith(f"{group}/")})
        if group == "time":
            shown = curves([_curve(lines, name) for name in names], low=0.0, percent=True)
            yield title, [_plot("Share of the time", "", shown)] if names else []
        else:
            yield (
                title,
                [_plot(*_called(name, lines), curves([_curve(lines, name)], named=False)) for name in _ordered(names)],
            )


def _ordered(names: Sequence[str]) -> list[str]:
    """What is looked at most comes first."""
    first = [f"loss/{name}" for name in _LEARNING]
    return [name for name in first if name in names] + [name for name in names if name not in first]


def _called(name: str, lines: Sequence[Line]) -> tuple[str, str]:
    """(title, what to know) of a metric, with its last value."""
    short = name.partition("/")[2]
    title, about = _LEARNING.get(short, (short.replace("_", " ").capitalize(), ""))
    last = next(line[name] for line in reversed(lines) if name in line)
    return title, "; ".join(filter(None, (f"now {signed(last)}", about)))


def _strength(lines: Sequence[Line], config: Mapping[str, Any]) -> Iterator[str]:
    given = mapping_in(config, "evaluation").get("matches")
    matches = given if isinstance(given, int) and given > 0 else None
    names = sorted({name for line in lines for name in line if name.startswith(WIN_RATE)})
    solved = any("rating/nash_conv" in line for line in lines)
    if names:
        found = [_curve(lines, name, label=name.removeprefix(WIN_RATE)) for name in names]
        if matches is not None:
            found = [
                Curve(one.name, one.points, [wilson_interval(min(1.0, max(0.0, y)), matches) for _, y in one.points])
                for one in found
            ]
        about = "" if matches is None else f"95% intervals of {matches:,} matches"
        yield _plot("Win rate", about, curves(found, low=0.0, high=1.0, percent=True))
        yield _plot("Last ratings", "", ratings_table(lines, matches))
    elif not solved:
        yield f"<p>{html.escape(why_unrated(config))}</p>"
    if solved:
        yield _plot("NashConv", "0 at an equilibrium", curves([_curve(lines, "rating/nash_conv")], low=0.0))


def _validation(lines: Sequence[Line], group: str) -> Iterator[str]:
    validated = [line for line in lines if f"{group}/log_loss" in line]
    if not validated:
        return
    yield _plot("Log loss", "of what was chosen", curves([_curve(validated, f"{group}/log_loss")]))
    told = [_curve(validated, f"{group}/{name}", label=label) for name, label in _SHARES.items()]
    yield _plot("Predicted", "share of the choices that were among", curves(told, low=0.0, high=1.0, percent=True))
    last = validated[-1]
    kinds = [kind for kind, _ in _parts(last, f"{group}/kind/") if kind != "forced"]
    by_kind = [_curve(validated, f"{group}/kind/{kind}/top1", label=kind) for kind in kinds]
    if by_kind:
        yield _plot("Likeliest by kind of choice", "", curves(by_kind, low=0.0, high=1.0, percent=True))
    for part, title in _BY.items():
        found = list(_parts(last, f"{group}/{part}/"))
        if found:
            yield _plot(title, "", shares(found))
    for what, low in (("policy", 0.0), ("value", -1.0)):
        bins = [name.split("/")[2] for name in last if name.startswith(f"{group}/{what}_bin/")]
        at = f"{group}/{what}_bin"
        points = [
            (last.get(f"{at}/{bin}/predicted", 0.0), last.get(f"{at}/{bin}/observed", 0.0)) for bin in sorted(set(bins))
        ]
        if points:
            about = f"error {last.get(f'{group}/{what}_calibration_error', 0.0):.3f}; on the line it is right"
            line = [Curve("perfectly calibrated", [(low, low), (1.0, 1.0)]), Curve("observed", points)]
            yield _plot(f"Calibration of the {what}", about, curves(line, low=low, high=1.0, across="predicted"))


def _parts(line: Line, prefix: str) -> Iterator[tuple[str, float]]:
    for name, value in line.items():
        if name.startswith(prefix) and name.endswith("/top1"):
            yield name[len(prefix) : -len("/top1")], value


def _curve(lines: Sequence[Line], name: str, label: str = "") -> Curve:
    return Curve(label or name.partition("/")[2], [(line["decisions"], line[name]) for line in lines if name in line])


def _plot(title: str, about: str, plot: str) -> str:
    heading = f"<h3>{html.escape(printable(title, 60))} <small>{html.escape(about)}</small></h3>"
    return f'<div class="plot">{heading}{plot}</div>'
