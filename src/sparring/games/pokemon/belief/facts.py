"""What is known of a Pokémon, as how likely each candidate set makes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.belief.sets import Candidates, PokemonSet

NEVER = 1e-4
"""How likely something is that the rules forbid: logs mislead at times (illusions that never end)."""
SELDOM = 1e-2
"""How likely it is that what should have shown did not: rules have exceptions that are not all known here."""

_LEAST_LOG = 500.0
"""Likelihoods of long battles stay above nought."""


class Fact(Protocol):
    """Something that was seen, or was not."""

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """`float64[n]` how likely it was, by candidate."""
        ...


@dataclass(frozen=True, slots=True)
class HasMove:
    """It used a move of its own."""

    moves: frozenset[int]
    """The move; several numbers where a log cannot tell them apart (Hidden Power)."""

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """One for sets with the move."""
        return np.where(_among(candidates.moves, self.moves).any(axis=1), 1.0, NEVER)


@dataclass(frozen=True, slots=True)
class HasItem:
    """It began the battle with this item (0: none)."""

    item: int

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """One for sets with the item."""
        return np.where(candidates.item == self.item, 1.0, NEVER)


@dataclass(frozen=True, slots=True)
class HasAbility:
    """It began the battle with this ability."""

    ability: int

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """One for sets with the ability."""
        return np.where(candidates.ability == self.ability, 1.0, NEVER)


@dataclass(frozen=True, slots=True)
class HasTera:
    """It terastallized into this type, or a sheet says that it would."""

    tera: int

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """One for sets of the type, and for those that leave it open."""
        return np.where((candidates.tera == self.tera) | (candidates.tera == 0), 1.0, NEVER)


@dataclass(frozen=True, slots=True)
class NotShown:
    """Something that these items or abilities should have shown did not show.

    Sets with one of `spared`, abilities that keep it from showing, are not affected.
    """

    items: frozenset[int] = frozenset()
    abilities: frozenset[int] = frozenset()
    spared: frozenset[int] = frozenset()

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """Little for sets with one of them."""
        with_it = _among(candidates.item, self.items) & ~_among(candidates.ability, self.spared)
        return np.where(with_it | _among(candidates.ability, self.abilities), SELDOM, 1.0)


@dataclass(frozen=True, slots=True)
class OneOf:
    """It has one of these items or abilities: nothing else explains what was seen."""

    items: frozenset[int] = frozenset()
    abilities: frozenset[int] = frozenset()

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """Little for sets without."""
        return np.where(_among(candidates.item, self.items) | _among(candidates.ability, self.abilities), 1.0, SELDOM)


@dataclass(frozen=True, slots=True)
class Repeated:
    """It used the move of the turn before again, `times` over, though nothing that shows made it.

    Who holds one of `items` must. Others do so now and then, some players more than others: the first time surprises
    more than the next.
    """

    items: frozenset[int]
    abilities: frozenset[int]
    times: int

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """One for those who must; for others as a Beta(1, 2) over habits has it."""
        bound = _among(candidates.item, self.items) | _among(candidates.ability, self.abilities)
        return np.where(bound, 1.0, 2.0 / ((self.times + 1) * (self.times + 2)))


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What damage and move order say, worked out set by set."""

    logs: Mapping[PokemonSet, float]

    def likelihood(self, candidates: Candidates) -> NDArray[np.float64]:
        """Relative to the likeliest; sets that it was not worked out for count as the mean."""
        logs = np.array([self.logs.get(one, 0.0) for one in candidates.sets])
        return np.asarray(np.exp(np.maximum(logs - logs.max(initial=-_LEAST_LOG), -_LEAST_LOG)))


def _among(values: NDArray[np.int64], wanted: Iterable[int]) -> NDArray[np.bool_]:
    found = np.zeros(values.shape, np.bool_)
    for number in wanted:
        found |= values == number
    return found
