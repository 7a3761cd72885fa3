"""A forecast as people read it."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparring.bench.plan.forecast import Forecast
from sparring.core.text import printable
from sparring.report.progress import duration


def forecast_table(found: Forecast) -> Group:
    """The headline, the figures, where the time goes, the bottleneck and what was assumed."""
    machines = f"{found.nodes} node{'s' * (found.nodes > 1)}, {found.processes} process{'es' * (found.processes > 1)}"
    if found.collectors:
        machines += f", {found.collectors} collector{'s' * (found.collectors > 1)}"
    title = f"{found.preset} on {machines}: {found.decisions_per_second:,.0f} decisions a second, simulated"
    table = Table.grid(padding=(0, 2, 0, 0))
    rows = {
        f"in {found.hours:g} hours": f"{found.updates:,} updates of {found.update_seconds:.2f} s",
        "decisions": f"{found.decisions:,}",
        "matches": "" if found.matches is None else f"{found.matches:,}",
        "the preset's decisions take": duration(3600 * found.preset_hours),
        "memory of a node": f"{found.memory_mib:,.0f} MiB",
        "storage of the run": f"{found.storage_mib:,.0f} MiB",
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, value)
    for name, share in sorted(found.shares.items(), key=lambda item: -item[1]):
        table.add_row(name, f"{share:.0%} of the time")
    parts: list[RenderableType] = [Text(printable(title), style="bold"), table, Text(found.bottleneck, style="bold")]
    return Group(*parts, *(Text(printable(note), style="dim") for note in found.notes))
