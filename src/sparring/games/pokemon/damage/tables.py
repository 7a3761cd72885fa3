"""What the damage kernel reads of a generation's dex, as arrays."""

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.damage.effects import Ability, Item, Kind, Type, codes
from sparring.games.pokemon.dex import Dex, load_dex

CONTACT, SOUND, BULLET, PUNCH, BITE, PULSE, SLICING, WIND = range(8)
SECONDARY, RECOIL, SPREAD_FOES, SPREAD_ALL, DEFENCE_HIT, ALWAYS_CRIT, OHKO, IGNORES_BOOSTS = range(8, 16)
"""Bits of `Tables.move_bits`."""
_FLAGS = ("contact", "sound", "bullet", "punch", "bite", "pulse", "slicing", "wind")

_HIT_CHANCES = {(2, 5): 3.1, (1, 10): 6.0}
_OLD_HIT_CHANCES = {(2, 5): 3.0}


class Tables(NamedTuple):
    """One generation; n is the count of moves, abilities, items or species."""

    generation: int
    chart: NDArray[np.float32]
    """`float32[types, types]`"""
    ability: NDArray[np.int16]
    """`int16[n]` code of each ability."""
    item: NDArray[np.int16]
    """`int16[n]` code of each item."""
    item_boost: NDArray[np.bool_]
    """`bool[n, types]` the item raises the power of moves of these types."""
    item_factor: NDArray[np.float32]
    """`float32[n]` by how much."""
    item_resist: NDArray[np.uint8]
    """`uint8[n]` the berry halves super-effective moves of this type."""
    item_user: NDArray[np.int16]
    """`int16[n, 2]` base species whom the item works for; 0: anyone."""
    item_plate: NDArray[np.uint8]
    """`uint8[n]` the type that Judgment or Multi-Attack takes from it."""
    item_stuck: NDArray[np.bool_]
    """`bool[n]` Knock Off cannot take it (mega stones, Z-crystals, masks)."""
    kind: NDArray[np.int16]
    """`int16[n]` code of each move."""
    move_type: NDArray[np.uint8]
    move_category: NDArray[np.uint8]
    move_power: NDArray[np.int16]
    move_accuracy: NDArray[np.float32]
    move_priority: NDArray[np.int8]
    move_hits: NDArray[np.float32]
    """`float32[n]` expected hits."""
    move_most_hits: NDArray[np.uint8]
    move_crit: NDArray[np.uint8]
    move_bits: NDArray[np.uint32]
    species_stats: NDArray[np.int16]
    species_types: NDArray[np.uint8]
    species_weight: NDArray[np.float32]
    species_evolves: NDArray[np.bool_]
    species_base: NDArray[np.int16]
    species_ability: NDArray[np.int16]
    """`int16[n]` the only ability the species can have; 0 if there are several."""


@cache
def load_tables(generation: int) -> Tables:
    """The kernel's tables of a generation, 1 to 9. Needs the installed simulator."""
    dex = load_dex(generation)
    if any(dex.types[kind.name] != kind for kind in Type):
        raise ValueError("the type numbers of the dex are not in the order the damage kernel expects")
    boost, factor, resist, users, plate, stuck = _items(dex)
    moves = [dex.raw["moves"][id] for id in dex.moves.ids[1:]]
    return Tables(
        generation=generation,
        chart=dex.effectiveness,
        ability=codes(Ability, dex.abilities),
        item=codes(Item, dex.items),
        item_boost=boost,
        item_factor=factor,
        item_resist=resist,
        item_user=users,
        item_plate=plate,
        item_stuck=stuck,
        kind=codes(Kind, dex.moves),
        move_type=dex.move_type,
        move_category=dex.move_category,
        move_power=dex.move_power,
        move_accuracy=dex.move_accuracy,
        move_priority=dex.move_priority,
        move_hits=np.array([1.0, *(_expected_hits(move, generation) for move in moves)], np.float32),
        move_most_hits=np.ascontiguousarray(dex.move_hits[:, 1]),
        move_crit=dex.move_crit,
        move_bits=np.array([0, *(_bits(move) for move in moves)], np.uint32),
        species_stats=dex.species_stats,
        species_types=dex.species_types,
        species_weight=dex.species_weight,
        species_evolves=dex.species_evolves,
        species_base=dex.species_base,
        species_ability=np.where(dex.species_abilities[:, 1:].any(axis=1), 0, dex.species_abilities[:, 0]).astype(
            np.int16
        ),
    )


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


def _items(dex: Dex) -> tuple[Any, ...]:
    """What the items' own descriptions say: type boosters, resisting berries, whom they serve."""
    n, types = len(dex.items), dex.types
    boost = np.zeros((n, len(types)), np.bool_)
    factor = np.ones(n, np.float32)
    resist = np.zeros(n, np.uint8)
    users = np.zeros((n, 2), np.int16)
    plate = np.zeros(n, np.uint8)
    stuck = np.zeros(n, np.bool_)
    for number, id in enumerate(dex.items.ids[1:], 1):
        item = dex.raw["items"][id]
        text = item.get("shortDesc", "")
        # "Holder's Fire-type attacks have 1.2x power", "... its Steel- and Dragon-type attacks have 1.2x power"
        raised = re.search(r"((?:\w+-(?:, | and )?)+)type (?:attacks?|moves) (?:will )?have (1\.\d)x power", text)
        if raised:
            named = [types[name] for name in re.findall(r"(\w+)-", raised[1]) if types[name]]
            boost[number, named] = True
            factor[number] = float(raised[2])
        elif "1.2x power attacks" in text:
            boost[number] = True
            factor[number] = 1.2
        halved = re.search(r"Halves damage taken from a (?:supereffective )?(\w+)-type attack", text)
        if halved:
            resist[number] = types[halved[1]]
        served = sorted({int(dex.species_base[dex.species[name]]) for name in item.get("itemUser", ())})[:2]
        users[number, : len(served)] = served
        plate[number] = types[item.get("onPlate", "") or item.get("onMemory", "")]
        stuck[number] = any(item.get(key) for key in ("megaStone", "zMove", "forcedForme", "isPrimalOrb"))
    boost[:, 0] = False
    return boost, factor, resist, users, plate, stuck
