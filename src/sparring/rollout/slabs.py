"""Shared-memory slabs: where local workers put rows and find actions, without serialising anything.

One block of memory holds every column for all groups of matches, end to end; a group of m matches has room for
m * seats rows and m results. Parent and workers see the same numpy arrays.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from multiprocessing.shared_memory import SharedMemory

import numpy as np

from sparring.core import Array, Decisions, GameSpec, Results

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
    """Columns of `matches * seats` rows and `matches` results in one block of shared memory.

    With a `name` it opens the block that another process made.
    """

    def __init__(self, spec: GameSpec, matches: int, *, name: str | None = None) -> None:
        rows = matches * spec.seats
        columns: dict[str, tuple[tuple[int, ...], str]] = {
            "match": ((rows,), "int32"),
            "seat": ((rows,), "int32"),
            "legal": ((rows, spec.actions), "bool"),
            "reward": ((rows,), "float32"),
            "first": ((rows,), "bool"),
            "action": ((rows,), "int32"),
            "result_match": ((matches,), "int32"),
            "result_outcome": ((matches, spec.seats), "float32"),
            "result_reward": ((matches, spec.seats), "float32"),
            "result_failed": ((matches,), "bool"),
        }
        columns |= {f"observation/{key}": ((rows, *f.shape), f.dtype) for key, f in spec.observation.items()}
        sizes = [-(-prod(shape) * np.dtype(dtype).itemsize // _ALIGN) * _ALIGN for shape, dtype in columns.values()]
        self._owner = name is None
        self._memory = SharedMemory(name, create=self._owner, size=sum(sizes) if self._owner else 0)
        self._fields = list(spec.observation)
        self.columns: dict[str, Array] = {}
        at = 0
        for (key, (shape, dtype)), size in zip(columns.items(), sizes, strict=True):
            self.columns[key] = np.ndarray(shape, dtype, self._memory.buf, at)
            at += size

    @property
    def name(self) -> str:
        """By which another process opens the block."""
        return self._memory.name

    def write(self, group: Group, decisions: Decisions, results: Results) -> None:
        """Copies what a group's arena says into the group's part; matches get their numbers in the whole arena."""
        rows = slice(group.rows.start, group.rows.start + len(decisions))
        c = self.columns
        np.add(decisions.match, group.matches.start, out=c["match"][rows])
        c["seat"][rows] = decisions.seat
        c["legal"][rows] = decisions.legal
        c["reward"][rows] = decisions.reward
        c["first"][rows] = decisions.first
        for name, array in decisions.observation.items():
            c[f"observation/{name}"][rows] = array
        ended = slice(group.matches.start, group.matches.start + len(results))
        np.add(results.match, group.matches.start, out=c["result_match"][ended])
        c["result_outcome"][ended] = results.outcome
        c["result_reward"][ended] = results.reward
        c["result_failed"][ended] = results.failed

    def rows(self, parts: Sequence[slice], staging: Mapping[str, Array]) -> Decisions:
        """The rows of `parts`: views if it is one part, else copied together into `staging`."""

        def column(name: str) -> Array:
            if len(parts) == 1:
                return self.columns[name][parts[0]]
            total = sum(part.stop - part.start for part in parts)
            return np.concatenate([self.columns[name][part] for part in parts], out=staging[name][:total])

        return Decisions(
            match=column("match"),
            seat=column("seat"),
            observation={name: column(f"observation/{name}") for name in self._fields},
            legal=column("legal"),
            reward=column("reward"),
            first=column("first"),
        )

    def results(self, parts: Sequence[slice]) -> Results:
        """Copies of the results of `parts`."""

        def column(name: str) -> Array:
            return np.concatenate([self.columns[f"result_{name}"][part] for part in parts])

        return Results(
            match=column("match"), outcome=column("outcome"), reward=column("reward"), failed=column("failed")
        )

    def staging(self) -> dict[str, Array]:
        """Private arrays as large as the row columns."""
        return {name: np.empty_like(array) for name, array in self.columns.items() if not name.startswith("result_")}

    def close(self) -> None:
        """Lets go of the block; its maker also removes it. Arrays into it must not be used any more."""
        self.columns.clear()
        with suppress(BufferError):  # somebody still holds rows of the last wait; the memory goes with them
            self._memory.close()
        if self._owner:
            self._owner = False
            self._memory.unlink()
