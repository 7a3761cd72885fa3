"""Studies of rewards: what components paid over a run, and what happens without each of them."""

import json
from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from sparring.core import InputError
from sparring.core.files import write_file

_REWARD = "play/reward/"


def inspect_run(run: Path, out: Path) -> tuple[Table, Path]:
    """A table of what each component paid a row at the run's start and end, and a plot of it all at `out`."""
    series = reward_series(run)
    table = Table(title=f"{run}: reward a row, by component")
    for heading in ("component", "first", "last", "share of the last"):
        table.add_column(heading, justify="left" if heading == "component" else "right")
    ends = {
        name: (_mean(values[: max(1, len(values) // 10)]), _mean(values[-max(1, len(values) // 10) :]))
        for name, values in series.items()
    }
    total = sum(abs(last) for _, last in ends.values()) or 1.0
    for name, (first, last) in sorted(ends.items(), key=lambda item: -abs(item[1][1])):
        table.add_row(name, f"{first:+.5f}", f"{last:+.5f}", f"{abs(last) / total:.0%}")
    write_file(out, plot(series, title=f"{run.name}: reward a row, by component").encode())
    return table, out


def reward_series(run: Path) -> dict[str, list[float]]:
    """Component to its pay a row, update by update; raises `InputError` if the run logged none."""
    updates = _updates(run)
    names = [key.removeprefix(_REWARD) for key in (updates[-1] if updates else {}) if key.startswith(_REWARD)]
    if not names:
        raise InputError(f"{run}: no rewards by component in metrics.jsonl; is it a Rocket League run?")
    return {name: [float(update.get(f"{_REWARD}{name}", 0.0)) for update in updates] for name in names}


def plot(series: dict[str, list[float]], *, title: str) -> str:
    """An SVG of one line a component."""
    width, height, left, top = 900, 420, 70, 40
    values = np.array([_smooth(line) for line in series.values()])
    low, high = min(0.0, float(values.min())), max(1e-9, float(values.max()))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 200} {height + 80}" font-family="sans-serif">'
    ]
    parts.append(
        f'<rect width="100%" height="100%" fill="white"/><text x="{left}" y="24" font-size="16">{title}</text>'
    )
    for share in (0.0, 0.5, 1.0):
        y = top + height * (1 - share)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="4" y="{y + 4}" font-size="11">{low + (high - low) * share:.4f}</text>')
    for number, (name, line) in enumerate(zip(series, values, strict=True)):
        colour = _colour(number, len(series))
        step = width / max(1, len(line) - 1)
        points = " ".join(
            f"{left + step * x:.1f},{top + height * (1 - (y - low) / (high - low)):.1f}" for x, y in enumerate(line)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = top + 18 * number + 10
        parts.append(f'<text x="{left + width + 12}" y="{y}" font-size="13" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{left}" y="{top + height + 24}" font-size="12">updates 1 to {values.shape[1]}</text></svg>')
    return "\n".join(parts)


def variants(game: str, settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """The runs of an ablation, each with the overrides that make it: all components, then without each."""
    components = settings.get("rewards", {}).get("components")
    if game != "rocket" or not components:
        raise InputError("an ablation needs a rocket preset that lists settings.rewards.components")
    left_out = {
        f"without {name}": [f"settings.rewards.components={json.dumps({**components, name: 0.0})}"]
        for name in components
    }
    return {"all": [], **left_out}


def compare(folder: Path, scores: Mapping[str, Mapping[str, float]]) -> Table:
    """A table of an ablation's runs in `folder`: touches, speed and `scores` of each, fewest touches first."""
    table = Table(title="Rewards, one component left out at a time")
    rivals = list(scores["all"])
    for heading in ("run", "touches a minute", "speed", *rivals):
        table.add_column(heading, justify="left" if heading == "run" else "right")
    rows: list[tuple[str, list[float]]] = []
    for name, win_rates in scores.items():
        last = _updates(folder / name.replace(" ", "-"))[-1]
        played = [last["play/touches_per_minute"], last["play/speed"]]
        rows.append((name, played + [win_rates[rival] for rival in rivals]))
    for name, values in sorted(rows, key=lambda row: (row[0] != "all", row[1])):
        table.add_row(name, *(f"{value:.2f}" for value in values))
    return table


def _updates(run: Path) -> list[dict[str, float]]:
    """The metrics of every update of a run, without the ratings at its end."""
    path = run / "metrics.jsonl"
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return [line for line in lines if any(name.startswith("play/") for name in line)]


def _colour(number: int, count: int) -> str:
    """The colour of one of `count` lines, as `#rrggbb`: hues all around the circle, dark and bright in turn."""
    parts = hls_to_rgb(number / count, 0.32 if number % 2 else 0.5, 0.75)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _smooth(values: Sequence[float]) -> np.ndarray:
    window = max(1, len(values) // 40)
    padded = np.concatenate([np.repeat(values[:1], window - 1), values])
    return np.convolve(padded, np.ones(window) / window, mode="valid")
