"""Training in a league: against a pool of past selves, and of other runs' snapshots.

`settings` says how, `matchmaking` turns win rates into shares of matches, `player` plays all members, `league` keeps
the pool and joins these to self-play, and `away` is the pool in a process of a cluster.
"""

from sparring.training.league.league import League
from sparring.training.league.settings import LeagueSettings

__all__ = ["League", "LeagueSettings"]
