"""Batched search in any game with a forward model, for all matches at once.

`evaluator` asks the network, with a cache; `tree` keeps all trees as arrays; `waves` is the tree search, and `puct` and
`gumbel` are its strategies; `minimax` searches level by level; `player` plays what a search found.
"""

from sparring.search.evaluator import Ask, Evaluator, Symmetric
from sparring.search.gumbel import Gumbel, GumbelSettings
from sparring.search.minimax import Minimax, MinimaxSettings
from sparring.search.player import PlaySettings, SearchPlayer, SearchSettings
from sparring.search.puct import Puct, PuctSettings
from sparring.search.waves import Found, Strategy, TreeSearch

__all__ = [
    "Ask",
    "Evaluator",
    "Found",
    "Gumbel",
    "GumbelSettings",
    "Minimax",
    "MinimaxSettings",
    "PlaySettings",
    "Puct",
    "PuctSettings",
    "SearchPlayer",
    "SearchSettings",
    "Strategy",
    "Symmetric",
    "TreeSearch",
]
