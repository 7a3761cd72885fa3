"""Rows of real battles, other vocabularies for them, and what a policy makes of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from sparring.core import GameSpec, RandomPlayer, Vocabulary
from sparring.core.distribution import masked_log_softmax
from sparring.games.pokemon import PokemonArena, PokemonSettings

ADDED = [f"metronoma{letter}" for letter in "abcdefghij"]
"""Moves that sort into the middle of the dex."""


@cache
def real_rows(format: str, rows: int, see: str = "raw") -> tuple[GameSpec, dict[str, Tensor], Tensor]:
    """Rows from the middle of real battles."""
    arena = PokemonArena(PokemonSettings(format=format, observation=see), matches=4, seed=0)
    player, kept, legal = RandomPlayer(0), [], []
    try:
        while sum(map(len, legal)) < rows + 20:
            decisions, _ = arena.wait()
            if len(decisions):
                copy = decisions.take(np.arange(len(decisions)))
                kept.append(copy.observation)
                legal.append(copy.legal)
                arena.act(decisions, player.act(decisions).action)
    finally:
        arena.close()
    observation = {name: np.concatenate([part[name] for part in kept])[-rows:] for name in kept[0]}
    return (
        arena.spec,
        {name: torch.from_numpy(array) for name, array in observation.items()},
        torch.from_numpy(np.concatenate(legal)[-rows:]),
    )


def with_moves(vocabulary: Vocabulary, moves: tuple[str, ...]) -> Vocabulary:
    return replace(vocabulary, names={**vocabulary.names, "moves": moves})


def more_moves(vocabulary: Vocabulary) -> Vocabulary:
    return with_moves(vocabulary, tuple(sorted([*vocabulary.names["moves"], *ADDED])))


def in_numbers_of(observation: dict, was: Vocabulary, now: Vocabulary) -> dict:
    """The same rows, number by number: slow, and without the code under test."""
    found = {name: np.array(array) for name, array in observation.items()}
    for field, kinds in was.columns.items():
        for index, number in np.ndenumerate(found[field]):
            kind = kinds[index[-1]]
            if kind and number:
                name = was.names[kind][number - 1]
                found[field][index] = now.names[kind].index(name) + 1 if name in now.names[kind] else 0
    return found


def probabilities(policy: torch.nn.Module, observation: dict, legal: torch.Tensor) -> torch.Tensor:
    rows = {name: torch.as_tensor(array) for name, array in observation.items()}
    with torch.no_grad():
        answer = policy.step(rows, legal, policy.initial_memory(len(legal)))
    return torch.cat((masked_log_softmax(answer.logits, legal, xp=torch).exp(), answer.value[:, None]), dim=1)
