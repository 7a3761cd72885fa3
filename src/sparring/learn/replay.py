"""The replay window: the newest decisions, from which a learner draws its batches."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array


class ReplayWindow:
    """The last `capacity` rows of named columns; the oldest row makes room for the newest."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rows = 0
        self._columns: dict[str, Array] = {}
        self._next = 0

    def add(self, columns: Mapping[str, Array]) -> None:
        """Adds k rows: every column is `dtype[k, ...]`, the same columns each time."""
        if not self._columns:
            self._columns = {n: np.zeros((self.capacity, *a.shape[1:]), a.dtype) for n, a in columns.items()}
        added = min(len(next(iter(columns.values()))), self.capacity)
        places = (self._next + np.arange(added)) % self.capacity
        for name, values in columns.items():
            self._columns[name][places] = values[-added:]
        self._next = (self._next + added) % self.capacity
        self.rows = min(self.rows + added, self.capacity)

    def draw(self, rows: int, rng: np.random.Generator) -> dict[str, Array]:
        """Copies of `rows` rows, each drawn with the same probability."""
        chosen: NDArray[np.intp] = rng.integers(0, self.rows, rows)
        return {name: column[chosen] for name, column in self._columns.items()}

    def snapshot(self) -> dict[str, Array]:
        """The rows, oldest first."""
        order = (self._next - self.rows + np.arange(self.rows)) % self.capacity
        return {name: column[order] for name, column in self._columns.items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to the rows of `snapshot`."""
        self._columns, self._next, self.rows = {}, 0, 0
        if snapshot:
            self.add(snapshot)
