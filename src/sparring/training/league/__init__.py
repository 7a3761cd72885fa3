"""Training in a league: against a pool of past selves, and of other runs' snapshots.

`settings` says how, `matchmaking` turns win rates into shares of matches, `player` plays all members, `league` keeps
the pool and joins these to self-play, and `away` is the pool in a process of a cluster.
"""

from typing import TYPE_CHECKING

from sparring.core.lazy import lazy_names
from sparring.training.league.settings import LeagueSettings

if TYPE_CHECKING:
    from sparring.training.league.league import League
else:
    __getattr__ = lazy_names(__name__, {"League": "sparring.training.league.league"})

__all__ = ["League", "LeagueSettings"]
