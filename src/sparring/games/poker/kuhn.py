"""Kuhn poker: three cards, one each, an ante of 1 and at most one bet of 1.

Its equilibria are known: seat 0 loses 1/18 a match.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from sparring.games.poker.tree import CHANCE, OVER

PASS, BET = 0, 1
_DEALS = tuple(permutations(range(3), 2))


@dataclass(frozen=True)
class KuhnState:
    """The cards (empty before the deal) and the actions so far. `pass` checks or folds, `bet` bets or calls."""

    cards: tuple[int, ...] = ()
    history: tuple[int, ...] = ()

    @property
    def seat(self) -> int:
        """Whose turn it is."""
        if not self.cards:
            return CHANCE
        over = self.history in ((PASS, PASS), (BET, PASS), (BET, BET), (PASS, BET, PASS), (PASS, BET, BET))
        return OVER if over else len(self.history) % 2

    def payoff(self) -> float:
        """A fold loses the ante, a show-down 1 or 2 chips."""
        higher = 1.0 if self.cards[0] > self.cards[1] else -1.0
        if self.history == (BET, PASS):
            return 1.0
        if self.history == (PASS, BET, PASS):
            return -1.0
        return higher * (2.0 if BET in self.history else 1.0)

    def chances(self) -> Sequence[float]:
        """Six deals, all alike."""
        return [1 / len(_DEALS)] * len(_DEALS)

    def actions(self) -> Sequence[int]:
        """Both, always."""
        return PASS, BET

    def after(self, move: int) -> "KuhnState":
        """The deal of that number, or one action more."""
        if not self.cards:
            return KuhnState(cards=_DEALS[move])
        return KuhnState(cards=self.cards, history=(*self.history, move))

    def seen(self) -> tuple[float, ...]:
        """Own seat (2), own card (3), and for each of the first two actions whether it was a pass or a bet (2 x 2)."""
        seat = self.seat
        features = [float(seat == s) for s in (0, 1)] + [float(self.cards[seat] == card) for card in range(3)]
        for place in range(2):
            features += [float(len(self.history) > place and self.history[place] == a) for a in (PASS, BET)]
        return tuple(features)
