"""Rows as a struct of arrays: the one shape that batches, logs, shared memory and files are made of.

A subclass is a frozen dataclass with `repr=False`, as rows print their shapes. Each field is an array, a named group of
arrays (a mapping), or None where the rows do not have it; all arrays have the same number of rows. What can be done
with rows is written here once:

    part = decisions.take(rows)              # a slice gives views, an index array gives copies
    log.write(slice(0, 3), part)             # copies into arrays that are already there
    both = Decisions.join([part, other])
    Decisions.from_columns(both.columns())   # flat names, as in "observation/board", and back
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparring.core.errors import InputError

Array = NDArray[Any]
T = TypeVar("T")
Index = NDArray[np.integer] | slice

_Value = Array | Mapping[str, Array] | None
"""A field: an array, a group of them, or nothing."""
_SEPARATOR = "/"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """The base of every struct of arrays. Two are equal only if they are the same object: compare their arrays."""

    def __post_init__(self) -> None:
        """Raises `InputError` for a field that is no array of rows, such as a list."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not (value.ndim if isinstance(value, np.ndarray) else value is None or isinstance(value, Mapping)):
                given = f"{name} = {value!r:.60}: of type {type(value).__name__}"
                raise InputError(f"{type(self).__name__}: {given}; allowed: a numpy array with one entry a row")

    def __len__(self) -> int:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                return len(value)
            if value:
                return len(next(iter(value.values())))
        return 0

    def __repr__(self) -> str:
        columns = (f"{name} {_described(array)}" for name, array in self.columns().items())
        return f"<{type(self).__name__}: {len(self):,} rows of {', '.join(columns)}>"

    def columns(self) -> dict[str, Array]:
        """The arrays by flat name, `field` or `field/key` for a group; what the rows do not have is left out."""
        columns: dict[str, Array] = {}
        for name, value in zip(self.__dataclass_fields__, self._values(), strict=True):
            if isinstance(value, np.ndarray):
                columns[name] = value
            elif value is not None:
                columns |= {f"{name}{_SEPARATOR}{key}": array for key, array in value.items()}
        return columns

    @classmethod
    def from_columns(cls, columns: Mapping[str, Array]) -> Self:
        """The rows that `columns` made flat; names that are not a field of theirs are ignored."""
        values: dict[str, Any] = {}
        for name, array in columns.items():
            field, grouped, key = name.partition(_SEPARATOR)
            if field not in cls.__dataclass_fields__:
                continue
            if grouped:
                values.setdefault(field, {})[key] = array
            else:
                values[field] = array
        return cls(**values)

    def take(self, rows: Index) -> Self:
        """Only `rows`, in that order: views for a slice, copies for an index array."""
        if isinstance(rows, slice):
            return self._each(itemgetter(rows))
        return self._each(lambda array: array.take(rows, axis=0))  # twice as fast as array[rows]

    def write(self, at: Index, rows: Self) -> None:
        """Copies `rows` over those at `at`. Columns that `rows` does not have become 0."""
        for mine, theirs in zip(self._values(), rows._values(), strict=True):
            if isinstance(mine, np.ndarray):
                mine[at] = 0 if theirs is None else theirs
            elif mine is not None:
                for key, array in mine.items():
                    array[at] = 0 if theirs is None else theirs[key]

    def empty(self, rows: int) -> Self:
        """Room for `rows` rows with the same columns; what is in them is undefined until it is written."""
        return self._each(lambda array: np.empty((rows, *array.shape[1:]), array.dtype))

    @classmethod
    def join(cls, parts: Sequence[Self], *, out: Self | None = None) -> Self:
        """The rows of all `parts` (at least one) in order, copied into the first rows of `out` if it is given."""
        if len(parts) == 0:
            raise InputError(f"there are no {cls.__name__} to join")
        if len(parts) == 1 and out is None:
            return parts[0]
        rows = sum(map(len, parts))
        whole = parts[0].empty(rows) if out is None else out.take(slice(rows))
        for name, mine in zip(cls.__dataclass_fields__, whole._values(), strict=True):
            theirs = [getattr(part, name) for part in parts]
            if isinstance(mine, np.ndarray):
                _concatenate(theirs, parts, mine)
            elif mine is not None:
                for key, array in mine.items():
                    _concatenate([group and group[key] for group in theirs], parts, array)
        return whole

    def _values(self) -> list[_Value]:
        return [getattr(self, name) for name in self.__dataclass_fields__]

    def _each(self, change: Callable[[Array], Array]) -> Self:
        """The same rows with every array changed."""

        def changed(value: _Value) -> _Value:
            if isinstance(value, np.ndarray):
                return change(value)
            return None if value is None else {key: change(array) for key, array in value.items()}

        return type(self)(*map(changed, self._values()))


def _described(array: Any) -> str:
    """`float32[3, 5]`; of what is no array, its type."""
    return f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else f"({type(array).__name__})"


def _concatenate(arrays: Sequence[Any], parts: Sequence[Rows], out: Array) -> None:
    """Lays `arrays` end to end in `out`, with zeros for the rows of parts that have none."""
    if type(None) not in map(type, arrays):
        np.concatenate(arrays, out=out, casting="unsafe")
        return
    start = 0
    for array, part in zip(arrays, parts, strict=True):
        out[start : (start := start + len(part))] = 0 if array is None else array


def flatten(groups: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """Named groups as one mapping: `{"log": {"action": a}}` becomes `{"log/action": a}`."""
    return {f"{group}{_SEPARATOR}{name}": value for group, values in groups.items() for name, value in values.items()}


def nested(flat: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """What `flatten` made flat, by group; names outside any group are left out."""
    groups: dict[str, dict[str, T]] = {}
    for name, value in flat.items():
        group, grouped, rest = name.partition(_SEPARATOR)
        if grouped:
            groups.setdefault(group, {})[rest] = value
    return groups
