"""Looking ahead: batched search over any game with a forward model, for all matches at once.

`evaluator` asks the network once a wave and remembers; `tree` keeps all trees as arrays; `puct` and `gumbel` say
where to look next and `waves` drives them; `minimax` looks level by level; `player` plays what they find;
`collector` serves searches of other shapes.
"""

from sparring.search.collector import PositionCollector
from sparring.search.evaluator import Ask, Evaluator, Symmetric
from sparring.search.gumbel import GumbelSettings
from sparring.search.minimax import Minimax, MinimaxSettings
from sparring.search.player import PlaySettings, SearchPlayer, SearchSettings
from sparring.search.puct import PuctSettings
from sparring.search.waves import Found, TreeSearch

__all__ = [
    "Ask",
    "Evaluator",
    "Found",
    "GumbelSettings",
    "Minimax",
    "MinimaxSettings",
    "PlaySettings",
    "PositionCollector",
    "PuctSettings",
    "SearchPlayer",
    "SearchSettings",
    "Symmetric",
    "TreeSearch",
]
