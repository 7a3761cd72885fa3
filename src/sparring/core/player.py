"""The player protocol, and the simplest player there is."""

from typing import Protocol

import numpy as np

from sparring.core.decisions import Answers, Decisions
from sparring.core.distribution import masked_log_softmax, sample


class Player(Protocol):
    """Anything that answers decisions with actions: random, heuristic, network, search, remote, human."""

    def act(self, decisions: Decisions) -> Answers:
        """One answer per row. The player keeps whatever memory it needs per (match, seat)."""
        ...


class RandomPlayer:
    """Plays each legal action with the same probability."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, decisions: Decisions) -> Answers:
        """Uniform over the legal mask."""
        log_probs = masked_log_softmax(np.zeros(decisions.legal.shape, np.float32), decisions.legal, xp=np)
        action = sample(log_probs, self._rng.random(len(decisions), np.float32), xp=np)
        return Answers(action=action.astype(np.int32))
