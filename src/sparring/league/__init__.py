"""Who plays whom, what came of it, how strong each is."""

from sparring.league.entrants import Entrant, built_in
from sparring.league.evaluation import Score, evaluate, wilson_interval

__all__ = ["Entrant", "Score", "built_in", "evaluate", "wilson_interval"]
