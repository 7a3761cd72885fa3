"""What a Pokémon probably has, given all that a log has shown of it so far.

Bayes' rule over the candidates of its species. One more possibility stands beside them: a set that is none of them.
Of that one the parts are taken to be drawn each for itself from those of the candidates, so a fact is as likely under
it as it is on average before the battle; it keeps the probabilities from ever being all nought.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.belief.facts import Fact, HasAbility, HasItem, HasMove, HasTera
from sparring.games.pokemon.belief.notes import Known
from sparring.games.pokemon.belief.sets import Candidates
from sparring.games.pokemon.columns import MOVES

LEAST = 0.02
"""How likely any fact is at least under a set that is none of the candidates."""
_NEW_PART = 0.1
"""How likely a part of such a set is one that no candidate has."""


@dataclass(frozen=True)
class Posterior:
    """Probabilities of what a Pokémon has."""

    known: Known
    candidates: Candidates
    weights: NDArray[np.float64]
    """`float64[n]` by candidate."""
    other: float
    """That it is none of them; adds up to 1 with `weights`."""
    parts: NDArray[np.float64]
    """`float64[n]` adds up to 1: from whose parts a set that is none of them would be made."""

    def items(self) -> dict[int, float]:
        """By item number (0: none); what is missing to 1 is some other item."""
        return self._shares(self.candidates.item, self.known.item if self.known.item >= 0 else None)

    def abilities(self) -> dict[int, float]:
        """By ability number, likewise."""
        return self._shares(self.candidates.ability, self.known.ability or None)

    def teras(self) -> dict[int, float]:
        """By type number, likewise."""
        return self._shares(self.candidates.tera, self.known.tera or None)

    def moves(self) -> dict[int, float]:
        """By move number: that it is among its moves. They add up to about as many as it has."""
        found = dict.fromkeys(self.known.moves, 1.0)
        sure: dict[int, float] = {}
        loose: dict[int, float] = {}
        for row, moves in enumerate(self.candidates.moves.tolist()):
            for move in moves:
                if move and move not in found:
                    sure[move] = sure.get(move, 0.0) + float(self.weights[row])
                    loose[move] = loose.get(move, 0.0) + float(self.parts[row])
        room, total = (MOVES - len(found)) * (1.0 - _NEW_PART), sum(loose.values())
        for move, share in sure.items():
            found[move] = share + self.other * min(1.0, loose[move] * room / max(total, 1e-9))
        return _sorted(found)

    def speeds(self) -> dict[int, float]:
        """By the Speed stat without boosts and items, among the candidates."""
        return self._shares(self.candidates.stats[:, -1], None)

    def most_likely(self) -> int | None:
        """The row of the likeliest candidate; None if something else is likelier, or there is none."""
        if not len(self.weights) or self.weights.max() < self.other:
            return None
        return int(self.weights.argmax())

    def _shares(self, values: NDArray[np.int64], shown: int | None) -> dict[int, float]:
        if shown is not None:
            return {shown: 1.0}
        found: dict[int, float] = {}
        for row, value in enumerate(values.tolist()):
            share = self.weights[row] + self.other * (1.0 - _NEW_PART) * self.parts[row]
            found[value] = found.get(value, 0.0) + float(share)
        return _sorted(found)


def infer(candidates: Candidates, facts: Sequence[Fact], known: Known) -> Posterior:
    """The posterior of a Pokémon."""
    start = np.log(candidates.prior)
    shown, indirect = np.zeros(len(candidates)), np.zeros(len(candidates))
    other = float(np.log(candidates.other))
    for fact in facts:
        likelihood = fact.likelihood(candidates)
        log = shown if isinstance(fact, HasMove | HasItem | HasAbility | HasTera) else indirect
        log += np.log(likelihood)
        other += float(np.log(max(LEAST, float(candidates.prior @ likelihood))))
    logs = start + shown + indirect + np.log1p(-candidates.other) if len(candidates) else start
    weights = _normal(np.append(logs, other))
    return Posterior(known, candidates, weights[:-1], float(weights[-1]), _normal(start + indirect))


def _normal(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities from logarithms of weights."""
    if not len(logs):
        return logs
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _sorted(shares: Mapping[int, float]) -> dict[int, float]:
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))
