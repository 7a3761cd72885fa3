"""Effects in the columns of an observation: what lasts on a Pokémon, a side or the field, by name."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from math import ceil

from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import TURN_SCALE, ActiveColumn, FieldColumn, SideColumn

Table = tuple[tuple[str, int, int, int], ...]
"""Of each effect: its name, its column, the column of its turns or -1, and what 1 stands for."""
_COUNTS = {"SPIKES": 3, "TOXIC_SPIKES": 2, "CHI_STRIKE": 3, "STOCKPILE": 3, "FALLEN": 5}
"""What 1 in a column stands for, where effects are counted."""
_TURNS_OF = {"DYNAMAXED": "DYNAMAX_TURNS"}
"""Columns of turns that are not called after their effect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that lasts on a Pokémon, a side or the field."""

    count: int
    """Layers or stacks; 1 where there is but one."""
    turns: int | None
    """Turns left (of sides, the field, dynamax and Perish Song) or since it began; None where they are not counted."""


def _table(columns: type[IntEnum], wanted: Iterable[int]) -> Table:
    """The effects among the wanted columns."""
    numbers = {column.name: int(column) for column in columns}
    names = [columns(number).name for number in wanted]
    return tuple(
        (name.lower(), numbers[name], numbers.get(_TURNS_OF.get(name, f"{name}_TURNS"), -1), _COUNTS.get(name, 1))
        for name in names
        if not name.endswith("_TURNS")
    )


OF_ACTIVE = _table(ActiveColumn, range(c.ACTIVE_TRANSFORMED, len(ActiveColumn)))
OF_SIDE = _table(SideColumn, range(c.SIDE_STEALTH_ROCK, c.SIDE_MEGA_USED))
OF_FIELD = _table(FieldColumn, range(c.FIELD_TRICK_ROOM, len(FieldColumn)))


def effects(values: Array, table: Table) -> dict[str, Effect]:
    """The effects of `table` that `values`, a row of columns, has."""
    return {
        name: Effect(ceil(float(values[column]) * most - 1e-3), None if turns < 0 else turns_of(values[turns]))
        for name, column, turns, most in table
        if values[column]
    }


def turns_of(value: float) -> int:
    """The turns that a column of turns stands for."""
    return round(float(value) * TURN_SCALE)
