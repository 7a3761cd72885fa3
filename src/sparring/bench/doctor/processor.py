"""Cores, threads, load and memory."""

import os
from math import ceil

from sparring.core.checkup import Check
from sparring.core.machine import cores, free_memory, quota

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_BUSY = 1.25
"""A load of so many times our cores slows everything down; a little above 1 is only what has just ended."""
_SOME_GIB, _ENOUGH_GIB = 0.5, 2.0


def check_cores() -> Check:
    """The cores that this process may use, and a container's limit."""
    limit = quota()
    if limit is None:
        return Check("cores", "ok", f"{cores()} of {os.cpu_count()}")
    found = f"{cores()} of {os.cpu_count()}, of which a container's limit leaves the time of {limit:.1f}"
    if limit < 1:
        return Check("cores", "warn", found, "docker update --cpus 2 CONTAINER")
    return Check("cores", "ok", found)


def check_threads() -> Check:
    """Thread counts that the user has set: Sparring goes by them, and more threads than cores wait for each other."""
    usable = min(cores(), ceil(quota() or cores()))
    chosen = {name: os.environ[name] for name in _THREAD_VARIABLES if os.environ.get(name)}
    settings = ", ".join(f"{name}={value}" for name, value in chosen.items())
    wrong = [name for name, value in chosen.items() if not _fits(value, usable)]
    if wrong:
        return Check("threads", "warn", f"{settings}, but {usable} cores to run them", f"unset {' '.join(wrong)}")
    return Check("threads", "ok", settings or "chosen by each command, as cores are free")


def check_load() -> Check:
    """What others leave of the cores."""
    load, ours = os.getloadavg()[0], cores()
    found = f"{load:.1f} in the last minute on {ours} cores"
    if load > _BUSY * ours:
        return Check("load", "warn", f"{found}: others keep them busy, rates will be low", "top -o %CPU")
    return Check("load", "ok", found)


def check_memory() -> Check:
    """Memory that is free, on the machine and within a container's limit."""
    free = free_memory()
    if free is None:
        return Check("memory", "ok", "this system does not say how much is free")
    gib = free / 2**30
    found = f"{gib:.1f} GiB free"
    if gib < _ENOUGH_GIB:
        return Check("memory", "fail" if gib < _SOME_GIB else "warn", found, "ps aux --sort=-rss | head")
    return Check("memory", "ok", found)


def _fits(value: str, usable: int) -> bool:
    """Whether a thread count, or a list of them by nesting, is one that `usable` cores can run."""
    first = value.partition(",")[0].strip()
    return first.isdecimal() and 1 <= int(first) <= usable
