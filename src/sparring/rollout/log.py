"""What open episodes are kept in: a growing log of rows, and a growing list of row numbers for each seat."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparring.core import Rows
from sparring.core.episodes import spans

R = TypeVar("R", bound=Rows)


class Log(Generic[R]):
    """Rows in the order they were appended; the arrays double when they are full."""

    def __init__(self, like: R, *, capacity: int = 4096) -> None:
        self._room = like.empty(capacity)
        self.used = 0

    @property
    def rows(self) -> R:
        """Views of all rows appended so far."""
        return self._room.take(slice(self.used))

    def append(self, rows: R) -> NDArray[np.intp]:
        """Copies k rows to the end; returns their numbers `intp[k]`."""
        start, end = self.used, self.used + len(rows)
        if end > len(self._room):
            larger = self._room.empty(max(end, 2 * len(self._room)))
            larger.write(slice(start), self.rows)
            self._room = larger
        self._room.write(slice(start, end), rows)
        self.used = end
        return np.arange(start, end, dtype=np.intp)

    def keep(self, numbers: NDArray[np.intp]) -> None:
        """Drops every row but those at `numbers`, which become rows 0, 1, 2, ... in that order."""
        self._room.write(slice(len(numbers)), self._room.take(numbers))
        self.used = len(numbers)

    def restore(self, rows: R) -> None:
        """Replaces all rows by `rows`."""
        self.used = 0
        self.append(rows)


class NumberLists:
    """A growing list of numbers for each of `count` owners, as one table."""

    def __init__(self, count: int) -> None:
        self._table = np.zeros((count, 64), np.intp)

    def put(self, owners: NDArray[np.intp], places: NDArray[np.integer], numbers: NDArray[np.intp]) -> None:
        """Makes `numbers[i]` entry `places[i]` of the list of `owners[i]`."""
        if len(places) and int(places.max()) >= self._table.shape[1]:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)], axis=1)
        self._table[owners, places] = numbers

    def get(self, owners: NDArray[np.intp], places: NDArray[np.integer]) -> NDArray[np.intp]:
        """`intp[k]` entry `places[i]` of the list of `owners[i]`."""
        numbers: NDArray[np.intp] = self._table[owners, places]
        return numbers

    def first(self, owners: NDArray[np.intp], lengths: NDArray[np.integer]) -> NDArray[np.intp]:
        """The first `lengths[i]` entries of the list of `owners[i]`, laid end to end."""
        return self._table[np.repeat(owners, lengths), spans(np.zeros(len(owners), np.intp), lengths)]

    def renumber(self, owners: NDArray[np.intp], lengths: NDArray[np.integer]) -> None:
        """Writes 0, 1, 2, ... where `first` read."""
        places = spans(np.zeros(len(owners), np.intp), lengths)
        self._table[np.repeat(owners, lengths), places] = np.arange(len(places))

    def snapshot(self) -> NDArray[np.intp]:
        """A copy of the table."""
        return self._table.copy()

    def restore(self, snapshot: NDArray[np.intp]) -> None:
        """Goes back to `snapshot`."""
        self._table = snapshot.copy()
