"""A job as a table: what SLURM says of it, and how far its training is."""

import json
from pathlib import Path

from rich.table import Table

from sparring.core import InputError
from sparring.core.text import printable
from sparring.launch.jobs import Job, records
from sparring.report.tables import plain_table

_TAIL = 65_536


def job_table(job: Job) -> Table:
    """One line a task of `job`; raises `InputError` if neither SLURM nor a run folder knows it."""
    known = records(job.number)
    if not known and job.kept is None:
        raise InputError(f"job {job.number}: SLURM does not know it any more; name its run folder")
    names = ("job", "state", "time", "limit", "nodes", "attempt", "update", "decisions")
    table = plain_table(*names, right=names[5:])
    for record in known:
        one = Job(record.job, job.folder, job.kept)
        state = f"{record.state} ({record.reason})" if record.waits else record.state
        row = (record.job, state, record.run_time, record.time_limit, record.nodes, str(record.restarts + 1))
        table.add_row(*(printable(cell) for cell in row), *_progress(one.run if "[" not in record.job else None))
    if not known:
        for one in job.tasks():
            table.add_row(one.number, "gone", "", "", "", "", *_progress(one.run))
    return table


def _progress(run: Path | None) -> tuple[str, str]:
    """The last update and the decisions so far, by the metrics of a run."""
    path = None if run is None else run / "metrics.jsonl"
    if path is None or not path.exists():
        return "", ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        for line in reversed(file.read().splitlines()):
            try:
                last = json.loads(line)
                return str(int(last["update"])), f"{int(last['decisions']):,}"
            except (ValueError, KeyError, TypeError):  # cut short, or still being written
                continue
    return "", ""
