"""The names behind the numbers in an observation: those of a dex, and those of the first version.

Numbers are ranks of ids in the dex, so that a new Showdown with one more move shifts hundreds of them. Weights and
episodes are therefore kept with their vocabulary; those of before were all made with Showdown 0.11.11.
"""

from functools import cache
from pathlib import Path

import msgspec

from sparring.core import Vocabulary
from sparring.games.pokemon.columns import (
    BELIEVED_ABILITIES,
    BELIEVED_ITEMS,
    BELIEVED_MOVES,
    BELIEVED_TERAS,
    MOVES,
    ActiveId,
    PokemonId,
)
from sparring.games.pokemon.dex import Dex

_FIRST = Path(__file__).parent / "vocabulary-0.11.11.json"
_KINDS = {
    "SPECIES": "species",
    "ABILITY": "abilities",
    "ITEM": "items",
    "LAST_ITEM": "items",
    "TYPE_1": "types",
    "TYPE_2": "types",
    "TYPE_3": "types",
    "TERA_TYPE": "types",
    "LAST_MOVE": "moves",
    "DISABLED_MOVE": "moves",
    "ENCORED_MOVE": "moves",
    "PREPARED_MOVE": "moves",
}
"""What the columns of ids number; the others (a status, a row of the team) count in an order of our own."""


_BELIEVED = {
    "moves": BELIEVED_MOVES,
    "items": BELIEVED_ITEMS,
    "abilities": BELIEVED_ABILITIES,
    "types": BELIEVED_TERAS,
}


def dex_vocabulary(dex: Dex, *, belief: bool = False) -> Vocabulary:
    """The vocabulary of observations by `dex`, with the `belief` group or without: the same in every generation."""
    believed = {"belief_ids": tuple(kind for kind, count in _BELIEVED.items() for _ in range(count))}
    return Vocabulary(
        names={
            "species": dex.species.ids[1:],
            "moves": dex.moves.ids[1:],
            "abilities": dex.abilities.ids[1:],
            "items": dex.items.ids[1:],
            "types": dex.types.ids[1:],
        },
        columns={
            "pokemon_ids": tuple(_KINDS.get(column.name, "") for column in PokemonId),
            "move_ids": ("moves",) * MOVES,
            "active_ids": tuple(_KINDS.get(column.name, "") for column in ActiveId),
            "active_move_ids": ("moves",) * MOVES,
            **(believed if belief else {}),
        },
    )


@cache
def first_vocabulary() -> Vocabulary:
    """That of everything saved before vocabularies were."""
    return Vocabulary.from_json(msgspec.json.decode(_FIRST.read_bytes()))
