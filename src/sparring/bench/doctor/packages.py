"""Python, optional packages, and what a cluster brings."""

import os
import platform
import shutil
import sys
from collections.abc import Collection, Iterator
from importlib import metadata

from sparring.core import install_command, missing_packages
from sparring.core.checkup import Check, Status
from sparring.core.machine import cores

_OLDEST_PYTHON = (3, 11)
_DEVELOPMENT = "dev"


def check_python() -> Check:
    """The interpreter that runs this command."""
    found = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Check("python", "fail", f"{found}: Sparring needs 3.11 or newer", "make train PYTHON=python3.11")
    return Check("python", "ok", found)


def check_extras(needed: Collection[str]) -> Iterator[Check]:
    """Optional packages, one check an extra: nothing is wrong without them, unless a game that is `needed` is."""
    for extra in metadata.metadata("sparring").get_all("Provides-Extra") or []:
        if extra == _DEVELOPMENT:
            continue
        missing = missing_packages(extra)
        if missing:
            status: Status = "fail" if extra in needed else "ok"
            yield Check(f"extra {extra}", status, f"not installed: {', '.join(missing)}", install_command(extra))
        else:
            yield Check(f"extra {extra}", "ok", "installed")


def check_slurm() -> Check:
    """Whether this is a SLURM job that runs on the cores it was given."""
    job = os.environ.get("SLURM_JOB_ID")
    given = os.environ.get("SLURM_CPUS_PER_TASK") or os.environ.get("SLURM_CPUS_ON_NODE", "")
    if job is None:
        return Check("slurm", "ok", "sbatch is here; this is no job" if shutil.which("sbatch") else "not here")
    found = f"job {job} was given {given or '?'} cores, and may run on {cores()}"
    if given.isdecimal() and int(given) != cores():
        more = f"srun --cpus-per-task {given} sparring train PRESET"
        return Check("slurm", "warn", found, more if int(given) > cores() else f"export OMP_NUM_THREADS={given}")
    return Check("slurm", "ok", found)


def check_ray() -> Check:
    """Ray, if it is there; Sparring runs without it."""
    try:
        return Check("ray", "ok", metadata.version("ray"))
    except metadata.PackageNotFoundError:
        return Check("ray", "ok", "not installed, and not needed")
