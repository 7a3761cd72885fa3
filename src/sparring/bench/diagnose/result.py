"""What `sparring diagnose` found, as plain data: what `--json` prints and `--save` keeps."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec

from sparring.bench.diagnose.model import Model

FORMAT = 2


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where and with what something was measured."""

    processor: str
    cores: int
    versions: dict[str, str]


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that was measured in every round."""

    clock: Literal["cpu", "wall"]
    """CPU time of the thread at work; wall time of what waits: for helpers, for a GPU, or for all stages."""
    seconds: list[float]
    """A row, round by round."""
    reference: list[float]
    """Seconds of the same work beside each round, by the same clock: how fast the machine was."""


class BatchFigure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Forward passes of one size."""

    batch: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    rows_per_second: float


class Gpu(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A GPU during the updates."""

    name: str
    use: float
    """Share of the time that it calculated, at the moments it was asked."""
    memory_mib: float
    total_mib: float


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that was measured."""

    format: int = FORMAT
    game: str
    preset: str
    settings: dict[str, bool | int | float | str]
    machine: Machine
    threads: int
    """Of torch."""
    rounds: int
    figures: dict[str, Figure]
    """By name: what `--compare` compares."""
    model: Model | None = None
    """Of the pipeline, if it was measured."""
    learner_rows_per_second: float | None = None
    """The headline: decisions learned from, end to end."""
    shares: dict[str, dict[str, float]] = {}
    """Of wall time, by thread and stage."""
    accounted: dict[str, float] = {}
    """What the stages of each thread add up to, of wall time."""
    mean_batch: float | None = None
    decisions_per_second: float | None = None
    """Of the arena alone, answered at random."""
    ticks_per_second: float | None = None
    microseconds: dict[str, float] = {}
    """Of the arena alone: a decision, by stage."""
    inference: list[BatchFigure] = []
    best_batch: int | None = None
    """The smallest batch that gives 95% of the most rows a second."""
    learning_rows_per_second: float | None = None
    """While the learner learns."""
    store_write_rows_per_second: float | None = None
    store_read_rows_per_second: float | None = None
    memory_mib: float | None = None
    """The most that this process has held."""
    free_memory_mib: float | None = None
    decisions_per_match: float | None = None
    """In self-play, of all seats together, as far as the run came."""
    cores_used: float | None = None
    """CPU seconds a second of this process and those that it started, during the updates."""
    tree_mib: float | None = None
    """The most that they have held, all together."""
    gpus: list[Gpu] = []
    gpu_note: str = ""
    bottleneck: str = ""
    whatif: dict[str, float] = {}
    """The speeds asked about."""
    whatif_rows_per_second: float | None = None


def this_machine() -> Machine:
    """Where this process runs."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return Machine(
        processor=names[0] if names else platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        versions={"python": platform.python_version()}
        | {name: version(name) for name in ("sparring", "torch", "numpy")},
    )
