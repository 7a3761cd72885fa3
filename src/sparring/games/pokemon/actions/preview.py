"""Team preview where only some of the team are brought: who leads, who waits behind, order within each left out.

Where the whole team is brought no numbers of its own are needed: the switch orders name the leads.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sparring.core.errors import InputError
from sparring.games.pokemon.columns import TEAM


class Preview:
    """`count` ways to bring `bring` of six with `leads` in front: for VGC 15 lead pairs x 6 back pairs = 90."""

    def __init__(self, *, leads: int, bring: int) -> None:
        if not leads <= bring < TEAM:
            raise InputError(f"bring {bring} of {TEAM} with {leads} leads: bring must lie in {leads}..{TEAM - 1}")
        self.picks: tuple[tuple[int, ...], ...] = tuple(
            front + back
            for front in combinations(range(TEAM), leads)
            for back in combinations([slot for slot in range(TEAM) if slot not in front], bring - leads)
        )
        """`[count]` team slots, the leads first."""
        self.count = len(self.picks)
        self._bring = bring
        # A team smaller than `bring` brings all it has: the missing slots count as brought, behind.
        self._legal = np.array([[self._fits(pick, leads, size) for pick in self.picks] for size in range(TEAM + 1)])

    def legal(self, size: int) -> NDArray[np.bool_]:
        """`bool[count]` what a team of `size` may choose."""
        row: NDArray[np.bool_] = self._legal[size]
        return row

    def choice(self, number: int, size: int) -> str:
        """The choice string of pick `number` for a team of `size`."""
        return team_choice([slot for slot in self.picks[number] if slot < size])

    def name(self, number: int, leads: int) -> str:
        """What people call pick `number`."""
        pick = [str(slot + 1) for slot in self.picks[number]]
        return f"lead {' and '.join(pick[:leads])}, bring {' and '.join(pick[leads:])}"

    def _fits(self, pick: tuple[int, ...], leads: int, size: int) -> bool:
        missing = set(range(size, self._bring))
        return all(slot < max(size, self._bring) for slot in pick) and missing <= set(pick[leads:])


def team_choice(slots: Sequence[int]) -> str:
    """Showdown's choice that orders the team as `slots`."""
    return "team " + "".join(str(slot + 1) for slot in slots)
