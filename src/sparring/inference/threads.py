"""How many CPU threads torch may use: as many as there are free cores, and rows in a batch to keep them busy.

More threads than free cores wait for each other at every operation: on a busy machine one thread can be many times
faster than all of them.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from time import sleep

import torch

from sparring.core.machine import cores, quota

_ROWS_A_THREAD = 8
"""What a thread is worth having for: on two cores, a second gained nothing below 16 rows, in networks of 80 thousand to
5 million weights."""
_SAMPLE_SECONDS = 0.25
_STAT = Path("/proc/stat")


_usual: int | None = None
"""Threads that torch used before `set_threads` first chose fewer."""
_chosen: int | None = None


def set_threads(wanted: int, say: Callable[[str], None] = lambda text: None, *, rows: int | None = None) -> None:
    """Makes torch use `wanted` threads; 0 means as many as are usual, but no more than there are free cores.

    Nor does 0 mean more than batches of at most `rows` rows need. `say` reports if cores are taken, or fewer than the
    threads. OMP_NUM_THREADS, if set, is left to decide.
    """
    global _usual, _chosen
    if _usual is None or torch.get_num_threads() != _chosen:  # nobody has set it yet, or somebody else did
        _usual = torch.get_num_threads()
    threads = wanted or _usual
    if wanted == 0 and _usual > 1 and not os.environ.get("OMP_NUM_THREADS"):
        needed = _usual if rows is None else min(_usual, ceil(rows / _ROWS_A_THREAD))
        threads = free_cores(needed) if needed > 1 else 1
        if threads < needed:
            say(f"torch uses {threads} of {needed} CPU threads, as others are taken (threads=N, --threads N)")
    elif wanted > cores():
        say(f"{wanted} CPU threads on {cores()} cores will wait for each other (threads=N, --threads N)")
    torch.set_num_threads(threads)
    _chosen = threads


@contextmanager
def threads_kept() -> Iterator[None]:
    """Goes back to the present number of threads after the block, whatever was set in it."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
