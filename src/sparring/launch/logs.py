"""The log of a job: its last lines, what is added to it while the job runs, and its attempts."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sparring.launch.jobs import Job, records
from sparring.launch.script import ATTEMPT

_LOOK_SECONDS = 1.0
_ASK_SECONDS = 5.0
_MOST_BYTES = 32 * 1024 * 1024
"""Of a log, so much of its end is read."""


@dataclass(frozen=True)
class Attempt:
    """What one start of a job said, and at which line of the log that begins."""

    lines: tuple[str, ...]
    first: int


def last_lines(path: Path, count: int) -> list[str]:
    """The last `count` lines of a log; none if it is not there yet."""
    return _read(path)[1][-count:] if count else []


def attempts(path: Path) -> list[Attempt]:
    """What a log says, start by start."""
    skipped, lines = _read(path)
    starts = [number for number, line in enumerate(lines) if line.startswith(ATTEMPT)] or [0]
    return [
        Attempt(tuple(lines[start:end]), skipped + start + 1)
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
        if end > start
    ]


def follow(job: Job, show: Callable[[str], None], say: Callable[[str], None], *, position: int = 0) -> None:
    """Shows what is added to the log from byte `position` on, until the job is over."""
    path, asked, waits = job.log, 0.0, ""
    while True:
        over = False
        if time.monotonic() - asked >= _ASK_SECONDS:
            asked, found = time.monotonic(), records(job.number)
            over = all(record.over for record in found)
            reason = next((record.reason for record in found if record.waits and record.reason != "None"), "")
            if reason and reason != waits:
                say(f"job {job.number} waits: {reason}")
            waits = reason
        lines, position = _added(path, position)
        for line in lines:
            show(line)
        if over:
            return
        time.sleep(_LOOK_SECONDS)


def size(path: Path) -> int:
    """How long the log is now."""
    return path.stat().st_size if path.exists() else 0


def _added(path: Path, position: int) -> tuple[list[str], int]:
    """The whole lines after byte `position`, and the position behind them."""
    if not path.exists():
        return [], position
    with path.open("rb") as file:
        file.seek(position)
        new = file.read()
    whole = new[: new.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace").splitlines(), position + len(whole)


def _read(path: Path) -> tuple[int, list[str]]:
    """The lines of a log, and how many before them were skipped because it is long."""
    if not path.exists():
        return 0, []
    with path.open("rb") as file:
        skipped = 0
        rest = max(0, os.fstat(file.fileno()).st_size - _MOST_BYTES)
        while rest > 0 and (line := file.readline()):
            skipped, rest = skipped + 1, rest - len(line)
        return skipped, file.read().decode("utf-8", "replace").splitlines()
