"""The `raw` observation: its fields, and the flat rows they are views of.

A tracker keeps its side's view as two flat arrays, one of ids (int16) and one of floats (float32). A decision is
encoded by copying both into a row of an `ObservationRows`, whose fields are views of the same memory. Nothing is
rebuilt and nothing is converted.
"""

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.core.spec import Field
from sparring.games.pokemon.columns import (
    ACTIVES,
    BELIEVED_ABILITIES,
    BELIEVED_ITEMS,
    BELIEVED_MOVES,
    BELIEVED_TERAS,
    MOVES,
    POKEMON,
    ActiveColumn,
    ActiveId,
    BeliefColumn,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)

ID_FIELDS: Mapping[str, tuple[int, ...]] = {
    "pokemon_ids": (POKEMON, len(PokemonId)),
    "move_ids": (POKEMON, MOVES),
    "active_ids": (ACTIVES, len(ActiveId)),
    "active_move_ids": (ACTIVES, MOVES),
}
"""Shapes of the int16 fields, in the order they lie in a flat row. 0 is always unknown, none or empty."""

FLOAT_FIELDS: Mapping[str, tuple[int, ...]] = {
    "pokemon": (POKEMON, len(PokemonColumn)),
    "moves": (POKEMON, MOVES, len(MoveColumn)),
    "active": (ACTIVES, len(ActiveColumn)),
    "active_moves": (ACTIVES, MOVES, len(MoveColumn)),
    "side": (2, len(SideColumn)),
    "field": (len(FieldColumn),),
}
"""Shapes of the float32 fields, in the order they lie in a flat row. Sides are own, foe."""

RAW_FIELDS: Mapping[str, Field] = {
    **{name: Field(shape, "int16") for name, shape in ID_FIELDS.items()},
    **{name: Field(shape, "float32") for name, shape in FLOAT_FIELDS.items()},
}
"""The `raw` observation as a game spec names it."""

BELIEVED = BELIEVED_MOVES + BELIEVED_ITEMS + BELIEVED_ABILITIES + BELIEVED_TERAS
"""Guesses about one Pokémon: its likeliest moves, items, abilities and tera types, in this order."""

BELIEF_FIELDS: Mapping[str, Field] = {
    "belief_ids": Field((POKEMON, BELIEVED), "int16"),
    "belief_shares": Field((POKEMON, BELIEVED), "float32"),
    "belief": Field((POKEMON, len(BeliefColumn)), "float32"),
}
"""What the setting `belief` adds: what each Pokémon probably has, as anyone who watches can tell; see `belief.seat`."""


def _offsets(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Where each field starts in its flat row."""
    offsets, at = {}, 0
    for name, shape in shapes.items():
        offsets[name] = at
        at += prod(shape)
    return offsets


ID_OFFSETS = _offsets(ID_FIELDS)
"""Start of each int16 field in a flat row."""
FLOAT_OFFSETS = _offsets(FLOAT_FIELDS)
"""Start of each float32 field in a flat row."""
ID_COUNT = sum(prod(shape) for shape in ID_FIELDS.values())
"""Numbers in a flat row of ids."""
FLOAT_COUNT = sum(prod(shape) for shape in FLOAT_FIELDS.values())
"""Numbers in a flat row of floats."""
_ID_BYTES = ID_COUNT * np.dtype(np.int16).itemsize
_FLOAT_BYTES = FLOAT_COUNT * np.dtype(np.float32).itemsize


class ObservationRows:
    """Memory for `rows` observations; `fields` are views of it that a `Decisions` can carry.

    `ids: int16[rows, ID_COUNT]` and `floats: float32[rows, FLOAT_COUNT]` are what a tracker writes to. With `belief`
    there are `BELIEF_FIELDS` besides.
    """

    def __init__(self, rows: int, *, belief: bool = False) -> None:
        self.ids: NDArray[np.int16] = np.zeros((rows, ID_COUNT), np.int16)
        self.floats: NDArray[np.float32] = np.zeros((rows, FLOAT_COUNT), np.float32)
        self.fields: dict[str, Array] = {
            **_views(self.ids, ID_FIELDS, ID_OFFSETS),
            **_views(self.floats, FLOAT_FIELDS, FLOAT_OFFSETS),
            **({name: field.zeros(rows) for name, field in BELIEF_FIELDS.items()} if belief else {}),
        }
        self._id_bytes = self.ids.data.cast("B")
        self._float_bytes = self.floats.data.cast("B")

    def write(self, row: int, ids: memoryview, floats: memoryview) -> None:
        """Copies a view, as bytes, into a row: cheaper than to assign to a row of an array."""
        self._id_bytes[row * _ID_BYTES : (row + 1) * _ID_BYTES] = ids
        self._float_bytes[row * _FLOAT_BYTES : (row + 1) * _FLOAT_BYTES] = floats

    def first(self, rows: int) -> dict[str, Array]:
        """The fields of the first `rows` rows."""
        return {name: field[:rows] for name, field in self.fields.items()}


def _views(flat: Array, shapes: Mapping[str, tuple[int, ...]], offsets: Mapping[str, int]) -> dict[str, Array]:
    return {
        name: flat[:, offsets[name] : offsets[name] + prod(shape)].reshape(len(flat), *shape, copy=False)
        for name, shape in shapes.items()
    }
