"""Shared-memory slabs: where local workers put rows and find actions, without serialising anything.

One block of memory holds every column for all groups of matches, end to end; a group of m matches has room for
m * seats rows and m results. Parent and workers see the same numpy arrays.
"""

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Decisions, GameSpec, Results
from sparring.core.rows import flatten, nested

_ALIGN = 64


@dataclass(frozen=True)
class Group:
    """Some matches of one worker, and where their rows and results lie."""

    worker: int
    matches: slice
    """Of the whole arena."""
    rows: slice
    """Of the slabs."""

    @property
    def size(self) -> int:
        """How many matches."""
        return int(self.matches.stop - self.matches.start)


def make_groups(*, matches: int, seats: int, workers: int, each: int) -> list[Group]:
    """`matches` dealt to `workers` workers with `each` groups, as evenly as it goes; empty groups are left out."""
    bounds = np.linspace(0, matches, workers * each + 1).astype(int).tolist()
    return [
        Group(number // each, slice(start, stop), slice(start * seats, stop * seats))
        for number, (start, stop) in enumerate(pairwise(bounds))
        if stop > start
    ]


class Slabs:
    """`matches * seats` rows with their actions, and `matches` results, in one block of shared memory.

    With a `name` it opens the block that another process made.
    """

    def __init__(self, spec: GameSpec, matches: int, *, name: str | None = None) -> None:
        rows = matches * spec.seats
        kinds = {
            "decisions": Decisions.none(spec).empty(rows).columns(),
            "results": Results.none(spec.seats).empty(matches).columns(),
            "answers": {"action": np.empty(rows, np.int32)},
        }
        columns = flatten(kinds)
        sizes = {key: -(-array.nbytes // _ALIGN) * _ALIGN for key, array in columns.items()}
        self._owner = name is None
        self._memory = SharedMemory(name, create=self._owner, size=sum(sizes.values()) if self._owner else 0)
        shared: dict[str, Array] = {}
        at = 0
        for key, array in columns.items():
            shared[key] = np.ndarray(array.shape, array.dtype, self._memory.buf, at)
            at += sizes[key]
        parts = nested(shared)
        self.decisions: Decisions = Decisions.from_columns(parts["decisions"])
        self.results: Results = Results.from_columns(parts["results"])
        self.action: NDArray[np.int32] = parts["answers"]["action"]

    @property
    def name(self) -> str:
        """By which another process opens the block."""
        return self._memory.name

    def write(self, group: Group, decisions: Decisions, results: Results) -> None:
        """Copies what a group's arena says into the group's part; matches get their numbers in the whole arena."""
        rows = slice(group.rows.start, group.rows.start + len(decisions))
        ended = slice(group.matches.start, group.matches.start + len(results))
        self.decisions.write(rows, decisions)
        self.results.write(ended, results)
        self.decisions.match[rows] += group.matches.start
        self.results.match[ended] += group.matches.start

    def close(self) -> None:
        """Lets go of the block; its maker also removes it. Arrays into it must not be used any more."""
        del self.decisions, self.results, self.action
        with suppress(BufferError):  # somebody still holds rows of the last wait; the memory goes with them
            self._memory.close()
        if self._owner:
            self._owner = False
            self._memory.unlink()
