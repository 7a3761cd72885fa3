"""Who stands on the field and what lies on it, as the formula sees them, read from rows of the observation.

Only what the row shows is used. What a side does not know of its foe is assumed as random battles make it: no
investment is special (`effort` in every stat), no nature, the only ability a species can have, no item.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import njit

from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import ACTIVES, BOOST_SCALE, LEVEL_SCALE, STAT_SCALE, TEAM
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints, Terrain, Weather
from sparring.games.pokemon.damage.effects import Ability
from sparring.games.pokemon.damage.stats import hp_stat, stat
from sparring.games.pokemon.damage.tables import S, Tables, equip

_PARADOX = (
    c.ACTIVE_PARADOX_ATK,
    c.ACTIVE_PARADOX_DEF,
    c.ACTIVE_PARADOX_SPA,
    c.ACTIVE_PARADOX_SPD,
    c.ACTIVE_PARADOX_SPE,
)
_WEATHERS = (
    c.FIELD_SUN,
    c.FIELD_RAIN,
    c.FIELD_SAND,
    c.FIELD_HAIL,
    c.FIELD_SNOW,
    c.FIELD_HARSH_SUN,
    c.FIELD_HEAVY_RAIN,
    c.FIELD_STRONG_WINDS,
)
_TERRAINS = (
    c.FIELD_ELECTRIC_TERRAIN,
    c.FIELD_GRASSY_TERRAIN,
    c.FIELD_MISTY_TERRAIN,
    c.FIELD_PSYCHIC_TERRAIN,
)
assert len(_WEATHERS) == len(Weather)
assert len(_TERRAINS) == len(Terrain)


class Rows(NamedTuple):
    """The fields of `raw` observations that the damage kernel reads, each C-contiguous, k rows of them."""

    pokemon_ids: Array
    move_ids: Array
    active_ids: Array
    active_move_ids: Array
    pokemon: Array
    active: Array
    side: Array
    field: Array


class Assumed(NamedTuple):
    """What is assumed of stats that nobody has told."""

    effort: int
    """Effort values in every stat."""
    individual: int
    """Individual values in every stat."""


def rows_of(observation: Mapping[str, Array]) -> Rows:
    """The fields that the kernel reads of an observation."""
    return Rows(**{name: np.ascontiguousarray(observation[name]) for name in Rows._fields})


@njit(cache=True, nogil=True)
def read_surroundings(tables: Tables, rows: Rows, row: int, around: Ints) -> None:
    """Fills `around: int64[len(G)]` from the field and the abilities of everyone on it, but for `TARGETS`, `ALLIES`."""
    field, active, active_ids = rows.field[row], rows.active[row], rows.active_ids[row]
    around[:] = 0
    around[G.DOUBLES] = int(field[c.FIELD_DOUBLES])
    for code in range(len(_WEATHERS)):
        if field[_WEATHERS[code]] != 0:
            around[G.WEATHER] = code + 1
    for code in range(len(_TERRAINS)):
        if field[_TERRAINS[code]] != 0:
            around[G.TERRAIN] = code + 1
    around[G.GRAVITY] = int(field[c.FIELD_GRAVITY] != 0)
    around[G.TRICK_ROOM] = int(field[c.FIELD_TRICK_ROOM] != 0)
    around[G.MAGIC_ROOM] = int(field[c.FIELD_MAGIC_ROOM] != 0)
    around[G.WONDER_ROOM] = int(field[c.FIELD_WONDER_ROOM] != 0)
    for place in range(ACTIVES):
        if active[place, c.ACTIVE_PRESENT] == 0:
            continue
        code = tables.abilities[active_ids[place, c.ACTIVE_ID_ABILITY]]
        if code == Ability.SWORD_OF_RUIN:
            around[G.SWORD] = 1
        elif code == Ability.BEADS_OF_RUIN:
            around[G.BEADS] = 1
        elif code == Ability.TABLETS_OF_RUIN:
            around[G.TABLETS] = 1
        elif code == Ability.VESSEL_OF_RUIN:
            around[G.VESSEL] = 1
        elif code == Ability.DARK_AURA:
            around[G.DARK_AURA] = 1
        elif code == Ability.FAIRY_AURA:
            around[G.FAIRY_AURA] = 1
        elif code == Ability.AURA_BREAK:
            around[G.AURA_BREAK] = 1
        elif code == Ability.CLOUD_NINE or code == Ability.AIR_LOCK:
            around[G.WEATHER] = 0


@njit(cache=True, nogil=True)
def read_combatant(
    tables: Tables, assumed: Assumed, rows: Rows, row: int, at: int, place: int, ints: Ints, floats: Floats
) -> None:
    """Fills one Pokémon's `ints: int64[len(I)]` and `floats: float64[len(F)]`.

    It is in team row `at`, and on the field at `place` or on the bench (-1).
    """
    effort, individual = assumed.effort, assumed.individual
    species_table, side = tables.species, rows.side[row, at // TEAM]
    ints[:] = 0
    ids, numbers = rows.pokemon_ids[row, at], rows.pokemon[row, at]
    species, ability = ids[c.POKEMON_ID_SPECIES], ids[c.POKEMON_ID_ABILITY]
    known_item = ids[c.POKEMON_ID_ITEM]
    level = int(np.rint(numbers[c.POKEMON_LEVEL] * LEVEL_SCALE))
    transformed = False
    ints[I.OWN_1], ints[I.OWN_2] = ids[c.POKEMON_ID_TYPE_1], ids[c.POKEMON_ID_TYPE_2]
    ints[I.TYPE_1], ints[I.TYPE_2] = ids[c.POKEMON_ID_TYPE_1], ids[c.POKEMON_ID_TYPE_2]
    ints[I.STATUS] = ids[c.POKEMON_ID_STATUS]
    if numbers[c.POKEMON_TERASTALLIZED] != 0:
        ints[I.TERA] = ids[c.POKEMON_ID_TERA_TYPE]
        ints[I.TYPE_1], ints[I.TYPE_2] = ids[c.POKEMON_ID_TERA_TYPE], 0
    base = species
    if place >= 0:
        now, seen = rows.active[row, place], rows.active_ids[row, place]
        transformed = now[c.ACTIVE_TRANSFORMED] != 0
        base = seen[c.ACTIVE_ID_SPECIES]
        ability = seen[c.ACTIVE_ID_ABILITY]
        ints[I.TYPE_1] = seen[c.ACTIVE_ID_TYPE_1]
        ints[I.TYPE_2] = seen[c.ACTIVE_ID_TYPE_2]
        ints[I.TYPE_3] = seen[c.ACTIVE_ID_TYPE_3]
        if transformed:
            ints[I.OWN_1], ints[I.OWN_2] = species_table[base, S.TYPE_1], species_table[base, S.TYPE_2]
        for boost in range(5):
            ints[I.ATK + boost] = int(np.rint(now[c.ACTIVE_BOOST_ATK + boost] * BOOST_SCALE))
        for boost in range(7):
            ints[I.BOOSTS] += max(0, int(np.rint(now[c.ACTIVE_BOOST_ATK + boost] * BOOST_SCALE)))
        ints[I.AFLOAT] = int(now[c.ACTIVE_MAGNET_RISE] != 0 or now[c.ACTIVE_TELEKINESIS] != 0)
        ints[I.GROUNDED] = int(now[c.ACTIVE_SMACK_DOWN] != 0 or now[c.ACTIVE_INGRAIN] != 0)
        ints[I.FLASH_FIRE] = int(now[c.ACTIVE_FLASH_FIRE] != 0)
        ints[I.CHARGED] = int(now[c.ACTIVE_CHARGE] != 0)
        ints[I.HELPED] = int(now[c.ACTIVE_HELPED] != 0)
        ints[I.SLOW_START] = int(now[c.ACTIVE_SLOW_START] != 0)
        ints[I.DYNAMAXED] = int(now[c.ACTIVE_DYNAMAXED] != 0)
        ints[I.GLAIVE_RUSH] = int(now[c.ACTIVE_GLAIVE_RUSH] != 0)
        ints[I.FORESIGHT] = int(now[c.ACTIVE_FORESIGHT] != 0)
        ints[I.FALLEN] = int(np.rint(now[c.ACTIVE_FALLEN] * 5))
        for number in range(5):
            if now[_PARADOX[number]] != 0:
                ints[I.PARADOX] = number + 1
        if now[c.ACTIVE_ABILITY_SUPPRESSED] != 0:
            ability = 0
        elif ability == 0:
            ability = species_table[base, S.ABILITY]
        ints[I.REFLECT] = int(now[c.ACTIVE_REFLECT_SELF] != 0)
        ints[I.LIGHT_SCREEN] = int(now[c.ACTIVE_LIGHT_SCREEN_SELF] != 0)
    elif ability == 0:
        ability = species_table[species, S.ABILITY]
    ints[I.REFLECT] |= int(side[c.SIDE_REFLECT] != 0)
    ints[I.LIGHT_SCREEN] |= int(side[c.SIDE_LIGHT_SCREEN] != 0)
    ints[I.AURORA_VEIL] = int(side[c.SIDE_AURORA_VEIL] != 0)
    ints[I.TAILWIND] = int(side[c.SIDE_TAILWIND] != 0)
    ints[I.ABILITY] = tables.abilities[ability]
    equip(tables.items, known_item, species_table[base, S.BASE], ints)
    ints[I.EVOLVES], ints[I.BASE_SPEED] = species_table[base, S.EVOLVES], species_table[base, S.SPE]
    empty = known_item == 0 and (numbers[c.POKEMON_ITEM_KNOWN] != 0 or numbers[c.POKEMON_ITEM_LOST] != 0)
    ints[I.HOLDS] = 0 if empty or tables.rules.generation == 1 else 1
    ints[I.LEVEL] = level
    floats[F.LEFT] = max(0.001, numbers[c.POKEMON_HP])
    floats[F.WEIGHT] = species_table[base, S.TENTHS_OF_WEIGHT] / 10
    told = round(numbers[c.POKEMON_MAX_HP] * STAT_SCALE)
    floats[F.HP] = told if told > 0 else hp_stat(species_table[species, S.HP], level, effort, individual)
    for number in range(5):
        told = round(numbers[c.POKEMON_STAT_ATK + number] * STAT_SCALE)
        if told > 0 and not transformed:
            floats[F.ATK + number] = told
        else:
            floats[F.ATK + number] = stat(
                species_table[base, S.ATK + number], level, assumed.effort, assumed.individual
            )
    if ints[I.DYNAMAXED] == 1 and told == 0:
        floats[F.HP] *= 2.0
