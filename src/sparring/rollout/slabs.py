"""Shared-memory slabs: where local workers put rows and find actions, without serialising anything.

One block of memory holds every column for all groups of matches, end to end; a group of m matches has room for
m * seats rows and m results. Parent and workers see the same numpy arrays.

The block has no name, only open files: it disappears with the last process that uses it, however that one ends.
"""

import mmap
import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Decisions, GameSpec, InputError, Results
from sparring.core.machine import free_memory
from sparring.core.rows import flatten, nested

_ALIGN = 64


@dataclass(frozen=True)
class Group:
    """Some matches of one worker, and where their rows and results lie."""

    worker: int
    matches: slice
    """In the whole arena."""
    rows: slice
    """In the slabs."""

    @property
    def size(self) -> int:
        """How many matches."""
        return int(self.matches.stop - self.matches.start)


def make_groups(*, matches: int, seats: int, workers: int, each: int) -> list[Group]:
    """`matches` dealt as evenly as possible to `workers` workers with `each` groups; empty groups are left out."""
    bounds = np.linspace(0, matches, workers * each + 1).astype(int).tolist()
    return [
        Group(number // each, slice(start, stop), slice(start * seats, stop * seats))
        for number, (start, stop) in enumerate(pairwise(bounds))
        if stop > start
    ]


class Block:
    """A piece of memory that is handed to worker processes as they are started."""

    def __init__(self, size: int) -> None:
        free = free_memory()
        if free is not None and size > free:  # the system would overcommit, and kill a process later
            raise InputError(
                f"workers would share {size / 2**20:,.0f} MiB of memory, of which {free / 2**20:,.0f} MiB are free; "
                "lower the number of matches"
            )
        self.size = size
        self._file = nameless_file()
        os.ftruncate(self._file, size)
        self.memory = mmap.mmap(self._file, size)

    def __getstate__(self) -> tuple[int, Any]:
        return self.size, DupFd(self._file)  # works only while multiprocessing starts a process

    def __setstate__(self, state: tuple[int, Any]) -> None:
        self.size, file = state
        self._file = file.detach()
        self.memory = mmap.mmap(self._file, self.size)

    def close(self) -> None:
        """Lets go of the memory; may be called twice."""
        with suppress(BufferError):  # rows of the last wait are still held; the memory goes with them
            self.memory.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def nameless_file() -> int:
    """A handle of an empty file in memory that disappears when it is no longer open anywhere."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("sparring")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def arrays_in(memory: mmap.mmap, layout: Iterable[tuple[str, Sequence[int], str]]) -> dict[str, Array]:
    """The arrays (name, shape, dtype) of `layout`, end to end in `memory`, by name; each takes its `aligned` size."""
    arrays: dict[str, Array] = {}
    at = 0
    for name, shape, dtype in layout:
        arrays[name] = np.ndarray(tuple(shape), dtype, memory, at)
        at += aligned(arrays[name].nbytes)
    return arrays


def aligned(size: int) -> int:
    """`size` bytes, rounded up to whole cache lines."""
    return -(-size // _ALIGN) * _ALIGN


class Slabs:
    """`matches * seats` rows with their actions, and `matches` results, in one block of shared memory.

    With a `block` it opens the one that another process made.
    """

    def __init__(self, spec: GameSpec, matches: int, *, block: Block | None = None) -> None:
        rows = matches * spec.seats
        kinds = {
            "decisions": Decisions.none(spec).empty(rows).columns(),
            "results": Results.none(spec.seats).empty(matches).columns(),
            "answers": {"action": np.empty(rows, np.int32)},
            "workers": {"busy": np.empty(matches, np.float64)},
        }
        columns = flatten(kinds)
        self.block = block or Block(sum(aligned(array.nbytes) for array in columns.values()))
        layout = [(name, array.shape, array.dtype.str) for name, array in columns.items()]
        parts = nested(arrays_in(self.block.memory, layout))
        self.decisions: Decisions = Decisions.from_columns(parts["decisions"])
        self.results: Results = Results.from_columns(parts["results"])
        self.action: NDArray[np.int32] = parts["answers"]["action"]
        self.busy: NDArray[np.float64] = parts["workers"]["busy"]
        """`float64[matches]` seconds that workers have played, each group's at the number of its first match."""

    def write(self, group: Group, decisions: Decisions, results: Results) -> None:
        """Copies rows and results of a group's arena into the group's part, with match numbers of the whole arena."""
        first = group.matches.start
        rows = slice(group.rows.start, group.rows.start + len(decisions))
        self.decisions.write(rows, decisions)
        self.decisions.match[rows] += first
        if len(results):
            ended = slice(first, first + len(results))
            self.results.write(ended, results)
            self.results.match[ended] += first

    def close(self) -> None:
        """Lets go of the block, whose arrays must not be used any more; may be called twice."""
        for name in ("decisions", "results", "action", "busy"):
            self.__dict__.pop(name, None)
        self.block.close()
