"""Training in a league: against a pool of past selves, and of other runs' snapshots.

`settings` says how, `matchmaking` turns win rates into shares of matches, `pool` keeps the members, `player` plays
them all, and `league` joins these to self-play.
"""

from sparring.training.league.league import League
from sparring.training.league.settings import LeagueSettings

__all__ = ["League", "LeagueSettings"]
