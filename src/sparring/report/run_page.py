"""A training run as one page: how well it plays and what to do next, win rates with intervals, curves of its metrics.

It is made from the run's metrics.jsonl and config.yaml and needs no network. Any run will do, even one that is still
training or was cut short.
"""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from sparring.core import InputError
from sparring.core.score import wilson_interval
from sparring.core.settings import read_settings
from sparring.core.text import printable
from sparring.report.page import boxed, page
from sparring.report.plots import Curve, curves, shares, signed
from sparring.report.run_summary import WIN_RATE, Line, rating_matches, ratings_table, run_summary, why_unrated

_LONGEST_LINE = 1 << 20
_LONGEST_NAME = 60
_SHARES = {"top1": "likeliest", "top3": "three likeliest", "frequent_top1": "most frequent of the game"}
_TITLES = {"loss": "Learning", "play": "Play", "time": "Where the time goes", "gpu": "GPU"}
"""Of the groups of metrics that come first, in this order."""
_ELSEWHERE = {"rating", "validation", "validation_later"}
"""Groups that are not simply drawn."""
_MOST_LINES = 6
"""In one plot."""
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
    body = [run_summary(run, lines, config)]
    for title, plots, about in _sections(lines, config):
        if plots or about:
            body.append(
                f'<section><h2>{html.escape(title)}</h2>\n<div class="even">{"".join(plots)}</div>{about}</section>'
            )
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


def _sections(lines: Sequence[Line], config: Mapping[str, Any]) -> Iterator[tuple[str, list[str], str]]:
    """(title, plots, what is said below them)."""
    reach = (0.0, max(line["decisions"] for line in lines))
    yield "Strength", list(_strength(lines, config, reach)), ""
    for group, title in (("validation", "Held-out matches"), ("validation_later", "Held-out matches, by date")):
        yield title, list(_validation(lines, group, reach)), ""
    names = {name: None for line in lines for name in line if "/" in name}
    groups = {name.partition("/")[0] for name in names} - _ELSEWHERE
    for group in [*(one for one in _TITLES if one in groups), *sorted(groups - set(_TITLES))]:
        found = {name: _curve(lines, name) for name in sorted(names) if name.startswith(f"{group}/")}
        title = printable(_TITLES.get(group, _spoken(group)), _LONGEST_NAME)
        if group == "time":
            shown = curves(list(found.values()), low=0.0, reach=reach, percent=True)
            yield title, [boxed("Share of the time", "", shown)], ""
        else:
            constant = {name: one for name, one in found.items() if len(one.points) > 1 and _is_flat(one)}
            found = {name: one for name, one in found.items() if name not in constant}
            yield title, list(_plots(found, reach)), _constant(constant)


def _is_flat(curve: Curve) -> bool:
    return all(y == curve.points[0][1] for _, y in curve.points)


def _constant(found: Mapping[str, Curve]) -> str:
    """One line for all metrics that never changed."""
    told = (f"{name.partition('/')[2]} = {signed(one.points[0][1])}" for name, one in found.items())
    text = ", ".join(printable(one, _LONGEST_NAME) for one in told)
    return f'<p class="constant">Constant: {html.escape(text)}</p>' if text else ""


def _plots(found: Mapping[str, Curve], reach: tuple[float, float]) -> Iterator[str]:
    """A plot for each metric, then one for each family, such as `play/reward/touch` and `play/reward/goal`."""
    families: dict[str, list[str]] = {}
    for name in _ordered(list(found)):
        parts = name.split("/", 2)
        families.setdefault("/".join(parts[:2]) + "/" * (len(parts) > 2), []).append(name)
    for family, names in sorted(families.items(), key=lambda item: len(item[1]) > 1):
        if len(names) == 1:
            one = found[names[0]]
            yield boxed(*_called(names[0], one), curves([one], reach=reach, named=False))
            continue
        title = printable(_spoken(family.strip("/").partition("/")[2]), _LONGEST_NAME)
        for at in range(0, len(names), _MOST_LINES):
            some = [
                replace(found[name], name=printable(name.removeprefix(family), _LONGEST_NAME))
                for name in names[at : at + _MOST_LINES]
            ]
            part = f"{at + 1} to {at + len(some)} of {len(names)}" if len(names) > _MOST_LINES else ""
            yield boxed(title, part, curves(some, reach=reach))


def _ordered(names: Sequence[str]) -> list[str]:
    """What is looked at most comes first."""
    first = [f"loss/{name}" for name in _LEARNING]
    return [name for name in first if name in names] + [name for name in names if name not in first]


def _called(name: str, curve: Curve) -> tuple[str, str]:
    """(title, what to know) of a metric, with its last value."""
    short = name.partition("/")[2]
    title, about = _LEARNING.get(short, (_spoken(short), ""))
    return printable(title, _LONGEST_NAME), "; ".join(filter(None, (f"now {signed(curve.points[-1][1])}", about)))


def _spoken(name: str) -> str:
    text = name.replace("_", " ").replace("/", ": ")
    return text[:1].upper() + text[1:]


def _strength(lines: Sequence[Line], config: Mapping[str, Any], reach: tuple[float, float]) -> Iterator[str]:
    matches = rating_matches(config)
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
        yield boxed("Win rate", about, curves(found, low=0.0, high=1.0, reach=reach, percent=True))
        yield boxed("Last ratings", "", f'<div class="wide">{ratings_table(lines, matches)}</div>')
    elif not solved:
        yield boxed("Win rate", "", f"<p>{html.escape(why_unrated(config))}</p>")
    if solved:
        yield boxed(
            "NashConv",
            "0 at an equilibrium",
            curves([_curve(lines, "rating/nash_conv")], low=0.0, reach=reach, named=False),
        )


def _validation(lines: Sequence[Line], group: str, reach: tuple[float, float]) -> Iterator[str]:
    validated = [line for line in lines if f"{group}/log_loss" in line]
    if not validated:
        return
    yield boxed(
        "Log loss", "of what was chosen", curves([_curve(validated, f"{group}/log_loss")], reach=reach, named=False)
    )
    told = [_curve(validated, f"{group}/{name}", label=label) for name, label in _SHARES.items()]
    yield boxed(
        "Predicted", "share of the choices that were among", curves(told, low=0.0, high=1.0, reach=reach, percent=True)
    )
    last = validated[-1]
    kinds = [kind for kind, _ in _parts(last, f"{group}/kind/") if kind != "forced"]
    by_kind = [_curve(validated, f"{group}/kind/{kind}/top1", label=kind) for kind in kinds]
    if by_kind:
        yield boxed("Likeliest by kind of choice", "", curves(by_kind, low=0.0, high=1.0, reach=reach, percent=True))
    for part, title in _BY.items():
        found = list(_parts(last, f"{group}/{part}/"))
        if found:
            yield boxed(title, "", shares(found))
    for what, low in (("policy", 0.0), ("value", -1.0)):
        bins = [name.split("/")[2] for name in last if name.startswith(f"{group}/{what}_bin/")]
        at = f"{group}/{what}_bin"
        points = [
            (last.get(f"{at}/{bin}/predicted", 0.0), last.get(f"{at}/{bin}/observed", 0.0)) for bin in sorted(set(bins))
        ]
        if points:
            about = f"error {last.get(f'{group}/{what}_calibration_error', 0.0):.3f}; on the line it is right"
            line = [Curve("perfectly calibrated", [(low, low), (1.0, 1.0)]), Curve("observed", points)]
            yield boxed(f"Calibration of the {what}", about, curves(line, low=low, high=1.0, across="predicted"))


def _parts(line: Line, prefix: str) -> Iterator[tuple[str, float]]:
    for name, value in line.items():
        if name.startswith(prefix) and name.endswith("/top1"):
            yield name[len(prefix) : -len("/top1")], value


def _curve(lines: Sequence[Line], name: str, label: str = "") -> Curve:
    shown = printable(label or name.partition("/")[2], _LONGEST_NAME)
    return Curve(shown, [(line["decisions"], line[name]) for line in lines if name in line])
