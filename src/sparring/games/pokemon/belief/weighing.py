"""What damage, the order of moves and the choice of one say of two Pokémon's sets, by the rules of damage and speed.

Each observation concerns two Pokémon of which neither need be known: the likelihood is worked out for every pair of
candidates, and each side's is the mean over what the other is believed to have. A share of `_ODD` is left for what the
rules here do not know of. Battles of one against one only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.belief.choosing import Choice
from sparring.games.pokemon.belief.posterior import Posterior
from sparring.games.pokemon.belief.sets import PokemonSet
from sparring.games.pokemon.columns import MOVES, SLOTS
from sparring.games.pokemon.damage import DamageEstimate
from sparring.games.pokemon.damage.combatant import F, Floats, G, I, Ints
from sparring.games.pokemon.damage.formula import strike
from sparring.games.pokemon.damage.stats import effective_speed
from sparring.games.pokemon.damage.tables import M, Rules, S, equip
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.tracker import Tracker
from sparring.games.pokemon.tracking.tables import load_tables

_ODD = 0.05
_ODD_DAMAGE = 0.02
"""How likely any damage, to the percent, is where the rules here are not those at work."""
_MOST = 24
"""Candidates of a Pokémon that are worked out; the rest is far less likely."""
_ROLLS = 16
_ATTACKS = 2
"""Categories of moves from this one on do damage."""
_KEENNESS = 6
"""How well players tell strong attacks from stronger ones: one of half the strength is taken for the strongest as often
as this power of it says."""
_HELD_OUT = 0.0201
"""Who has no more left than this (one HP, as logs show it) may have been saved from fainting."""
_FIELD_OF_PACE = [
    *range(c.FIELD_SUN, c.FIELD_STRONG_WINDS + 1),
    c.FIELD_ELECTRIC_TERRAIN,
    c.FIELD_TRICK_ROOM,
    c.FIELD_MAGIC_ROOM,
]


class Snapshot:
    """A battle at one moment, as the formulas of damage and speed see it."""

    def __init__(self, tracker: Tracker) -> None:
        self._rows = ObservationRows(1)
        tracker.write(self._rows, 0)
        self.observation = self._rows.first(1)

    def plain(self, place: int) -> bool:
        """Whether the Pokémon at a place has the stats that its set gives it."""
        active = self.observation["active"][0, place]
        return not active[c.ACTIVE_TRANSFORMED] and not active[c.ACTIVE_DYNAMAXED]

    def species(self, place: int) -> int:
        """What stands at a place."""
        return int(self.observation["active_ids"][0, place, c.ACTIVE_ID_SPECIES])

    def row(self, place: int) -> int:
        """Whose place it is; -1 if nobody stands there."""
        return int(self.observation["active_ids"][0, place, c.ACTIVE_ID_POKEMON]) - 1

    def hp(self, place: int) -> float:
        """The fraction that the Pokémon at a place has left."""
        return float(self.observation["pokemon"][0, self.row(place), c.POKEMON_HP])

    def pace(self, place: int) -> tuple[object, ...]:
        """What the speed of the Pokémon at a place depends on beside its set."""
        observation, row = self.observation, self.row(place)
        ids, active = observation["pokemon_ids"][0, row], observation["active"][0, place]
        tailwind = observation["side"][0, place // SLOTS, c.SIDE_TAILWIND]
        return (
            int(ids[c.POKEMON_ID_STATUS]),
            int(ids[c.POKEMON_ID_ITEM]),
            float(active[c.ACTIVE_BOOST_SPE]),
            bool(tailwind),
            self.species(place),
        )

    def strength(self, place: int, foe: int) -> tuple[object, ...]:
        """What decides which move of the Pokémon at `place` is the strongest, beside both sets; in rough steps."""
        active = self.observation["active"][0]
        boosts = slice(c.ACTIVE_BOOST_ATK, c.ACTIVE_BOOST_SPD + 1)
        return (round(4 * self.hp(foe)), *active[place, boosts].tolist(), *active[foe, boosts].tolist())

    def field_pace(self) -> tuple[object, ...]:
        """What everyone's speed depends on."""
        return tuple((self.observation["field"][0, _FIELD_OF_PACE] > 0).tolist())


class Hit(NamedTuple):
    """A move that took HP."""

    move: int
    before: float
    """Fraction of HP left, as shown."""
    after: float


@dataclass(frozen=True)
class _Fighter:
    """One Pokémon with each of its likely sets: rows of the damage formula."""

    sets: list[PokemonSet]
    weights: NDArray[np.float64]
    ints: NDArray[np.int64]
    floats: NDArray[np.float64]


Likelihoods = dict[PokemonSet, float]
"""By set, relative to their mean under what was believed."""


class Weighing:
    """Works out likelihoods in one format."""

    def __init__(self, format: Format) -> None:
        self._estimate = DamageEstimate(format)
        self._hidden_powers = load_tables(format.tables, format.showdown).hidden_powers

    def damage(
        self, snapshot: Snapshot, hit: Hit, places: tuple[int, int], beliefs: tuple[Posterior, Posterior]
    ) -> tuple[Likelihoods, Likelihoods] | None:
        """What a hit says of the attacker and the defender; None if the rules are not simple enough."""
        t = self._estimate.tables.rules
        held_out = 0.0 < hit.after <= _HELD_OUT  # Focus Sash, Sturdy, Endure: it may have been any damage
        if held_out or hit.move in self._hidden_powers or t.moves[hit.move, M.MOST_HITS] != 1:
            return None

        def weigh(one: _Fighter, other: _Fighter, around: Ints, out: Array) -> None:
            around[G.TARGETS] = 1
            _weigh_damage(
                t, one.ints, one.floats, other.ints, other.floats, hit.move, around, hit.before, hit.after, out
            )

        return self._weigh(snapshot, places, beliefs, weigh)

    def order(
        self, snapshot: Snapshot, places: tuple[int, int], beliefs: tuple[Posterior, Posterior]
    ) -> tuple[Likelihoods, Likelihoods] | None:
        """What it says of two Pokémon that the one at the first place moved first, with moves of equal priority."""
        t = self._estimate.tables.rules

        def weigh(one: _Fighter, other: _Fighter, around: Ints, out: Array) -> None:
            _weigh_order(t, one.ints, one.floats, other.ints, other.floats, around, out)

        return self._weigh(snapshot, places, beliefs, weigh)

    def choice(
        self, snapshot: Snapshot, move: int, places: tuple[int, int], beliefs: tuple[Posterior, Posterior]
    ) -> Choice | None:
        """What it meant to choose attack `move` at the first place, against who stood at the second then.

        None for what is no attack, and if the rules are not simple enough.
        """
        t = self._estimate.tables.rules
        fighters = self._fighters(snapshot, places, beliefs) if t.moves[move, M.CATEGORY] >= _ATTACKS else None
        if fighters is None:
            return None
        one, other, around = fighters
        around[G.TARGETS] = 1
        moves = np.array([(*each.moves, *[0] * (MOVES - len(each.moves)))[:MOVES] for each in one.sets], np.int64)
        same = np.isin(moves, list(self._hidden_powers) if move in self._hidden_powers else [move])
        worth = np.zeros(moves.shape)
        _weigh_attacks(t, one.ints, one.floats, other.ints[0], other.floats[0], moves, around, worth)
        attacks = t.moves[moves, M.CATEGORY] >= _ATTACKS
        best = worth.max(axis=1, keepdims=True)
        worth = np.where(attacks, np.where(best > 0, worth / np.maximum(best, 1e-9), 1.0) ** _KEENNESS, 0.0)
        having = np.flatnonzero(same.any(axis=1) & (one.weights > 0))
        if not len(having):
            return None
        shares = (worth * same).sum(axis=1)[having] / worth.sum(axis=1)[having]
        weights = one.weights[having]
        return Choice(
            sets=[one.sets[number] for number in having],
            weights=weights / weights.sum(),
            by_strength=shares,
            attacks=attacks.sum(axis=1)[having],
            moves=(moves > 0).sum(axis=1)[having],
        )

    def _weigh(
        self,
        snapshot: Snapshot,
        places: tuple[int, int],
        beliefs: tuple[Posterior, Posterior],
        weigh: Callable[[_Fighter, _Fighter, Ints, Array], None],
    ) -> tuple[Likelihoods, Likelihoods] | None:
        fighters = self._fighters(snapshot, places, beliefs)
        if fighters is None:
            return None
        one, other, around = fighters
        pairs = np.zeros((len(one.sets), len(other.sets)))
        weigh(one, other, around, pairs)
        return (
            relative(one.sets, one.weights, pairs @ other.weights),
            relative(other.sets, other.weights, one.weights @ pairs),
        )

    def _fighters(
        self, snapshot: Snapshot, places: tuple[int, int], beliefs: tuple[Posterior, Posterior]
    ) -> tuple[_Fighter, _Fighter, Ints] | None:
        """The two, and what is around them; None if one has other stats than its sets give it."""
        ints, floats, around = self._estimate.combatants(snapshot.observation, 0)
        fighters = []
        for place, belief in zip(places, beliefs, strict=True):
            if not len(belief.candidates) or not snapshot.plain(place) or floats[place, F.HP] <= 0:
                return None
            fighter = self._fighter(snapshot, place, belief, ints[place], floats[place])
            if not self._as_its_sets(fighter, snapshot.species(place)):
                return None
            fighters.append(fighter)
        return fighters[0], fighters[1], around

    def _as_its_sets(self, fighter: _Fighter, species: int) -> bool:
        """Whether the forme it is in has the stats of the formes its sets are of."""
        stats = self._estimate.tables.species[:, S.HP : S.SPE + 1]
        return all(np.array_equal(stats[one.species], stats[species]) for one in fighter.sets)

    def _fighter(self, snapshot: Snapshot, place: int, belief: Posterior, ints: Ints, floats: Floats) -> _Fighter:
        """Each likely set of the Pokémon at `place`, in the state it is in."""
        candidates, tables = belief.candidates, self._estimate.tables
        likeliest = np.argsort(-belief.weights, kind="stable")[:_MOST]
        weights = belief.weights[likeliest]
        many_ints, many_floats = np.tile(ints, (len(likeliest), 1)), np.tile(floats, (len(likeliest), 1))
        observation = snapshot.observation
        row = int(observation["active_ids"][0, place, c.ACTIVE_ID_POKEMON]) - 1
        item_known = (
            observation["pokemon"][0, row, c.POKEMON_ITEM_KNOWN] or observation["pokemon"][0, row, c.POKEMON_ITEM_LOST]
        )
        ability_known = observation["active_ids"][0, place, c.ACTIVE_ID_ABILITY] != 0
        species = snapshot.species(place)
        base = int(tables.species[species, S.BASE])
        for at, number in enumerate(likeliest.tolist()):
            one = candidates.sets[number]
            many_floats[at, F.HP] = one.stats[0]
            many_floats[at, F.ATK : F.SPE + 1] = one.stats[1:]
            if not item_known:
                equip(tables.items, one.item, base, many_ints[at])
                many_ints[at, I.HOLDS] = int(one.item != 0)
            if not ability_known and not observation["active"][0, place, c.ACTIVE_ABILITY_SUPPRESSED]:
                many_ints[at, I.ABILITY] = tables.abilities[one.ability]
        total = weights.sum()
        weights = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
        return _Fighter([candidates.sets[number] for number in likeliest], weights, many_ints, many_floats)


def relative(sets: list[PokemonSet], weights: NDArray[np.float64], likelihood: NDArray[np.float64]) -> Likelihoods:
    """Likelihoods `float64[n]` relative to their mean under `weights: float64[n]`, what was believed."""
    mean = float(weights @ likelihood)
    return dict(zip(sets, (likelihood / mean).tolist(), strict=True)) if mean > 0 else {}


@njit(cache=True, nogil=True)
def _weigh_damage(
    t: Rules,
    attacker_ints: Array,
    attacker_floats: Array,
    defender_ints: Array,
    defender_floats: Array,
    move: int,
    around: Ints,
    before: float,
    after: float,
    out: Array,
) -> None:
    """`out[i, j]`: how likely the shown loss of HP is for attacker i and defender j."""
    for i in range(len(attacker_ints)):
        for j in range(len(defender_ints)):
            _, high, _ = strike(
                t, attacker_ints[i], attacker_floats[i], defender_ints[j], defender_floats[j], move, around
            )
            hp = defender_floats[j, F.HP]
            share = 0.0
            for roll in range(_ROLLS):
                damage = np.floor(high * (85 + roll) / 100) / hp
                if after <= 0.0:
                    share += min(1.0, max(0.0, (damage - before) * 100 + 1.0))
                elif before >= 1.0:  # exact: only what is left is rounded up to percent
                    off = (damage - (1.0 - after)) * 100
                    share += min(1.0, max(0.0, 1.5 - abs(off - 0.5)))
                else:
                    share += max(0.0, 1.0 - abs(damage - (before - after)) * 100)
            out[i, j] = (1 - _ODD) * share / _ROLLS + _ODD * _ODD_DAMAGE


@njit(cache=True, nogil=True)
def _weigh_attacks(
    t: Rules,
    attacker_ints: Array,
    attacker_floats: Array,
    defender_ints: Ints,
    defender_floats: Floats,
    moves: Array,
    around: Ints,
    out: Array,
) -> None:
    """`out[i, m]`: what share of max HP move m of attacker i is likely to take, of what is left."""
    for i in range(len(attacker_ints)):
        for m in range(moves.shape[1]):
            low, high, _ = strike(
                t, attacker_ints[i], attacker_floats[i], defender_ints, defender_floats, moves[i, m], around
            )
            taken = min((low + high) / 2 / defender_floats[F.HP], defender_floats[F.LEFT])
            out[i, m] = taken * t.moves[moves[i, m], M.PERCENT] / 100


@njit(cache=True, nogil=True)
def _weigh_order(
    t: Rules,
    first_ints: Array,
    first_floats: Array,
    second_ints: Array,
    second_floats: Array,
    around: Ints,
    out: Array,
) -> None:
    """`out[i, j]`: how likely first i moves before second j."""
    for i in range(len(first_ints)):
        for j in range(len(second_ints)):
            one = effective_speed(t, first_ints[i], first_floats[i], around)
            other = effective_speed(t, second_ints[j], second_floats[j], around)
            ahead = 0.5 if one == other else 1.0 if one > other else 0.0
            if around[G.TRICK_ROOM] == 1:
                ahead = 1.0 - ahead
            out[i, j] = (1 - _ODD) * ahead + _ODD * 0.5
