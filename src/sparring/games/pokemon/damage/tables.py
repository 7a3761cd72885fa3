"""What the damage kernel reads of a generation's dex, as arrays."""

import re
from enum import auto
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon.damage.combatant import I, Ints, ZeroEnum
from sparring.games.pokemon.damage.effects import Ability, Item, Kind, Type, codes
from sparring.games.pokemon.dex import Dex, load_dex
from sparring.games.pokemon.settings import PINNED

CONTACT, SOUND, BULLET, PUNCH, BITE, PULSE, SLICING, WIND = range(8)
SECONDARY, RECOIL, SPREAD_FOES, SPREAD_ALL, DEFENCE_HIT, ALWAYS_CRIT, OHKO, IGNORES_BOOSTS = range(8, 16)
"""Bits of `Tables.move_bits`."""
_FLAGS = ("contact", "sound", "bullet", "punch", "bite", "pulse", "slicing", "wind")

_HIT_CHANCES = {(2, 5): 3.1, (1, 10): 6.0}
_OLD_HIT_CHANCES = {(2, 5): 3.0}


class M(ZeroEnum):
    """Columns of `Rules.moves`."""

    KIND = auto()  # code, `effects.Kind`
    TYPE = auto()
    CATEGORY = auto()
    POWER = auto()
    PERCENT = auto()  # accuracy
    PRIORITY = auto()
    TENTHS_OF_HITS = auto()  # expected
    MOST_HITS = auto()
    CRIT = auto()
    BITS = auto()


class T(ZeroEnum):
    """Columns of `Tables.items`."""

    CODE = auto()  # `effects.Item`
    RAISED = auto()
    PERCENT_RAISED = auto()
    RESISTED = auto()
    PLATE = auto()
    STUCK = auto()
    USER_1 = auto()  # base species whom the item works for; 0: anyone
    USER_2 = auto()


class S(ZeroEnum):
    """Columns of `Tables.species`."""

    HP = auto()  # base stats
    ATK = auto()
    DEF = auto()
    SPA = auto()
    SPD = auto()
    SPE = auto()
    TYPE_1 = auto()
    TYPE_2 = auto()
    TENTHS_OF_WEIGHT = auto()  # in tenths of a kilogram
    EVOLVES = auto()
    BASE = auto()  # number of the base species
    ABILITY = auto()  # the only one it can have; 0 if there are several


class Rules(NamedTuple):
    """What the formula looks up for one attack.

    Two arrays, because compiled functions count references for every array they are handed; all else is looked
    up once a Pokémon and kept in its row.
    """

    generation: int
    chart: NDArray[np.float32]
    """`float32[types, types]`"""
    moves: NDArray[np.int32]
    """`int32[moves, len(M)]`"""


class Tables(NamedTuple):
    """One generation."""

    rules: Rules
    items: NDArray[np.int32]
    """`int32[items, len(T)]`"""
    species: NDArray[np.int32]
    """`int32[species, len(S)]`"""
    abilities: NDArray[np.int32]
    """`int32[abilities]` codes, `effects.Ability`."""


@cache
def load_tables(tables: int | str, showdown: str = PINNED) -> Tables:
    """The kernel's tables of a generation, 1 to 9, or of `Format.tables`, in an installed version of Showdown."""
    dex = load_dex(tables, showdown)
    if any(dex.types[kind.name] != kind for kind in Type):
        raise ValueError("the type numbers of the dex are not in the order the damage kernel expects")
    raw = [dex.raw["moves"][id] for id in dex.moves.ids[1:]]
    moves = np.zeros((len(dex.moves), len(M)), np.int32)
    moves[:, M.KIND] = codes(Kind, dex.moves)
    moves[:, M.TYPE] = dex.move_type
    moves[:, M.CATEGORY] = dex.move_category
    moves[:, M.POWER] = dex.move_power
    moves[:, M.PERCENT] = np.rint(dex.move_accuracy * 100)
    moves[:, M.PRIORITY] = dex.move_priority
    moves[1:, M.TENTHS_OF_HITS] = [round(10 * _expected_hits(move, dex.generation)) for move in raw]
    moves[:, M.MOST_HITS] = dex.move_hits[:, 1]
    moves[:, M.CRIT] = dex.move_crit
    moves[1:, M.BITS] = [_bits(move) for move in raw]
    species = np.zeros((len(dex.species), len(S)), np.int32)
    species[:, S.HP : S.SPE + 1] = dex.species_stats
    species[:, [S.TYPE_1, S.TYPE_2]] = dex.species_types
    species[:, S.TENTHS_OF_WEIGHT] = np.rint(dex.species_weight * 10)
    species[:, S.EVOLVES] = dex.species_evolves
    species[:, S.BASE] = dex.species_base
    species[:, S.ABILITY] = np.where(dex.species_abilities[:, 1:].any(axis=1), 0, dex.species_abilities[:, 0])
    rules = Rules(generation=dex.generation, chart=dex.effectiveness, moves=moves)
    return Tables(rules=rules, items=_items(dex), species=species, abilities=codes(Ability, dex.abilities))


@njit(cache=True, nogil=True)
def equip(items: Array, item: int, base_species: int, ints: Ints) -> None:
    """Writes what item number `item` does for a Pokémon of `base_species` into its row."""
    user, other = items[item, T.USER_1], items[item, T.USER_2]
    suited = user != 0 and base_species in (user, other)
    ints[I.ITEM], ints[I.SUITED], ints[I.STUCK] = items[item, T.CODE], int(suited), items[item, T.STUCK]
    ints[I.RAISED] = items[item, T.RAISED] if suited or user == 0 else 0
    ints[I.PERCENT_RAISED] = items[item, T.PERCENT_RAISED]
    ints[I.RESISTED], ints[I.PLATE] = items[item, T.RESISTED], items[item, T.PLATE]


def _expected_hits(move: dict[str, Any], generation: int) -> float:
    hits = move.get("multihit", 1)
    if not isinstance(hits, list):
        return float(hits)
    table = _HIT_CHANCES if generation >= 5 else _OLD_HIT_CHANCES
    return table.get((hits[0], hits[1]), sum(hits) / 2)


def _bits(move: dict[str, Any]) -> int:
    bits: int = sum(1 << bit for bit, name in enumerate(_FLAGS) if name in move["flags"])
    bits |= (bool(move.get("secondaries")) or bool(move.get("hasSheerForce"))) << SECONDARY
    bits |= (bool(move.get("recoil")) or bool(move.get("hasCrashDamage"))) << RECOIL
    bits |= (move["target"] == "allAdjacentFoes") << SPREAD_FOES
    bits |= (move["target"] == "allAdjacent") << SPREAD_ALL
    bits |= (move.get("overrideDefensiveStat") == "def") << DEFENCE_HIT
    bits |= bool(move.get("willCrit")) << ALWAYS_CRIT
    bits |= bool(move.get("ohko")) << OHKO
    bits |= bool(move.get("ignoreDefensive")) << IGNORES_BOOSTS
    return bits


def _items(dex: Dex) -> NDArray[np.int32]:
    """What the items' own descriptions say: type boosters, resisting berries, whom they serve."""
    types = dex.types
    table = np.zeros((len(dex.items), len(T)), np.int32)
    table[:, T.CODE] = codes(Item, dex.items)
    for number, id in enumerate(dex.items.ids[1:], 1):
        item = dex.raw["items"][id]
        text = item.get("shortDesc", "")
        # "Holder's Fire-type attacks have 1.2x power", "... its Steel- and Dragon-type attacks have 1.2x power"
        raised = re.search(r"((?:\w+-(?:, | and )?)+)type (?:attacks?|moves) (?:will )?have (1\.\d+)x power", text)
        if raised:
            named = {types[name] for name in re.findall(r"(\w+)-", raised[1]) if types[name]}
            table[number, T.RAISED] = sum(1 << type_number for type_number in named)
            table[number, T.PERCENT_RAISED] = round(100 * float(raised[2]))
        elif "1.2x power attacks" in text:
            table[number, [T.RAISED, T.PERCENT_RAISED]] = (1 << len(types)) - 2, 120
        halved = re.search(r"Halves damage taken from a (?:supereffective )?(\w+)-type attack", text)
        if halved:
            table[number, T.RESISTED] = types[halved[1]]
        served = sorted({int(dex.species_base[dex.species[name]]) for name in item.get("itemUser", ())})[:2]
        table[number, T.USER_1 : T.USER_1 + len(served)] = served
        table[number, T.PLATE] = types[item.get("onPlate", "") or item.get("onMemory", "")]
        table[number, T.STUCK] = any(item.get(key) for key in ("megaStone", "zMove", "forcedForme", "isPrimalOrb"))
    return table
