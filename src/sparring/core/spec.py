"""What a game looks like from outside: its seats, its actions, and the arrays a seat observes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sparring.core.errors import InputError


@dataclass(frozen=True)
class Field:
    """One named array of an observation, without the leading row axis."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes one row of this field takes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def zeros(self, *leading: int) -> np.ndarray:
        """A zeroed array `dtype[*leading, *shape]`."""
        return np.zeros((*leading, *self.shape), dtype=self.dtype)


@dataclass(frozen=True)
class GameSpec:
    """The contract between a game and everything that plays it.

    `settings` are the rule options the arrays depend on (a board size, a battle format). Two specs are
    interchangeable for a network when the game says so; they are equal only when every part is.
    """

    game: str
    settings: Mapping[str, Any]
    seats: int
    actions: int
    observation: Mapping[str, Field]

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
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "GameSpec":
        """The spec `to_json` wrote; raises `InputError` naming what is missing or malformed."""
        try:
            return cls(
                game=str(data["game"]),
                settings=dict(data["settings"]),
                seats=int(data["seats"]),
                actions=int(data["actions"]),
                observation={
                    str(name): Field(tuple(int(n) for n in field["shape"]), str(np.dtype(field["dtype"])))
                    for name, field in data["observation"].items()
                },
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a game spec: {error!r}") from error
