"""The damage part of the `full` observation, for a batch of rows in one call of one compiled kernel."""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.core.spec import Field
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import ACTIVES, MOVES, SLOTS, TEAM
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints
from sparring.games.pokemon.damage.formula import strike
from sparring.games.pokemon.damage.reading import Assumed, Rows, read_combatant, read_surroundings, rows_of
from sparring.games.pokemon.damage.stats import effective_speed
from sparring.games.pokemon.damage.tables import ALWAYS_CRIT, M, Rules, Tables, load_tables
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


class Estimates(NamedTuple):
    """Where the kernel writes, k rows of `DAMAGE_FIELDS`."""

    damage: Array
    ko: Array
    damage_back: Array
    ko_back: Array
    faster: Array


class DamageEstimate:
    """The estimate for one format."""

    def __init__(self, format: Format) -> None:
        old = format.generation <= 2
        self.tables: Tables = load_tables(format.tables, format.showdown)
        # Team builders spend 508 points on two or three stats: half of the most is the middle of what may come.
        effort = 252 if old else 84 if format.random_teams else 128
        self.assumed = Assumed(effort, individual=30 if old else 31)

    def write(self, observation: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """Fills the first k rows of `out` (`DAMAGE_FIELDS`, C-contiguous) from k rows of the `raw` fields."""
        rows = len(observation["field"])
        estimates = Estimates(**{name: out[name][:rows] for name in Estimates._fields})
        _estimate(self.tables, self.assumed, rows_of(observation), estimates)

    def combatants(
        self, observation: Mapping[str, Array], row: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Everyone on the field as the formula sees them: `int64[ACTIVES, len(I)]`, `float64[ACTIVES, len(F)]`.

        All 0 where nobody stands. The third is the field, `int64[len(G)]`, without `TARGETS` and `ALLIES`.
        """
        rows = rows_of({name: observation[name][row : row + 1] for name in Rows._fields})
        around = np.zeros(_AROUND, np.int64)
        read_surroundings(self.tables, rows, 0, around)
        ints, floats = np.zeros((ACTIVES, _INTS), np.int64), np.zeros((ACTIVES, _FLOATS))
        for place in range(ACTIVES):
            if rows.active[0, place, c.ACTIVE_PRESENT] != 0:
                at = int(rows.active_ids[0, place, c.ACTIVE_ID_POKEMON]) - 1
                read_combatant(self.tables, self.assumed, rows, 0, at, place, ints[place], floats[place])
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
def _estimate(tables: Tables, assumed: Assumed, rows: Rows, out: Estimates) -> None:
    t = tables.rules
    pokemon, active, active_ids = rows.pokemon, rows.active, rows.active_ids
    own_i, own_f = np.zeros((TEAM, _INTS), np.int64), np.zeros((TEAM, _FLOATS))
    foe_i, foe_f = np.zeros((SLOTS, _INTS), np.int64), np.zeros((SLOTS, _FLOATS))
    around = np.zeros(_AROUND, np.int64)
    for row in range(len(rows.field)):
        out.damage[row], out.ko[row], out.damage_back[row], out.ko_back[row] = 0.0, 0.0, 0.0, 0.0
        out.faster[row] = 0.0
        place_of = np.full(2 * TEAM, -1, np.int64)
        for place in range(ACTIVES):
            if active_ids[row, place, c.ACTIVE_ID_POKEMON] > 0:
                place_of[active_ids[row, place, c.ACTIVE_ID_POKEMON] - 1] = place
        read_surroundings(tables, rows, row, around)
        foes, allies = 0, 0
        for slot in range(SLOTS):
            foes += int(active[row, SLOTS + slot, c.ACTIVE_PRESENT])
            allies += int(active[row, slot, c.ACTIVE_PRESENT])
        for slot in range(SLOTS):
            at = active_ids[row, SLOTS + slot, c.ACTIVE_ID_POKEMON] - 1
            foe_f[slot, F.HP] = 0.0
            if at >= 0 and active[row, SLOTS + slot, c.ACTIVE_PRESENT] != 0:
                read_combatant(tables, assumed, rows, row, at, SLOTS + slot, foe_i[slot], foe_f[slot])
        for mine in range(TEAM):
            if pokemon[row, mine, c.POKEMON_KNOWN] == 0 or pokemon[row, mine, c.POKEMON_FAINTED] != 0:
                continue
            if pokemon[row, mine, c.POKEMON_ABSENT] != 0:
                continue
            place = place_of[mine]
            read_combatant(tables, assumed, rows, row, mine, place, own_i[mine], own_f[mine])
            for slot in range(SLOTS):
                if foe_f[slot, F.HP] <= 0.0:
                    continue
                around[G.TARGETS], around[G.ALLIES] = foes, max(0, allies - 1)
                for m in range(MOVES):
                    move = rows.active_move_ids[row, place, m] if place >= 0 else rows.move_ids[row, mine, m]
                    out.damage[row, mine, m, slot], out.ko[row, mine, m, slot] = _outcome(
                        t, own_i[mine], own_f[mine], foe_i[slot], foe_f[slot], move, around
                    )
                around[G.TARGETS], around[G.ALLIES] = max(1, allies), max(0, foes - 1)
                for m in range(MOVES):
                    move = rows.active_move_ids[row, SLOTS + slot, m]
                    out.damage_back[row, slot, m, mine], out.ko_back[row, slot, m, mine] = _outcome(
                        t, foe_i[slot], foe_f[slot], own_i[mine], own_f[mine], move, around
                    )
                mine_speed = effective_speed(t, own_i[mine], own_f[mine], around)
                foe_speed = effective_speed(t, foe_i[slot], foe_f[slot], around)
                first = 0.5 if mine_speed == foe_speed else 1.0 if mine_speed > foe_speed else 0.0
                out.faster[row, mine, slot] = 1.0 - first if around[G.TRICK_ROOM] == 1 else first


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
