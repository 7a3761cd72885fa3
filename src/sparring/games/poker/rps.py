"""Rock-paper-scissors in which a win with one throw may pay more than with another: one simultaneous move.

The one equilibrium plays each throw in proportion to what the win between the *other* two pays: rock as scissors' win
over paper, paper as rock's over scissors, scissors as paper's over rock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sparring.games.poker.tree import OVER


@dataclass(frozen=True)
class RpsState:
    """`wins` what a win pays with rock, paper and scissors; `throws` so far, seat 0's first (seat 1 sees none)."""

    wins: tuple[float, float, float]
    throws: tuple[int, ...] = ()

    @property
    def seat(self) -> int:
        """Seat 0, seat 1, and it is over."""
        return OVER if len(self.throws) == 2 else len(self.throws)

    def payoff(self) -> float:
        """The winner's throw says how much."""
        first, second = self.throws
        winner = (first - second) % 3
        return (0.0, self.wins[first], -self.wins[second])[winner]

    def chances(self) -> Sequence[float]:
        """There is no chance in it."""
        return ()

    def actions(self) -> Sequence[int]:
        """All three."""
        return 0, 1, 2

    def after(self, move: int) -> "RpsState":
        """One throw more."""
        return RpsState(wins=self.wins, throws=(*self.throws, move))

    def seen(self) -> tuple[float, ...]:
        """Only the own seat (2)."""
        return float(self.seat == 0), float(self.seat == 1)


def equilibrium(wins: tuple[float, float, float]) -> list[float]:
    """The probabilities of rock, paper and scissors that no opponent can profit from."""
    rock, paper, scissors = wins
    total = sum(wins)
    return [scissors / total, rock / total, paper / total]
