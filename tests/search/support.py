"""Positions that the tests of search start from."""

import numpy as np

from sparring.core import RandomPlayer
from sparring.games.hex import HexArena, HexModel, HexSettings


def positions(settings: HexSettings, count: int, *, plies: int, seed: int) -> tuple[HexModel, np.ndarray]:
    """`count` positions after up to `plies` random moves, all different matches."""
    arena = HexArena(settings, matches=count, seed=seed)
    model = HexModel(arena.spec)
    player = RandomPlayer(seed)
    stop = np.random.default_rng(seed).integers(0, plies + 1, count)
    states = np.zeros((count, settings.size**2 + 1), np.uint8)
    for ply in range(plies + 1):
        decisions, _ = arena.wait()
        now = np.flatnonzero(stop == ply)
        states[now] = model.states(decisions.observation, decisions.legal)[now]
        arena.act(decisions, player.act(decisions).action)
    return model, states
