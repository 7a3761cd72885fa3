"""From the rounds of each part to its figures: what `--compare` compares, and what the tables and programs are told.

Each function adds to `figures` and returns other fields of a `Diagnosis`.
"""

from collections.abc import Iterable
from statistics import median
from typing import Any

import numpy as np

from sparring.bench.diagnose.parts import Asking, Played, Stored, Trained
from sparring.bench.diagnose.result import BatchFigure, Figure
from sparring.core.stages import Spent

_NEARLY_BEST = 0.95


def _figure(seconds: list[float], rounds: Iterable[Spent], *, waits: bool = False) -> Figure:
    """`seconds` by the clock that suits what was measured, with the `rounds`' references by the same clock."""
    speeds = [speed.wall if waits else speed.cpu for speed in rounds]
    return Figure(clock="wall" if waits else "cpu", seconds=seconds, reference=speeds)


def arena_figures(rounds: list[Played], figures: dict[str, Figure], *, waits: str) -> dict[str, Any]:
    """Of the arena alone; `waits` is the stage in which it waits for helpers."""
    rounds = [one for one in rounds if one.decisions]
    speeds = [one.reference for one in rounds]
    stages = sorted({stage for one in rounds for stage in one.stages})
    for stage in stages:
        spent = [(one.stages if stage == waits else one.cpu).get(stage, 0.0) / one.decisions for one in rounds]
        figures[f"arena {stage}"] = _figure(spent, speeds, waits=stage == waits)
    helped = waits in stages
    whole = [(one.seconds if helped else sum(one.cpu.values())) / one.decisions for one in rounds]
    figures["arena"] = _figure(whole, speeds, waits=helped)
    ticks = [one.seconds / one.ticks for one in rounds if one.ticks]
    return {
        "decisions_per_second": 1 / median(one.seconds / one.decisions for one in rounds),
        "ticks_per_second": 1 / median(ticks) if ticks else None,
        "microseconds": {
            stage: 1e6 * median(one.stages.get(stage, 0.0) / one.decisions for one in rounds) for stage in stages
        },
    }


def inference_figures(rounds: list[dict[int, Asking]], figures: dict[str, Figure], *, on_gpu: bool) -> dict[str, Any]:
    """Of forward passes, by batch."""
    found = []
    for batch in rounds[0]:
        asked = [one[batch] for one in rounds]
        spent = [median(one.wall if on_gpu else one.cpu for one in part.took) / batch for part in asked]
        figures[f"forward, {batch} rows"] = _figure(spent, [part.reference for part in asked], waits=on_gpu)
        took = np.array([one.wall for part in asked for one in part.took])
        p50, p95, p99 = (1000 * np.percentile(took, (50, 95, 99))).tolist()
        found.append(BatchFigure(batch=batch, p50_ms=p50, p95_ms=p95, p99_ms=p99, rows_per_second=1000 * batch / p50))
    enough = _NEARLY_BEST * max(one.rows_per_second for one in found)
    return {"inference": found, "best_batch": next(one.batch for one in found if one.rows_per_second >= enough)}


def store_figures(rounds: list[Stored], figures: dict[str, Figure], *, rows: int) -> dict[str, Any]:
    """Of shards of so many `rows`."""
    speeds = [one.reference for one in rounds]
    figures["store write"] = _figure([one.write.cpu / rows for one in rounds], speeds)
    figures["store read"] = _figure([one.read.cpu / rows for one in rounds], speeds)
    return {
        "store_write_rows_per_second": rows / median(one.write.wall for one in rounds),
        "store_read_rows_per_second": rows / median(one.read.wall for one in rounds),
    }


def pipeline_figures(
    rounds: list[Trained], figures: dict[str, Figure], *, waits: str, overlap: bool, on_gpu: bool
) -> dict[str, Any]:
    """Of whole updates. Collecting is counted by decision played, learning by decision learned from."""
    speeds = [one.reference for one in rounds]
    figures["end to end"] = _figure([one.seconds / one.rows for one in rounds], speeds, waits=True)
    acting_stages = {stage: None for one in rounds for stage in one.acting}
    for stage in (*acting_stages, *rounds[0].learning):
        by_wall = on_gpu or stage == waits
        spent = [((one.acting | one.learning) if by_wall else one.cpu).get(stage, 0.0) for one in rounds]
        counts = [max(1, one.decisions) if stage in acting_stages else one.rows for one in rounds]
        figures[stage] = _figure([a / b for a, b in zip(spent, counts, strict=True)], speeds, waits=by_wall)
    wall = sum(one.seconds for one in rounds)
    acting = {stage: sum(one.acting.get(stage, 0.0) for one in rounds) / wall for stage in acting_stages}
    learning = {stage: sum(one.learning.get(stage, 0.0) for one in rounds) / wall for stage in rounds[0].learning}
    if overlap:
        waiting = sum(one.waiting for one in rounds) / wall
        shares = {
            "collecting": acting | {"idle": max(0.0, 1 - sum(acting.values()))},
            "learning": learning | {"waiting for episodes": waiting},
        }
    else:
        shares = {"all": acting | learning}
    learned = sum(one.learning["learner"] for one in rounds)
    rows = sum(one.rows for one in rounds)
    return {
        "learner_rows_per_second": rows / wall,
        "learning_rows_per_second": rows / learned,
        "shares": shares,
        "accounted": {name: sum(part.values()) for name, part in shares.items()},
    }
