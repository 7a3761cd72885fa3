"""SLURM's own programs: called with words, never through a shell."""

import os
import re
import subprocess

from sparring.core import InputError, RunError
from sparring.core.text import printable

_SECONDS = 60.0
"""A controller that does not answer within this is taken for gone."""


class NoAnswer(RunError):
    """SLURM refused, or did not answer; the message is its own."""


def call(program: str, *words: str) -> str:
    """What `program` prints. Raises `NoAnswer` with its own words if it fails.

    Raises `InputError` where there is no such program. Variables by which the environment would overrule a script
    (SBATCH_PARTITION and the like) are left out.
    """
    try:
        done = subprocess.run(
            [program, *words],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env={name: value for name, value in os.environ.items() if not name.startswith("SBATCH_")},
        )
    except FileNotFoundError:
        raise InputError(
            f"{program}: no such program here; jobs are sent from a machine with SLURM, such as a login node"
        ) from None
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{program} has not answered for {_SECONDS:.0f} s; is slurmctld up?") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        verdict = re.sub(rf"^({program}: )?((error|fatal): )?", "", said[-1])
        raise NoAnswer(f"{program}: {printable(verdict)}")
    return done.stdout


def fields(line: str) -> dict[str, str]:
    """The `Key=value` words of a line of `scontrol --oneliner`; of a key that comes twice the first counts."""
    found: dict[str, str] = {}
    for word in line.split():
        key, equals, value = word.partition("=")
        if equals:
            found.setdefault(key, value)
    return found


def minutes(text: str) -> float | None:
    """A time as SLURM writes it (`30:00`, `1:00:00`, `7-00:00:00`) in minutes; None if there is no limit."""
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in parts) or (dash and not days.isdigit()):
        return None  # UNLIMITED, infinite, NONE, Partition_Limit, nothing
    numbers = [int(part) for part in parts]
    if dash:  # hours come first
        hours, mins, seconds = (*numbers, 0, 0)[:3]
    else:
        hours, mins, seconds = (0, *numbers, 0)[:3] if len(numbers) == 1 else (0, 0, *numbers)[-3:]
    return int(days or 0) * 1440 + hours * 60 + mins + seconds / 60


def clock(hours: float) -> str:
    """`hours` as SLURM reads it, in whole minutes: `6:00:00`."""
    whole = max(1, round(hours * 60))
    return f"{whole // 60}:{whole % 60:02d}:00"
