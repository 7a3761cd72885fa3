"""Python, optional packages, and what a cluster brings."""

import os
import platform
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib import metadata

from sparring.core import install_command, missing_packages
from sparring.core.checkup import Check
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
    """Optional packages: those that games which are `needed` lack, then all others in one line; nobody needs them."""
    missing = {
        extra: missing_packages(extra) for extra in metadata.metadata("sparring").get_all("Provides-Extra") or []
    }
    missing.pop(_DEVELOPMENT, None)
    for extra in sorted(set(needed) & {extra for extra, packages in missing.items() if packages}):
        packages = ", ".join(missing.pop(extra))
        yield Check(f"extra {extra}", "fail", f"not installed: {packages}", install_command(extra))
    here = [extra for extra, packages in missing.items() if not packages]
    absent = [extra for extra in missing if extra not in here]
    found = [", ".join(here) or "none", *([f"not installed: {', '.join(absent)}"] if absent else [])]
    yield Check("extras", "ok", "; ".join(found))


def check_slurm() -> Iterator[Check]:
    """Where SLURM is: whether this is a job that runs on the cores it was given."""
    job = os.environ.get("SLURM_JOB_ID")
    given = os.environ.get("SLURM_CPUS_PER_TASK") or os.environ.get("SLURM_CPUS_ON_NODE", "")
    if job is None:
        if shutil.which("sbatch"):
            yield Check("slurm", "ok", "sbatch is here; this is no job")
        return
    found = f"job {job} was given {given or '?'} cores, and may run on {cores()}"
    if given.isdecimal() and int(given) != cores():
        more = f"srun --cpus-per-task {given} sparring train PRESET"
        yield Check("slurm", "warn", found, more if int(given) > cores() else f"export OMP_NUM_THREADS={given}")
    else:
        yield Check("slurm", "ok", found)


def check_ray() -> Iterator[Check]:
    """Ray, if it is there; Sparring runs without it."""
    with suppress(metadata.PackageNotFoundError):
        yield Check("ray", "ok", metadata.version("ray"))
