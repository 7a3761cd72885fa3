"""Small games with known answers: Kuhn poker, Leduc poker, and rock-paper-scissors with unequal pay-offs.

They exist to hold learners to the truth. Each is a whole game tree in a few arrays (`tree`), written down by its
rules (`kuhn`, `leduc`, `rps`), played by one arena (`arena`) and solved exactly (`exact`: values, best responses and
NashConv); `net` is the network and `game` ties them together.
"""

from sparring.games.poker.arena import TreeArena
from sparring.games.poker.exact import expected_values, nash_conv, player_policy
from sparring.games.poker.game import KUHN, LEDUC, RPS
from sparring.games.poker.tree import Tree, build_tree

__all__ = [
    "KUHN",
    "LEDUC",
    "RPS",
    "Tree",
    "TreeArena",
    "build_tree",
    "expected_values",
    "nash_conv",
    "player_policy",
]
