"""Studies of rewards: what components paid over a run, and what happens without each of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparring.core import InputError

_REWARD = "play/reward/"


def reward_series(run: Path) -> dict[str, list[float]]:
    """Component to its pay a row, update by update; raises `InputError` if the run logged none."""
    updates = _updates(run)
    names = [key.removeprefix(_REWARD) for key in (updates[-1] if updates else {}) if key.startswith(_REWARD)]
    if not names:
        raise InputError(f"{run}: no rewards by component in metrics.jsonl; is it a Rocket League run?")
    return {name: [float(update.get(f"{_REWARD}{name}", 0.0)) for update in updates] for name in names}


def first_and_last(series: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    """Component to its mean pay over the first and over the last tenth of the updates."""
    tenth = {name: max(1, len(values) // 10) for name, values in series.items()}
    return {
        name: (float(np.mean(values[: tenth[name]])), float(np.mean(values[-tenth[name] :])))
        for name, values in series.items()
    }


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


def compare(folder: Path, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Touches, speed and `scores` of an ablation's runs in `folder`: all components first, then by touches."""
    found = {}
    for name, win_rates in scores.items():
        last = _updates(folder / name.replace(" ", "-"))[-1]
        played = {"touches a minute": last["play/touches_per_minute"], "speed": last["play/speed"]}
        found[name] = {**played, **win_rates}
    return dict(sorted(found.items(), key=lambda run: (run[0] != "all", *run[1].values())))


def _updates(run: Path) -> list[dict[str, float]]:
    """The metrics of every update of a run, without the ratings at its end."""
    path = run / "metrics.jsonl"
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return [line for line in lines if any(name.startswith("play/") for name in line)]
