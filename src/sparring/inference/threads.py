"""How many CPU threads torch may use: as many as there are free cores.

More threads than free cores wait for each other at every operation: on a busy machine one thread can be many times
faster than all of them.
"""

import os
from collections.abc import Callable
from math import ceil
from pathlib import Path
from time import sleep

import torch

from sparring.core.machine import cores, quota

_SAMPLE_SECONDS = 0.25
_STAT = Path("/proc/stat")


def set_threads(wanted: int, say: Callable[[str], None] = lambda text: None) -> None:
    """Makes torch use `wanted` threads; 0 means as many as it does now, but no more than there are free cores.

    `say` reports if there are fewer, or more than there are cores. OMP_NUM_THREADS, if set, is left to decide.
    """
    usual = torch.get_num_threads()
    if wanted == 0 and usual > 1 and not os.environ.get("OMP_NUM_THREADS"):
        wanted = free_cores(usual)
        if wanted < usual:
            say(f"torch uses {wanted} of {usual} CPU threads, as others are taken (threads=N, --threads N)")
    elif wanted > cores():
        say(f"{wanted} CPU threads on {cores()} cores will wait for each other (threads=N, --threads N)")
    torch.set_num_threads(wanted or usual)


def free_cores(most: int) -> int:
    """How many of `most` cores this process may use and others leave free, at least 1.

    The load of the last minute may come from something that has just ended, and what runs at this moment may end in
    the next: a core counts as taken only if both say so.
    """
    allowed = min(most, ceil(quota() or most))
    free = cores() - os.getloadavg()[0]
    if round(free) < allowed:
        free = max(free, _idle_now())
    return max(1, min(allowed, round(free)))


def _idle_now() -> float:
    """How many of our cores are idle, measured over a quarter of a second; 0 if unknown."""
    before = _idle_shares()
    if not before:
        return 0.0
    sleep(_SAMPLE_SECONDS)
    after = _idle_shares()
    return sum(
        (after[core][0] - idle) / max(1, after[core][1] - total)
        for core, (idle, total) in before.items()
        if core in after
    )


def _idle_shares() -> dict[str, tuple[int, int]]:
    """For each core we may use: its idle clock ticks, and all of them."""
    try:
        lines = [line.split() for line in _STAT.read_text().splitlines()]
    except OSError:
        return {}
    ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    ticks = {words[0]: [int(word) for word in words[1:9]] for words in lines if words and words[0] in ours}
    return {core: (values[3] + values[4], sum(values)) for core, values in ticks.items()}
