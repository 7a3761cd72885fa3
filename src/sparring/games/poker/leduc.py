"""Leduc poker: six cards of three ranks, an ante of 1, a round of bets before and one after a public card.

Raises are 2 chips in the first round and 4 in the second, at most two a round. A pair with the public card wins, else
the higher rank. Suits mean nothing, so a deal is two ranks with its probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparring.games.poker.tree import CHANCE, OVER

FOLD, CALL, RAISE = 0, 1, 2
_RANKS, _COPIES = 3, 2
_RAISE_CHIPS = (2, 4)
_MOST_RAISES = 2
_LONGEST_ROUND = 4


@dataclass(frozen=True)
class LeducState:
    """`cards` own ranks by seat, `public` the third, `rounds` the actions of each round of bets."""

    cards: tuple[int, ...] = ()
    public: int | None = None
    rounds: tuple[tuple[int, ...], ...] = ((),)

    @property
    def seat(self) -> int:
        """Seat 0 opens both rounds."""
        if len(self.cards) < 2:
            return CHANCE
        actions = self.rounds[-1]
        if FOLD in actions:
            return OVER
        if len(actions) >= 2 and actions[-1] == CALL:
            return CHANCE if len(self.rounds) == 1 else OVER
        return len(actions) % 2

    def payoff(self) -> float:
        """The loser's chips go to the winner; equal ranks share."""
        paid = self._paid()
        if FOLD in self.rounds[-1]:
            folded = (len(self.rounds[-1]) - 1) % 2
            return float(-paid[0] if folded == 0 else paid[1])
        first, second = ((card == self.public, card) for card in self.cards)
        if first == second:
            return 0.0
        return float(paid[1] if first > second else -paid[0])

    def chances(self) -> Sequence[float]:
        """The ranks of the cards that are left."""
        left = [_COPIES - self.cards.count(rank) for rank in range(_RANKS)]
        return [count / sum(left) for count in left]

    def actions(self) -> Sequence[int]:
        """To fold takes a bet to fold to; a third raise is not allowed."""
        actions = self.rounds[-1]
        legal = [CALL]
        if actions and actions[-1] == RAISE:
            legal.insert(0, FOLD)
        if actions.count(RAISE) < _MOST_RAISES:
            legal.append(RAISE)
        return legal

    def after(self, move: int) -> "LeducState":
        """One card or one action more."""
        if len(self.cards) < 2:
            return replace(self, cards=(*self.cards, move))
        if self.seat == CHANCE:
            return replace(self, public=move, rounds=(*self.rounds, ()))
        return replace(self, rounds=(*self.rounds[:-1], (*self.rounds[-1], move)))

    def seen(self) -> tuple[float, ...]:
        """Seat (2), own rank (3), public rank (3), chips paid by each seat (2), and every action so far.

        Actions are call or raise (a fold ends the match), 2 rounds x 4 places x 2.
        """
        seat = self.seat
        features = [float(seat == s) for s in (0, 1)]
        features += [float(self.cards[seat] == rank) for rank in range(_RANKS)]
        features += [float(self.public == rank) for rank in range(_RANKS)]
        paid = self._paid()
        features += [paid[seat] / 13, paid[1 - seat] / 13]
        for number in range(2):
            actions = self.rounds[number] if number < len(self.rounds) else ()
            for place in range(_LONGEST_ROUND):
                features += [float(len(actions) > place and actions[place] == a) for a in (CALL, RAISE)]
        return tuple(features)

    def _paid(self) -> list[int]:
        """Chips each seat has put in."""
        paid = [1, 1]
        for number, actions in enumerate(self.rounds):
            for place, action in enumerate(actions):
                mover = place % 2
                if action != FOLD:
                    paid[mover] = max(paid) + (_RAISE_CHIPS[number] if action == RAISE else 0)
        return paid
