"""Plays two players against each other in an arena, seats changing by match."""

from collections.abc import Callable

import numpy as np

from sparring.core import Player
from sparring.games.pokemon.arena import PokemonArena
from sparring.games.pokemon.settings import PokemonSettings

Maker = Callable[[PokemonArena, PokemonSettings], Player]


def win_rate(format_id: str, one: Maker, other: Maker, *, matches: int, seed: int = 5) -> float:
    """Share of `matches` that the first player won, a draw counting half."""
    settings = PokemonSettings(format=format_id)
    arena = PokemonArena(settings, matches=min(16, matches), seed=seed)
    try:
        players = (one(arena, settings), other(arena, settings))
        points = ended = 0.0
        while ended < matches:
            decisions, results = arena.wait()
            assert not results.failed.any(), arena.failures
            points += float((1 + results.outcome[np.arange(len(results)), results.match % 2]).sum()) / 2
            ended += len(results)
            actions = np.zeros(len(decisions), np.int32)
            for who, player in enumerate(players):
                rows = np.flatnonzero((decisions.match + decisions.seat) % 2 == who)
                if len(rows):
                    actions[rows] = player.act(decisions.take(rows)).action
            if len(decisions):
                arena.act(decisions, actions)
        return points / ended
    finally:
        arena.close()
