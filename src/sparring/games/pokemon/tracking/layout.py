"""Where things lie in the flat arrays of a view: the start of every row, place and side, as plain numbers.

A `row` is a Pokémon (0..5 own, 6..11 foes), a `place` a spot on the field (own left, own right, foe left, foe right),
a `side` 0 (own) or 1 (foe). Looking a start up in a tuple costs half of working it out.
"""

from sparring.games.pokemon.columns import (
    ACTIVES,
    MOVES,
    POKEMON,
    TURN_SCALE,
    ActiveColumn,
    ActiveId,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.observation import FLOAT_OFFSETS, ID_OFFSETS

TURN = 1.0 / TURN_SCALE
"""One turn in a `*_TURNS` column."""
MOST_TURNS = 16 * TURN
"""Where counts of turns that nothing else ends stop."""

POKEMON_WIDTH = len(PokemonColumn)
POKEMON_IDS_WIDTH = len(PokemonId)
MOVE_WIDTH = len(MoveColumn)
MOVES_WIDTH = MOVES * MOVE_WIDTH
PLACE_WIDTH = len(ActiveColumn)
PLACE_IDS_WIDTH = len(ActiveId)


def _starts(first: int, count: int, width: int) -> tuple[int, ...]:
    return tuple(range(first, first + count * width, width))


POKEMON_START = _starts(FLOAT_OFFSETS["pokemon"], POKEMON, POKEMON_WIDTH)
"""By row: its `PokemonColumn`s."""
POKEMON_IDS_START = _starts(ID_OFFSETS["pokemon_ids"], POKEMON, POKEMON_IDS_WIDTH)
"""By row: its `PokemonId`s."""
MOVES_START = _starts(FLOAT_OFFSETS["moves"], POKEMON, MOVES_WIDTH)
"""By row: the `MoveColumn`s of its moves, `MOVE_WIDTH` apart."""
MOVE_IDS_START = _starts(ID_OFFSETS["move_ids"], POKEMON, MOVES)
"""By row: its move numbers."""
PLACE_START = _starts(FLOAT_OFFSETS["active"], ACTIVES, PLACE_WIDTH)
"""By place: its `ActiveColumn`s."""
PLACE_IDS_START = _starts(ID_OFFSETS["active_ids"], ACTIVES, PLACE_IDS_WIDTH)
"""By place: its `ActiveId`s."""
PLACE_MOVES_START = _starts(FLOAT_OFFSETS["active_moves"], ACTIVES, MOVES_WIDTH)
"""By place: the `MoveColumn`s of its moves."""
PLACE_MOVE_IDS_START = _starts(ID_OFFSETS["active_move_ids"], ACTIVES, MOVES)
"""By place: its move numbers."""
SIDE_START = _starts(FLOAT_OFFSETS["side"], 2, len(SideColumn))
"""By side: its `SideColumn`s."""
FIELD = FLOAT_OFFSETS["field"]
"""The field's columns."""
