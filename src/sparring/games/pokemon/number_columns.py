"""`python -m sparring.games.pokemon.number_columns` writes `column_numbers.py`: all columns as plain integers.

A member of an enum costs several times what a plain integer costs to reach, and the tracker reaches for thousands a
battle.
"""

from enum import IntEnum
from pathlib import Path

from sparring.games.pokemon.columns import (
    ActiveColumn,
    ActiveId,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
    Status,
)

NUMBERED: dict[str, type[IntEnum]] = {
    "STATUS": Status,
    "POKEMON_ID": PokemonId,
    "POKEMON": PokemonColumn,
    "MOVE": MoveColumn,
    "ACTIVE_ID": ActiveId,
    "ACTIVE": ActiveColumn,
    "SIDE": SideColumn,
    "FIELD": FieldColumn,
}
"""What the numbers of each enum start with."""
NUMBERS_FILE = Path(__file__).with_name("column_numbers.py")


def numbers_module() -> str:
    """The text of `column_numbers.py`."""
    lines = ['"""The columns of `columns.py` as plain integers. Written by `number_columns.py`: do not edit."""']
    for prefix, columns in NUMBERED.items():
        lines += ["", f"# {columns.__name__}", *(f"{prefix}_{column.name} = {column.value}" for column in columns)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    NUMBERS_FILE.write_text(numbers_module(), encoding="utf-8")
