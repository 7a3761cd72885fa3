"""Battles on live Showdown servers, over WebSocket.

`connection` one socket: login, reconnecting, throttles; `matchmaking` how battles are found; `battle` one room read by
the arena's own tracker; `server` the three together; `arena` many battles on many servers as one batch; `ladder` plays
them and sums up; `limits` what a server may do to us; `local` a server of our own.
"""

from sparring.games.pokemon.live.arena import LiveArena
from sparring.games.pokemon.live.connection import Account
from sparring.games.pokemon.live.ladder import LadderReport, play_ladder
from sparring.games.pokemon.live.limits import Limits
from sparring.games.pokemon.live.local import LocalServer
from sparring.games.pokemon.live.server import Wish

__all__ = ["Account", "LadderReport", "Limits", "LiveArena", "LocalServer", "Wish", "play_ladder"]
