"""Sets that a Pokémon may have, as arrays, with how likely each is before the battle.

A `SetPool` holds the candidates of every species of a format. Beside the candidates there is always the chance of
something else, `Candidates.other`: next to nothing if the pool is all there is; of a sample, the share of sets that it
is expected to have missed (Good and Turing: the share of those seen once).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.columns import MOVES
from sparring.games.pokemon.dex import STATS, Dex
from sparring.games.pokemon.tracking.tables import Tables

LEAST_OTHER = 1e-3
"""The chance of something else that is always left."""
MOST_OTHER = 0.9
_SET_FIELDS = 12
"""Of a packed set: name, species, item, ability, moves, nature, evs, gender, ivs, shiny, level, the rest."""


@dataclass(frozen=True, slots=True)
class PokemonSet:
    """A whole set, in the numbers of the dex."""

    species: int
    ability: int
    item: int
    moves: tuple[int, ...]
    """In rising order."""
    stats: tuple[int, ...]
    """Max HP, then the five others, in the order of `dex.STATS`."""
    tera: int
    """0 where it is left to the rules."""
    level: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """The sets that a Pokémon may have; all arrays have a row a set."""

    sets: tuple[PokemonSet, ...]
    prior: NDArray[np.float64]
    """`float64[n]` adds up to 1 without `other`."""
    other: float
    """The chance that it is none of them."""
    ability: NDArray[np.int64]
    item: NDArray[np.int64]
    moves: NDArray[np.int64]
    """`int64[n, MOVES]` 0 where a set has fewer."""
    stats: NDArray[np.int64]
    """`int64[n, 6]`"""
    tera: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sets)


def make_candidates(counts: Mapping[PokemonSet, float], *, other: float) -> Candidates:
    """Candidates whose prior is proportional to `counts`."""
    sets = tuple(counts)
    prior = np.array(list(counts.values()), np.float64)
    moves = np.zeros((len(sets), MOVES), np.int64)
    for row, one in enumerate(sets):
        moves[row, : len(one.moves)] = one.moves[:MOVES]
    return Candidates(
        sets=sets,
        prior=prior / prior.sum() if len(sets) else prior,
        other=min(MOST_OTHER, max(LEAST_OTHER, other)) if len(sets) else 1.0,
        ability=np.array([one.ability for one in sets], np.int64),
        item=np.array([one.item for one in sets], np.int64),
        moves=moves,
        stats=np.array([one.stats for one in sets], np.int64).reshape(len(sets), len(STATS)),
        tera=np.array([one.tera for one in sets], np.int64),
    )


class SetPool:
    """The candidates of every species."""

    def __init__(
        self,
        dex: Dex,
        counts: Mapping[PokemonSet, float],
        *,
        other: float | None = None,
        others: Mapping[int, float] | None = None,
    ) -> None:
        """`counts`: how often each set was seen or is held to be used.

        `other` is the chance of something else; by default that of a sample as large as `counts`. `others` has it by
        the number of the base species, where that is known.
        """
        self.dex = dex
        self.other = other
        self.others = dict(others or {})
        self._by_base: dict[int, dict[PokemonSet, float]] = {}
        for one, count in counts.items():
            self._by_base.setdefault(int(dex.species_base[one.species]), {})[one] = count
        self._found: dict[tuple[int, int, bool], Candidates] = {}

    @property
    def sets(self) -> dict[PokemonSet, float]:
        """All sets with their counts."""
        return {one: count for sets in self._by_base.values() for one, count in sets.items()}

    def candidates(self, species: int, level: int, *, forme_shown: bool = True) -> Candidates:
        """What a Pokémon of that species and level may have.

        A team preview may hide the forme: then those of all formes are candidates. Formes that no set is of (taken on
        in battle) and levels that none has narrow nothing.
        """
        key = (species, level, forme_shown)
        found = self._found.get(key)
        if found is None:
            counts = self._by_base.get(int(self.dex.species_base[species]), {})
            exact = {one: count for one, count in counts.items() if one.species == species}
            counts = exact if forme_shown and exact else counts
            counts = {one: count for one, count in counts.items() if one.level == level} or counts
            found = self._found[key] = make_candidates(counts, other=self._other(species, counts))
        return found

    def _other(self, species: int, counts: Mapping[PokemonSet, float]) -> float:
        told = self.others.get(int(self.dex.species_base[species]), self.other)
        if told is not None:
            return told
        total, once = sum(counts.values()), sum(count <= 1 for count in counts.values())
        return (once + 0.5) / (total + 1)


def pool_of_teams(teams: Iterable[str], tables: Tables, *, other: float | None = None) -> SetPool:
    """The sets of packed teams, each as likely as it is often in them; `other` as in `SetPool`."""
    counts: Counter[PokemonSet] = Counter()
    for team in teams:
        counts.update(unpack_team(team, tables))
    return SetPool(tables.dex, counts, other=other)


def unpack_team(packed: str, tables: Tables, *, level: int = 0) -> list[PokemonSet]:
    """The sets of a packed team; with `level` they are brought to it, as some formats do."""
    return [_unpack_set(one, tables, level) for one in packed.split("]") if one]


def _unpack_set(packed: str, tables: Tables, to_level: int) -> PokemonSet:
    dex = tables.dex
    parts = packed.split("|", _SET_FIELDS - 1)
    name, species_name, item, ability, moves, nature, evs, _, ivs, _, given_level, *rest = parts
    species = dex.species[species_name or name]
    extras = rest[0].split(",") if rest else []
    tera = dex.types[extras[5]] if len(extras) > 5 else 0
    level = to_level or int(given_level or 100)
    return PokemonSet(
        species=species,
        ability=_ability(dex, species, ability),
        item=dex.items[item],
        moves=tuple(sorted(filter(None, (tables.move(move) for move in moves.split(","))))),
        stats=_stats(dex, species, level, _spread(evs, 0), _spread(ivs, 31), nature),
        tera=tera or (int(dex.species_types[species, 0]) if dex.generation >= 9 else 0),
        level=level,
    )


def _ability(dex: Dex, species: int, named: str) -> int:
    """An ability by name, or as packed teams shorten it: the number of the species' slot; empty is the first."""
    slots = {"": 0, "0": 0, "1": 1, "H": 2, "S": 3}
    if named in slots and dex.generation >= 3:
        return int(dex.species_abilities[species, slots[named]])
    return dex.abilities[named]


def _spread(packed: str, otherwise: int) -> list[int]:
    given = packed.split(",") if packed else []
    return [int(value) if value else otherwise for value in [*given, *[""] * len(STATS)][: len(STATS)]]


def _stats(dex: Dex, species: int, level: int, evs: list[int], ivs: list[int], nature: str) -> tuple[int, ...]:
    """Max HP and the other stats."""
    base: list[int] = dex.species_stats[species].tolist()
    if dex.generation <= 2:
        ivs = [value & 30 for value in ivs]
    raw = [floor((2 * stat + iv + effort // 4) * level / 100) for stat, iv, effort in zip(base, ivs, evs, strict=True)]
    hp = 1 if base[0] == 1 else raw[0] + level + 10
    found = dex.raw["natures"].get(nature.lower(), {}) if dex.generation >= 3 else {}
    others = []
    for stat, value in zip(STATS[1:], raw[1:], strict=True):
        percent = 110 if stat == found.get("plus") else 90 if stat == found.get("minus") else 100
        others.append((value + 5) * (percent if found.get("plus") != found.get("minus") else 100) // 100)
    return (hp, *others)
