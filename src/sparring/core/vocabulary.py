"""Vocabularies: the names that numbers in an observation stand for.

A game may number named things (Pokémon: species, moves, items), and its next version may number them differently. The
vocabulary is kept with weights and episodes, so that the next version can use both: numbers are matched by name.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core.documented import documented
from sparring.core.errors import InputError
from sparring.core.rows import Array

_MOST_NAMES = 1 << 20
_MOST_LISTS = 256
_LONGEST_NAME = 200
_SHOWN = 3


@documented
@dataclass(frozen=True)
class Vocabulary:
    """Lists of names, and the columns of the observation that hold their numbers."""

    names: Mapping[str, tuple[str, ...]]
    """By kind (`moves`): the names of the numbers 1, 2, ...; they hold no blanks. 0 is unknown or none."""
    columns: Mapping[str, tuple[str, ...]]
    """By field of the observation: the kind of each number along its last axis, "" for one that names nothing."""

    def __post_init__(self) -> None:
        """Refuses names that could not be told apart when they are read again."""
        for kind, names in self.names.items():
            lengths = set(map(len, names))
            plain = not lengths or (min(lengths) > 0 and max(lengths) <= _LONGEST_NAME and " " not in "".join(names))
            _require(
                plain, f"{kind} has a name that is empty, longer than {_LONGEST_NAME} letters or has a blank in it"
            )
            _require(len(set(names)) == len(names), f"{kind} has a name twice")

    @cached_property
    def digest(self) -> str:
        """The same for the same vocabulary, and for no other."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def table(self, kind: str, now: "Vocabulary") -> NDArray[np.intp]:
        """`intp[1 + names]` what each number of `kind` is in `now`; 0 for names that are not there."""
        numbers = {name: number for number, name in enumerate(now.names.get(kind, ()), start=1)}
        return np.array([0, *(numbers.get(name, 0) for name in self.names.get(kind, ()))], np.intp)

    def renumber(self, observation: Mapping[str, Array], now: "Vocabulary") -> tuple[dict[str, Array], int]:
        """Fields `dtype[k, ...]` in the numbers of `now`, and how many numbers became 0 because their names are gone.

        Raises `InputError` if the fields do not hold numbers of this vocabulary.
        """
        changed = {kind: self.table(kind, now) for kind, names in self.names.items() if names != now.names.get(kind)}
        renumbered, lost = dict(observation), 0
        for field, kinds in self.columns.items():
            old = observation.get(field)
            if old is None or old.ndim < 2 or old.shape[-1] != len(kinds) or old.dtype.kind not in "iu":
                raise InputError(f"{field}: not the {len(kinds)} columns of numbers that its vocabulary names")
            renumbered[field] = new = old.copy()
            for column, kind in enumerate(kinds):
                if kind in changed:
                    table, numbers = changed[kind], old[..., column]
                    if numbers.size and (numbers.min() < 0 or numbers.max() >= len(table)):
                        raise InputError(f"{field}: numbers of {kind} outside 0..{len(table) - 1}, its vocabulary's")
                    new[..., column] = table[numbers]
                    lost += int(np.count_nonzero(numbers) - np.count_nonzero(new[..., column]))
        return renumbered, lost

    def named_as(self, now: "Vocabulary") -> "Vocabulary":
        """The vocabulary of the same columns after `renumber` to `now`."""
        return replace(self, names=now.names)

    def difference(self, now: "Vocabulary") -> str:
        """How the lists of `now` differ, as in `moves: 954 kept, 2 new (ironwaltz, mudraid)`."""
        told = []
        for kind in {**self.names, **now.names}:
            before, after = self.names.get(kind, ()), now.names.get(kind, ())
            if before != after:
                here, there = set(after), set(before)
                new = [name for name in after if name not in there]
                gone = [name for name in before if name not in here]
                kept = f"{kind}: {len(before) - len(gone)} kept"
                told.append(kept + _some(new, "new") + _some(gone, "gone"))
        return "; ".join(told)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready form: each list is one string of names separated by blanks."""
        return {
            "names": {kind: " ".join(names) for kind, names in self.names.items()},
            "columns": {field: list(kinds) for field, kinds in self.columns.items()},
        }

    @classmethod
    def from_json(cls, data: Any) -> "Vocabulary":
        """The vocabulary `to_json` wrote; raises `InputError` naming what is malformed."""
        _require(isinstance(data, Mapping) and set(data) == {"names", "columns"}, "not a map of names and columns")
        names, columns = data["names"], data["columns"]
        for part in (names, columns):
            few = isinstance(part, Mapping) and len(part) <= _MOST_LISTS
            _require(few, f"not a map of at most {_MOST_LISTS} lists")
            named = all(isinstance(key, str) and len(key) <= _LONGEST_NAME and key.isprintable() for key in part)
            _require(named, "a list has no name")
        kinds = {"", *names}
        for field, listed in columns.items():
            known = isinstance(listed, list) and all(isinstance(kind, str) and kind in kinds for kind in listed)
            _require(known, f"the columns of {field} are of no list it has")
        return cls(
            names={kind: _names(kind, text) for kind, text in names.items()},
            columns={field: tuple(listed) for field, listed in columns.items()},
        )


def _names(kind: str, text: Any) -> tuple[str, ...]:
    _require(isinstance(text, str) and text.isprintable(), f"{kind} is no text of names")
    _require(text.count(" ") < _MOST_NAMES, f"{kind} has more than {_MOST_NAMES} names")
    return tuple(text.split(" ")) if text else ()


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise InputError(f"not a vocabulary: {problem}")


def _some(names: list[str], what: str) -> str:
    """`, 4 new (a, b, c, ...)`, or nothing if there are none."""
    shown = ", ".join(names[:_SHOWN] + (["..."] if len(names) > _SHOWN else []))
    return f", {len(names)} {what} ({shown})" if names else ""
