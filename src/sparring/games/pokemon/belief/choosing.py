"""What the choice of a move says of its user's set: who had a much stronger one would rather have used that.

How far a player goes by strength is a habit of theirs that nobody knows before the battle: with some chance they take
the strongest attack, else any of their moves. What they choose tells of the habit, too, so that of players who choose
at random nothing is concluded.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.belief.sets import PokemonSet

_HABITS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.95])


@dataclass(frozen=True)
class Choice:
    """An attack that was chosen, and how likely that was for each set its user may have."""

    sets: list[PokemonSet]
    """Those that have the move."""
    weights: NDArray[np.float64]
    """`float64[n]` how much each was believed in."""
    by_strength: NDArray[np.float64]
    """`float64[n]` the chance that it is taken for the strongest attack."""
    attacks: NDArray[np.int64]
    """`int64[n]` how many attacks the set has."""
    moves: NDArray[np.int64]
    """`int64[n]` how many moves it has."""


class Habit:
    """How often a player goes by strength, as far as what they chose tells."""

    def __init__(self) -> None:
        self._weights = np.full(len(_HABITS), 1.0 / len(_HABITS))

    def likelihood(self, choice: Choice) -> NDArray[np.float64]:
        """`float64[n]` how likely the choice was by set, before the habit is told of it."""
        share = float(self._weights @ _HABITS)
        return np.asarray((1.0 - share) / choice.moves + share * choice.by_strength)

    def learn(self, choice: Choice) -> None:
        """The player has chosen so: among attacks, as whether to attack at all is another question."""
        blind, strong = float(choice.weights @ (1.0 / choice.attacks)), float(choice.weights @ choice.by_strength)
        self._weights *= (1.0 - _HABITS) * blind + _HABITS * strong
        self._weights /= self._weights.sum()
