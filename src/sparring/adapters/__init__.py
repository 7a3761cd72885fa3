"""Sparring's games in other libraries' terms: `sparring[adapters]` installs what this needs."""

from sparring.adapters.gymnasium import MatchEnv
from sparring.adapters.pettingzoo import MatchAec

__all__ = ["MatchAec", "MatchEnv"]
