"""The damage part of the `full` observation, for a batch of rows in one call of one compiled kernel.

Only what the row shows is used. What a side does not know of its foe is assumed as random battles make it: no
investment is special (`effort` in every stat), no nature, the only ability a species can have, no item.
"""

from collections.abc import Mapping
from itertools import product

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.core.spec import Field
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import ACTIVES, BOOST_SCALE, LEVEL_SCALE, MOVES, SLOTS, STAT_SCALE, TEAM
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints, Terrain, Weather
from sparring.games.pokemon.damage.effects import Ability
from sparring.games.pokemon.damage.formula import strike
from sparring.games.pokemon.damage.stats import effective_speed, hp_stat, stat
from sparring.games.pokemon.damage.tables import ALWAYS_CRIT, M, Rules, S, Tables, equip, load_tables
from sparring.games.pokemon.formats import Format

DAMAGE_FIELDS: Mapping[str, Field] = {
    "damage": Field((TEAM, MOVES, SLOTS), "float32"),
    "ko": Field((TEAM, MOVES, SLOTS), "float32"),
    "damage_back": Field((SLOTS, MOVES, TEAM), "float32"),
    "ko_back": Field((SLOTS, MOVES, TEAM), "float32"),
    "faster": Field((TEAM, SLOTS), "float32"),
}
"""What the `full` observation adds to `raw`.

- `damage`, `ko`: move m of own team row r at foe place p: expected share of the foe's max HP if it hits (at most 2,
  critical hits weighed in), and the chance that it faints the foe now (accuracy included).
- `damage_back`, `ko_back`: the known move m of foe place p at own team row r, likewise.
- `faster`: 1 if own team row r would move before foe place p with moves of equal priority, 0.5 at a tie, else 0.

Rows of the bench count as if they stood on the field without boosts. 0 where a Pokémon or a move is not there.
"""

_MOST = 2.0
_INTS, _FLOATS, _AROUND = len(I), len(F), len(G)
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


class DamageEstimate:
    """The estimate for one format."""

    def __init__(self, format: Format) -> None:
        old = format.generation <= 2
        self.tables: Tables = load_tables(format.tables, format.showdown)
        # Team builders spend 508 points on two or three stats: half of the most is the middle of what may come.
        self.effort = 252 if old else 84 if format.random_teams else 128
        self.individual = 30 if old else 31

    def write(self, observation: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """Fills the first k rows of `out` (`DAMAGE_FIELDS`, C-contiguous) from k rows of the `raw` fields."""
        rows = len(observation["field"])
        _estimate(
            *self.tables,
            self.effort,
            self.individual,
            np.ascontiguousarray(observation["pokemon_ids"]),
            np.ascontiguousarray(observation["move_ids"]),
            np.ascontiguousarray(observation["active_ids"]),
            np.ascontiguousarray(observation["active_move_ids"]),
            np.ascontiguousarray(observation["pokemon"]),
            np.ascontiguousarray(observation["active"]),
            np.ascontiguousarray(observation["side"]),
            np.ascontiguousarray(observation["field"]),
            out["damage"][:rows],
            out["ko"][:rows],
            out["damage_back"][:rows],
            out["ko_back"][:rows],
            out["faster"][:rows],
        )

    def combatants(
        self, observation: Mapping[str, Array], row: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Everyone on the field as the formula sees them: `int64[ACTIVES, len(I)]`, `float64[ACTIVES, len(F)]`.

        All 0 where nobody stands. The third is the field, `int64[len(G)]`, without `TARGETS` and `ALLIES`.
        """
        t, items, species, abilities = self.tables
        names = ("pokemon_ids", "pokemon", "active_ids", "active", "side", "field")
        ids, pokemon, active_ids, active, side, field = (observation[name][row] for name in names)
        around = np.zeros(_AROUND, np.int64)
        _surroundings(abilities, active_ids, active, field, around)
        ints, floats = np.zeros((ACTIVES, _INTS), np.int64), np.zeros((ACTIVES, _FLOATS))
        for place in range(ACTIVES):
            if active[place, c.ACTIVE_PRESENT] != 0:
                _combatant(
                    t.generation, items, species, abilities, self.effort, self.individual,
                    ids, pokemon, active_ids, active, side[place // SLOTS],
                    int(active_ids[place, c.ACTIVE_ID_POKEMON]) - 1, place, ints[place], floats[place],
                )  # fmt: skip
        return ints, floats, around

    def ranges(self, observation: Mapping[str, Array], row: int) -> NDArray[np.float64]:
        """`float64[SLOTS, MOVES, SLOTS, 2]`: lowest and highest share of max HP that a hit takes, for people to read.

        By own place, its move, foe place; critical hits are left out. 0 where somebody or a move is not there.
        """
        ints, floats, around = self.combatants(observation, row)
        t, moves = self.tables.rules, observation["active_move_ids"][row]
        there = [place for place in range(ACTIVES) if floats[place, F.HP] > 0]
        own, foes = [place for place in there if place < SLOTS], [place for place in there if place >= SLOTS]
        around[G.TARGETS], around[G.ALLIES] = len(foes), max(0, len(own) - 1)
        ranges = np.zeros((SLOTS, MOVES, SLOTS, 2))
        for mine, foe, move in product(own, foes, range(MOVES)):
            attack = strike(t, ints[mine], floats[mine], ints[foe], floats[foe], int(moves[mine, move]), around)
            ranges[mine, move, foe - SLOTS] = np.array(attack[:2]) / floats[foe, F.HP]
        return ranges


@njit(cache=True, nogil=True)
def _estimate(
    t: Rules,
    items: Array,
    species_table: Array,
    abilities: Array,
    effort: int,
    individual: int,
    pokemon_ids: Array,
    move_ids: Array,
    active_ids: Array,
    active_move_ids: Array,
    pokemon: Array,
    active: Array,
    side: Array,
    field: Ints,
    damage: Array,
    ko: Array,
    damage_back: Array,
    ko_back: Array,
    faster: Array,
) -> None:
    own_i, own_f = np.zeros((TEAM, _INTS), np.int64), np.zeros((TEAM, _FLOATS))
    foe_i, foe_f = np.zeros((SLOTS, _INTS), np.int64), np.zeros((SLOTS, _FLOATS))
    around = np.zeros(_AROUND, np.int64)
    for row in range(len(field)):
        damage[row], ko[row], damage_back[row], ko_back[row], faster[row] = 0.0, 0.0, 0.0, 0.0, 0.0
        place_of = np.full(2 * TEAM, -1, np.int64)
        for place in range(ACTIVES):
            if active_ids[row, place, c.ACTIVE_ID_POKEMON] > 0:
                place_of[active_ids[row, place, c.ACTIVE_ID_POKEMON] - 1] = place
        _surroundings(abilities, active_ids[row], active[row], field[row], around)
        foes, allies = 0, 0
        for slot in range(SLOTS):
            foes += int(active[row, SLOTS + slot, c.ACTIVE_PRESENT])
            allies += int(active[row, slot, c.ACTIVE_PRESENT])
        for slot in range(SLOTS):
            at = active_ids[row, SLOTS + slot, c.ACTIVE_ID_POKEMON] - 1
            foe_f[slot, F.HP] = 0.0
            if at >= 0 and active[row, SLOTS + slot, c.ACTIVE_PRESENT] != 0:
                _combatant(
                    t.generation, items, species_table, abilities, effort, individual,
                    pokemon_ids[row], pokemon[row], active_ids[row], active[row], side[row, 1],
                    at, SLOTS + slot, foe_i[slot], foe_f[slot],
                )  # fmt: skip
        for mine in range(TEAM):
            if pokemon[row, mine, c.POKEMON_KNOWN] == 0 or pokemon[row, mine, c.POKEMON_FAINTED] != 0:
                continue
            if pokemon[row, mine, c.POKEMON_ABSENT] != 0:
                continue
            place = place_of[mine]
            _combatant(
                t.generation, items, species_table, abilities, effort, individual,
                pokemon_ids[row], pokemon[row], active_ids[row], active[row], side[row, 0],
                mine, place, own_i[mine], own_f[mine],
            )  # fmt: skip
            for slot in range(SLOTS):
                if foe_f[slot, F.HP] <= 0.0:
                    continue
                around[G.TARGETS], around[G.ALLIES] = foes, max(0, allies - 1)
                for m in range(MOVES):
                    move = active_move_ids[row, place, m] if place >= 0 else move_ids[row, mine, m]
                    damage[row, mine, m, slot], ko[row, mine, m, slot] = _outcome(
                        t, own_i[mine], own_f[mine], foe_i[slot], foe_f[slot], move, around
                    )
                around[G.TARGETS], around[G.ALLIES] = max(1, allies), max(0, foes - 1)
                for m in range(MOVES):
                    damage_back[row, slot, m, mine], ko_back[row, slot, m, mine] = _outcome(
                        t, foe_i[slot], foe_f[slot], own_i[mine], own_f[mine],
                        active_move_ids[row, SLOTS + slot, m], around,
                    )  # fmt: skip
                mine_speed = effective_speed(t, own_i[mine], own_f[mine], around)
                foe_speed = effective_speed(t, foe_i[slot], foe_f[slot], around)
                first = 0.5 if mine_speed == foe_speed else 1.0 if mine_speed > foe_speed else 0.0
                faster[row, mine, slot] = 1.0 - first if around[G.TRICK_ROOM] == 1 else first


@njit(cache=True, nogil=True)
def _outcome(t: Rules, ai: Ints, af: Floats, di: Ints, df: Floats, move: int, around: Ints) -> tuple[float, float]:
    """(expected share of max HP, chance to faint) of one move."""
    low, high, _ = strike(t, ai, af, di, df, move, around)
    if high <= 0.0:
        return 0.0, 0.0
    chance, factor = _critical(t, ai, move)
    mean = (low + high) / 2 * (1.0 + chance * (factor - 1.0))
    left = df[F.LEFT] * df[F.HP]
    plain = _at_least(low, high, left)
    faints = plain + chance * (_at_least(low * factor, high * factor, left) - plain)
    return min(_MOST, mean / df[F.HP]), faints * t.moves[move, M.PERCENT] / 100


@njit(cache=True, nogil=True)
def _at_least(low: float, high: float, left: float) -> float:
    if left <= low:
        return 1.0
    if left > high:
        return 0.0
    return (high - left + 1.0) / (high - low + 1.0)


@njit(cache=True, nogil=True)
def _critical(t: Rules, ai: Ints, move: int) -> tuple[float, float]:
    """(chance, factor) of a critical hit; 0 where the formula already counts one."""
    ratio = t.moves[move, M.CRIT]
    if (t.moves[move, M.BITS] >> ALWAYS_CRIT) & 1 == 1 and t.generation >= 3:
        return 0.0, 1.0
    if t.generation == 1:
        chance = ai[I.BASE_SPEED] / 512.0 * (8.0 if ratio > 1 else 1.0)
        return min(chance, 255 / 256), 2.0
    if t.generation <= 5:
        chance = 1 / 16 if ratio <= 1 else (1 / 4 if t.generation == 2 else 1 / 8)
        return chance, 2.0
    return 1 / 24 if ratio <= 1 else 1 / 8 if ratio == 2 else 1 / 2, 1.5


@njit(cache=True, nogil=True)
def _surroundings(abilities: Array, active_ids: Array, active: Array, field: Ints, around: Ints) -> None:
    """Fills `around: int64[len(G)]` from the field and the abilities of everyone on it."""
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
        code = abilities[active_ids[place, c.ACTIVE_ID_ABILITY]]
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
def _combatant(
    generation: int,
    items: Array,
    species_table: Array,
    abilities: Array,
    effort: int,
    individual: int,
    pokemon_ids: Array,
    pokemon: Array,
    active_ids: Array,
    active: Array,
    side: Array,
    at: int,
    place: int,
    ints: Ints,
    floats: Floats,
) -> None:
    """Fills one Pokémon's rows: team row `at`, on the field at `place` or on the bench (-1)."""
    ints[:] = 0
    ids, numbers = pokemon_ids[at], pokemon[at]
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
        now = active[place]
        transformed = now[c.ACTIVE_TRANSFORMED] != 0
        base = active_ids[place, c.ACTIVE_ID_SPECIES]
        ability = active_ids[place, c.ACTIVE_ID_ABILITY]
        ints[I.TYPE_1] = active_ids[place, c.ACTIVE_ID_TYPE_1]
        ints[I.TYPE_2] = active_ids[place, c.ACTIVE_ID_TYPE_2]
        ints[I.TYPE_3] = active_ids[place, c.ACTIVE_ID_TYPE_3]
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
    ints[I.ABILITY] = abilities[ability]
    equip(items, known_item, species_table[base, S.BASE], ints)
    ints[I.EVOLVES], ints[I.BASE_SPEED] = species_table[base, S.EVOLVES], species_table[base, S.SPE]
    empty = known_item == 0 and (numbers[c.POKEMON_ITEM_KNOWN] != 0 or numbers[c.POKEMON_ITEM_LOST] != 0)
    ints[I.HOLDS] = 0 if empty or generation == 1 else 1
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
            floats[F.ATK + number] = stat(species_table[base, S.ATK + number], level, effort, individual)
    if ints[I.DYNAMAXED] == 1 and told == 0:
        floats[F.HP] *= 2.0
