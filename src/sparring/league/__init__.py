"""Who plays whom and what came of it.

`entrants` players by name; `seating` names to players and an arena; `evaluation` matches that are counted; `by_hand`
a person against a player; `selfplay` matches that are kept; `serve` named players behind a policy server.
"""

from sparring.league.entrants import Entrant, Style
from sparring.league.evaluation import evaluate
from sparring.league.seating import Seating

__all__ = ["Entrant", "Seating", "Style", "evaluate"]
