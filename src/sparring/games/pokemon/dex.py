"""The dex: species, moves, abilities, items and types of a generation, exported from Showdown itself.

    dex = load_dex(4)                     # cached; needs the installed tables. Or load_dex(format.tables)
    dex.species["Garchomp-Mega"]          # int: any spelling or id; 0 = unknown
    dex.species.ids[n]                    # str: Showdown id of number n; "" for 0
    dex.species.numbers                   # dict[str, int] from Showdown id (cosmetic formes map to their base)
    len(dex.species)                      # rows of the arrays below, the unknown row 0 included
    (dex.moves, .abilities, .items, .types are such `Names` too)

    dex.species_stats[n]                  # int16[6] base hp, atk, def, spa, spd, spe
    dex.species_types[n]                  # uint8[2] type numbers, 0 where there is no second
    dex.move_power, dex.move_type, ...    # one array per fact, one row per number
    dex.effectiveness[attack, defend]     # float32 type chart of the generation
    dex.raw["moves"]["scald"]             # everything Showdown says, as plain dicts

Numbers are the same in every generation (one embedding table serves all), in order of id, fixed by the pinned Showdown
version. What a generation lacks still has its number; `species_exists` and `move_exists` say so. Row 0 of every array
is the unknown thing: all zeros, effectiveness 1.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.core import InputError
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.settings import PINNED
from sparring.games.pokemon.setup import installation

STATS = ("hp", "atk", "def", "spa", "spd", "spe")
STATUSES = ("", "brn", "par", "slp", "frz", "psn", "tox")
CATEGORIES = ("", "Status", "Physical", "Special")
"""`move_category` counts in this order; 0 = unknown."""
TARGETS = (
    "",
    "normal",
    "any",
    "adjacentFoe",
    "adjacentAlly",
    "adjacentAllyOrSelf",
    "self",
    "randomNormal",
    "scripted",
    "allAdjacent",
    "allAdjacentFoes",
    "allies",
    "allySide",
    "allyTeam",
    "foeSide",
    "all",
)
"""`move_target` counts in this order; 0 = unknown."""
MOVE_FLAGS = (
    "contact",
    "protect",
    "sound",
    "bullet",
    "punch",
    "bite",
    "pulse",
    "powder",
    "slicing",
    "wind",
    "dance",
    "heal",
    "charge",
    "recharge",
    "reflectable",
    "snatch",
    "bypasssub",
    "defrost",
    "gravity",
    "nonsky",
    "allyanim",
    "futuremove",
    "cantusetwice",
    "mustpressure",
)
"""Columns of `move_flags`."""


_MOST_SPELLINGS = 100_000


class Names:
    """Numbers of things by name: 1, 2, ... in order of Showdown id; 0 = unknown."""

    def __init__(self, ids: Iterable[str], also: dict[str, str]) -> None:
        """`also` maps further ids (cosmetic formes) to ids."""
        self.ids: tuple[str, ...] = ("", *ids)
        self.numbers: dict[str, int] = {id: number for number, id in enumerate(self.ids) if id}
        self.numbers.update({alias: self.numbers[id] for alias, id in also.items() if alias not in self.numbers})
        self._spelled: dict[str, int] = dict(self.numbers)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<Names: {len(self.numbers):,}, such as {', '.join(self.ids[1:4])}>"

    def __getitem__(self, name: str) -> int:
        """The number of `name` in any spelling; 0 if it is unknown, as protocol lines of other versions may be."""
        number = self._spelled.get(name)
        if number is None:
            number = self.numbers.get(to_id(name), 0)
            if len(self._spelled) < _MOST_SPELLINGS:
                self._spelled[name] = number
        return number


@dataclass(frozen=True)
class Dex:
    """All tables of one generation or mod; n is the length of the `Names` an array belongs to."""

    generation: int
    species: Names
    moves: Names
    abilities: Names
    items: Names
    types: Names
    raw: dict[str, Any]
    """`species`, `moves`, `abilities`, `items`, `natures`, `types`, `conditions` by id, as `export.js` wrote them."""

    species_exists: NDArray[np.bool_]
    species_stats: NDArray[np.int16]
    """`int16[n, 6]` base stats in the order of `STATS`."""
    species_types: NDArray[np.uint8]
    """`uint8[n, 2]`"""
    species_abilities: NDArray[np.int16]
    """`int16[n, 4]` the first, second, hidden and special ability; 0 where there is none."""
    species_base: NDArray[np.int16]
    """`int16[n]` number of the base species (of itself where it is one)."""
    species_weight: NDArray[np.float32]
    """`float32[n]` in kilograms."""
    species_evolves: NDArray[np.bool_]
    """`bool[n]` not fully evolved (Eviolite works)."""

    move_exists: NDArray[np.bool_]
    move_type: NDArray[np.uint8]
    move_category: NDArray[np.uint8]
    """`uint8[n]` index into `CATEGORIES`, by type in generations 1 to 3."""
    move_power: NDArray[np.int16]
    """`int16[n]` base power; 0 for status moves and for those whose power varies."""
    move_accuracy: NDArray[np.float32]
    """`float32[n]` from 0 to 1; 1 for moves that cannot miss."""
    move_sure: NDArray[np.bool_]
    """`bool[n]` the move has no accuracy check."""
    move_pp: NDArray[np.int16]
    """`int16[n]` PP with all PP Ups, as every team has them."""
    move_priority: NDArray[np.int8]
    move_target: NDArray[np.uint8]
    """`uint8[n]` index into `TARGETS`."""
    move_crit: NDArray[np.uint8]
    """`uint8[n]` Showdown's critical hit ratio, 1 for most."""
    move_hits: NDArray[np.uint8]
    """`uint8[n, 2]` fewest and most hits."""
    move_drain: NDArray[np.float32]
    """`float32[n]` share of the damage that heals the user; negative for recoil."""
    move_heal: NDArray[np.float32]
    """`float32[n]` share of max HP that heals the user."""
    move_flags: NDArray[np.bool_]
    """`bool[n, len(MOVE_FLAGS)]`"""

    effectiveness: NDArray[np.float32]
    """`float32[types, types]` attacking type by one defending type: 0, 0.5, 1 or 2."""


def load_dex(tables: int | str, showdown: str = PINNED) -> Dex:
    """The dex of a generation, 1 to 9, or of `Format.tables`, in a version of Showdown."""
    if isinstance(tables, str):
        return _load(tables, showdown)
    if not isinstance(tables, int) or not 1 <= tables <= 9:
        raise _no_tables(tables)
    return _load(f"gen{tables}", showdown)


def _no_tables(tables: object) -> InputError:
    return InputError(f"there is no Pokémon generation {tables!r}; allowed: 1 to 9, or a format's tables")


@cache
def _load(tables: str, showdown: str) -> Dex:
    path = installation(showdown).tables / f"{tables}.json"
    if not path.is_file():
        raise _no_tables(tables)
    return _build(msgspec.json.decode(path.read_bytes()))


def _build(raw: dict[str, Any]) -> Dex:
    cosmetic = {to_id(forme): id for id, entry in raw["species"].items() for forme in entry.get("cosmeticFormes", ())}
    species = Names(sorted(raw["species"]), cosmetic)
    moves = Names(sorted(raw["moves"]), {})
    abilities = Names(sorted(raw["abilities"]), {})
    items = Names(sorted(raw["items"]), {})
    types = Names(sorted(raw["types"]), {})
    all_species = [raw["species"][id] for id in species.ids[1:]]
    all_moves = [raw["moves"][id] for id in moves.ids[1:]]

    def rows(dtype: Any, values: list[Any]) -> Any:
        filled = np.asarray(values, dtype)
        table = np.zeros((len(filled) + 1, *filled.shape[1:]), dtype)
        table[1:] = filled
        table.setflags(write=False)
        return table

    return Dex(
        generation=raw["generation"],
        species=species,
        moves=moves,
        abilities=abilities,
        items=items,
        types=types,
        raw=raw,
        species_exists=rows(np.bool_, [entry["exists"] for entry in all_species]),
        species_stats=rows(np.int16, [entry["baseStats"] for entry in all_species]),
        species_types=rows(np.uint8, [_pair([types[name] for name in entry["types"]]) for entry in all_species]),
        species_abilities=rows(
            np.int16,
            [[abilities[entry["abilities"].get(slot, "")] for slot in ("0", "1", "H", "S")] for entry in all_species],
        ),
        species_base=rows(np.int16, [species[entry["baseSpecies"]] for entry in all_species]),
        species_weight=rows(np.float32, [entry.get("weightkg", 0.0) for entry in all_species]),
        species_evolves=rows(np.bool_, [bool(entry.get("nfe")) for entry in all_species]),
        move_exists=rows(np.bool_, [move["exists"] for move in all_moves]),
        move_type=rows(np.uint8, [types[move["type"]] for move in all_moves]),
        move_category=rows(np.uint8, [CATEGORIES.index(move["category"]) for move in all_moves]),
        move_power=rows(np.int16, [move["basePower"] for move in all_moves]),
        move_accuracy=rows(np.float32, [_accuracy(move) for move in all_moves]),
        move_sure=rows(np.bool_, [move["accuracy"] is True for move in all_moves]),
        move_pp=rows(np.int16, [move["fullPP"] for move in all_moves]),
        move_priority=rows(np.int8, [move["priority"] for move in all_moves]),
        move_target=rows(np.uint8, [TARGETS.index(move["target"]) for move in all_moves]),
        move_crit=rows(np.uint8, [move.get("critRatio", 1) for move in all_moves]),
        move_hits=rows(np.uint8, [_hits(move) for move in all_moves]),
        move_drain=rows(np.float32, [_share(move, "drain") - _share(move, "recoil") for move in all_moves]),
        move_heal=rows(np.float32, [_share(move, "heal") for move in all_moves]),
        move_flags=rows(np.bool_, [[flag in move["flags"] for flag in MOVE_FLAGS] for move in all_moves]),
        effectiveness=_type_chart(types, raw["types"]),
    )


def _type_chart(types: Names, raw: dict[str, Any]) -> NDArray[np.float32]:
    """Showdown keeps, for each defending type, 0 for 1x, 1 for 2x, 2 for 0.5x and 3 for 0x."""
    chart = np.ones((len(types), len(types)), np.float32)
    for defender, entry in raw.items():
        for attacker, code in entry["damageTaken"].items():
            if types[attacker]:
                chart[types[attacker], types[defender]] = (1.0, 2.0, 0.5, 0.0)[code]
    chart.setflags(write=False)
    return chart


def _pair(numbers: list[int]) -> list[int]:
    return [*numbers, 0][:2]


def _accuracy(move: dict[str, Any]) -> float:
    accuracy = move["accuracy"]
    return 1.0 if accuracy is True else accuracy / 100.0


def _hits(move: dict[str, Any]) -> list[int]:
    hits = move.get("multihit", 1)
    return list(hits) if isinstance(hits, list) else [hits, hits]


def _share(move: dict[str, Any], field: str) -> float:
    share = move.get(field)
    return share[0] / share[1] if share else 0.0
