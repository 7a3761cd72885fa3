"""The replay window: the newest rows, from which a learner draws its minibatches."""

from typing import Generic, TypeVar

import numpy as np

from sparring.core import Rows

R = TypeVar("R", bound=Rows)


class ReplayWindow(Generic[R]):
    """A ring buffer of the last `capacity` rows."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._ring: R | None = None
        self._length = 0
        self._next = 0

    def __len__(self) -> int:
        return self._length

    def add(self, rows: R) -> None:
        """Adds `rows`, which have the same columns each time."""
        if self._ring is None:
            self._ring = rows.empty(self.capacity)
        added = min(len(rows), self.capacity)
        places = (self._next + np.arange(added)) % self.capacity
        self._ring.write(places, rows.take(slice(len(rows) - added, None)))
        self._next = (self._next + added) % self.capacity
        self._length = min(self._length + added, self.capacity)

    def draw(self, rows: int, rng: np.random.Generator) -> R:
        """Copies of `rows` rows drawn uniformly; the window must not be empty."""
        if self._ring is None:
            raise ValueError("nothing to draw: the replay window is empty")
        return self._ring.take(rng.integers(0, self._length, rows))

    def snapshot(self) -> R | None:
        """Copies of the rows, oldest first; None if no row was ever added."""
        if self._ring is None:
            return None
        return self._ring.take((self._next - self._length + np.arange(self._length)) % self.capacity)

    def restore(self, snapshot: R | None) -> None:
        """Goes back to the rows of `snapshot`."""
        self._ring, self._next, self._length = None, 0, 0
        if snapshot is not None:
            self.add(snapshot)
