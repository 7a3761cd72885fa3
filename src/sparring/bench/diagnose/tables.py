"""A diagnosis as people read it, at 80 columns."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparring.bench.diagnose.baseline import Change
from sparring.bench.diagnose.result import Diagnosis
from sparring.core.text import printable
from sparring.report.tables import plain_table

_STYLES = {
    "slower": "bold red",
    "faster": "green",
    "the same": "dim",
    "not enough evidence": "yellow",
    "too few rounds": "yellow",
}


def diagnosis_table(found: Diagnosis) -> Group:
    """The headline, where the time goes, each test's figures, and the sentence."""
    parts: list[RenderableType] = []
    if found.learner_rows_per_second is not None:
        headline = f"{found.learner_rows_per_second:,.0f} learner rows a second end to end"
        parts.append(Text(f"{found.preset}: {headline}, over {found.rounds} rounds", style="bold"))
    if found.model is not None:
        parts.append(_stages_table(found))
    if found.decisions_per_second is not None:
        parts.append(_arena_table(found))
    if found.inference:
        parts.append(_inference_table(found))
    parts.append(_figures_table(found))
    if found.bottleneck:
        parts.append(Text(found.bottleneck, style="bold"))
    if found.whatif_rows_per_second is not None and found.learner_rows_per_second is not None:
        asked = ", ".join(f"{stage} {speed:g} times as fast" for stage, speed in found.whatif.items())
        ratio = found.whatif_rows_per_second / found.learner_rows_per_second
        parts.append(
            f"With {asked}: {found.whatif_rows_per_second:,.0f} learner rows a second, {ratio:.2f} times as many."
        )
    return Group(*parts)


def _stages_table(found: Diagnosis) -> Table:
    assert found.model is not None
    several = len(found.shares) > 1
    table = plain_table("stage", "us a row", "share of the time", right=("us a row", "share of the time"))
    wall = 1e6 * found.model.wall
    for thread, shares in found.shares.items():
        for stage, share in sorted(shares.items(), key=lambda item: -item[1]):
            if share >= 0.0005:
                table.add_row(f"{thread}: {stage}" if several else stage, f"{wall * share:,.1f}", f"{share:.1%}")
        total = found.accounted[thread]
        table.add_row(f"{thread}: total" if several else "total", f"{wall * total:,.1f}", f"{total:.1%}")
        table.add_section()
    busy = {stage: seconds / found.model.helper_count for stage, seconds in found.model.helpers.items()}
    for stage, seconds in busy.items():
        name = f"each of {found.model.helper_count} helpers: {stage}"
        table.add_row(name, f"{1e6 * seconds:,.1f}", f"{seconds / found.model.wall:.1%}")
    return table


def _arena_table(found: Diagnosis) -> Table:
    table = plain_table("arena alone, random moves", "us a decision", right=("us a decision",))
    for stage, value in sorted(found.microseconds.items(), key=lambda item: -item[1]):
        table.add_row(stage, f"{value:,.2f}")
    if not any(stage.partition("/")[0] == "mask" for stage in found.microseconds):
        table.add_row("mask", "in another stage")
    return table


def _inference_table(found: Diagnosis) -> Table:
    names = ("forward pass, rows", "p50 ms", "p95 ms", "p99 ms", "rows/s")
    table = plain_table(*names, right=names)
    for one in found.inference:
        best = " *" if one.batch == found.best_batch else ""
        figures = (f"{value:,.2f}" for value in (one.p50_ms, one.p95_ms, one.p99_ms))
        table.add_row(f"{best}{one.batch:>5}", *figures, f"{one.rows_per_second:,.0f}")
    return table


def _figures_table(found: Diagnosis) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    rows = {
        "arena alone": (found.decisions_per_second, "decisions/s"),
        "engine": (found.ticks_per_second, "ticks/s"),
        "learner, while it learns": (found.learning_rows_per_second, "rows/s"),
        "best batch (*)": (found.best_batch, "rows"),
        "batch of the run": (found.mean_batch, "rows"),
        "store, writing": (found.store_write_rows_per_second, "rows/s"),
        "store, reading": (found.store_read_rows_per_second, "rows/s"),
        "memory, at most": (found.memory_mib, "MiB"),
        "memory still free": (found.free_memory_mib, "MiB"),
    }
    for name, (value, unit) in rows.items():
        if value is not None:
            table.add_row(name, f"{value:,.0f} {unit}")
    for gpu in found.gpus:
        table.add_row(printable(gpu.name), f"{gpu.use:.0%} busy, {gpu.memory_mib:,.0f} of {gpu.total_mib:,.0f} MiB")
    if found.gpu_note:
        table.add_row("gpu", found.gpu_note)
    return table


def changes_table(changes: Sequence[Change], notes: Sequence[str]) -> Group:
    """What `--compare` found: a line a figure, the changed ones marked, and how many there are."""
    names = ("figure", "was us", "now us", "change", "99.9% interval", "")
    table = plain_table(*names, right=names[1:5])
    for one in changes:
        interval = f"{one.low:+.0%} to {one.high:+.0%}"
        row = (_microseconds(one.before), _microseconds(one.now), f"{one.change:+.0%}", interval)
        table.add_row(printable(one.name), *row, Text(one.verdict, style=_STYLES[one.verdict]))
    counts = {verdict: sum(one.verdict == verdict for one in changes) for verdict in _STYLES}
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return Group(table, *(Text(printable(note)) for note in notes), total or "nothing to compare")


def _microseconds(seconds: float) -> str:
    value = 1e6 * seconds
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
