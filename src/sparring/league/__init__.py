"""Who plays whom, what came of it, how strong each is."""

from sparring.league.entrants import Entrant
from sparring.league.evaluation import evaluate

__all__ = ["Entrant", "evaluate"]
