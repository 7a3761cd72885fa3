"""What a game looks like from outside: its seats, its actions, and the arrays a seat observes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from sparring.core.documented import documented
from sparring.core.errors import InputError
from sparring.core.vocabulary import Vocabulary

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
"""What the arrays of an observation may hold."""

_MOST_SEATS = 1024
_MOST_ACTIONS = 1 << 20
_MOST_FIELDS = 256
_MOST_AXES = 8
_MOST_NUMBERS = 1 << 24
_LONGEST_NAME = 200


@documented
@dataclass(frozen=True)
class Field:
    """One named array of an observation, without the leading row axis."""

    shape: tuple[int, ...]
    """Of one row."""
    dtype: str
    """One of `DTYPES`."""
    most: int | None = field(default=None, compare=False)
    """The largest number in it, where that is less than the dtype's; 1 for planes of 0 and 1. Said to other libraries
    (`adapters`), and no part of what is saved."""

    @property
    def nbytes(self) -> int:
        """Bytes one row of this field takes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def zeros(self, *leading: int) -> np.ndarray:
        """A zeroed array `dtype[*leading, *shape]`."""
        return np.zeros((*leading, *self.shape), dtype=self.dtype)


@documented
@dataclass(frozen=True)
class GameSpec:
    """The contract between a game and everything that plays it.

    `settings` are the rule options the arrays depend on (a board size, a battle format). Two specs are
    interchangeable for a network when the game says so; they are equal only when every part is.
    """

    game: str
    """Its name."""
    settings: Mapping[str, Any]
    """The rule options that the arrays depend on, as plain data."""
    seats: int
    """Sides of a match."""
    actions: int
    """How many there are; they are numbered from 0."""
    observation: Mapping[str, Field]
    """The arrays that a seat sees, by name."""
    vocabulary: Vocabulary | None = None
    """What numbers in the observation stand for, where the game numbers named things."""

    def __str__(self) -> str:
        """The game and its settings in one line: `hex (size=5, swap=False)`."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{self.game} ({settings})" if settings else self.game

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready form, kept beside weights and episodes."""
        return {
            "game": self.game,
            "settings": dict(self.settings),
            "seats": self.seats,
            "actions": self.actions,
            "observation": {
                name: {"shape": list(field.shape), "dtype": field.dtype} for name, field in self.observation.items()
            },
            **({} if self.vocabulary is None else {"vocabulary": self.vocabulary.to_json()}),
        }

    @classmethod
    def from_json(cls, data: Any) -> "GameSpec":
        """The spec `to_json` wrote; raises `InputError` naming what is missing or malformed.

        It may come from a file or a socket, so every part is checked before anything is made of it.
        """
        _require(isinstance(data, Mapping), "not a map")
        missing = [name for name in ("game", "settings", "seats", "actions", "observation") if name not in data]
        _require(not missing, f"without {', '.join(missing)}")
        game, settings, observation = data["game"], data["settings"], data["observation"]
        _require(isinstance(game, str) and 0 < len(game) <= _LONGEST_NAME, "game is not a name")
        _require(isinstance(settings, Mapping) and all(isinstance(key, str) for key in settings), "settings is no map")
        _require(isinstance(observation, Mapping) and len(observation) <= _MOST_FIELDS, "observation is no map")
        return cls(
            game=game,
            settings=dict(settings),
            seats=_integer("seats", data["seats"], 1, _MOST_SEATS),
            actions=_integer("actions", data["actions"], 1, _MOST_ACTIONS),
            observation={_field_name(name): _field(name, field) for name, field in observation.items()},
            vocabulary=Vocabulary.from_json(data["vocabulary"]) if "vocabulary" in data else None,
        )


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise InputError(f"not a game spec: {problem}")


def _integer(what: str, value: Any, least: int, most: int) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    _require(whole, f"{what} is no whole number from {least} to {most}")
    return int(value)


def _field_name(name: Any) -> str:
    _require(isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME, "a field of the observation has no name")
    return str(name)


def _field(name: str, data: Any) -> Field:
    _require(isinstance(data, Mapping) and "shape" in data and "dtype" in data, f"{name} has no shape and dtype")
    shape, dtype = data["shape"], data["dtype"]
    _require(isinstance(shape, list | tuple) and len(shape) <= _MOST_AXES, f"the shape of {name} is no list")
    sizes = tuple(_integer(f"the shape of {name}", size, 0, _MOST_NUMBERS) for size in shape)
    _require(prod(sizes) <= _MOST_NUMBERS, f"a row of {name} has more than {_MOST_NUMBERS} numbers")
    _require(isinstance(dtype, str) and dtype in DTYPES, f"the dtype of {name} is none of {', '.join(DTYPES)}")
    return Field(sizes, str(dtype))
