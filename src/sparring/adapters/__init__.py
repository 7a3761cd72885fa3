"""Sparring's games in other libraries' terms: `sparring[adapters]` installs what this needs.

Importing this registers every installed game with Gymnasium: `gymnasium.make("sparring/hex", size=5)`.
"""

from sparring.adapters.gymnasium import MatchEnv, register_games
from sparring.adapters.pettingzoo import MatchAec

__all__ = ["MatchAec", "MatchEnv"]

register_games()
