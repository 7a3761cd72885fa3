"""The position collector: requests now, answers later, one network call for all that came in between.

For searches that walk their trees in their own way: any number of them hand in positions, one `answer` asks
the evaluator once, and each takes what it asked for by its ticket. A request handed in while answers are being
taken belongs to the next batch; none is ever dropped.
"""

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array
from sparring.search.evaluator import Evaluator


class PositionCollector:
    """Gathers positions for one `evaluator`."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._tickets = 0
        self._waiting: list[tuple[int, Array, NDArray[np.bool_]]] = []
        self._answers: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}

    def request(self, states: Array, legal: NDArray[np.bool_]) -> int:
        """Hands in k states with their masks `bool[k, actions]`; returns the ticket for their answers."""
        ticket = self._tickets
        self._tickets += 1
        self._waiting.append((ticket, states, legal))
        return ticket

    def answer(self) -> int:
        """Answers everything handed in so far, in one call; returns how many positions that were."""
        batch, self._waiting = self._waiting, []
        if not batch:
            return 0
        log_probs, values = self._evaluator(
            np.concatenate([states for _, states, _ in batch]), np.concatenate([legal for _, _, legal in batch])
        )
        start = 0
        for ticket, states, _ in batch:
            end = start + len(states)
            self._answers[ticket] = log_probs[start:end], values[start:end]
            start = end
        return start

    def take(self, ticket: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Log-probabilities `float32[k, actions]` and values `float32[k]` of a request, once, after `answer`."""
        try:
            return self._answers.pop(ticket)
        except KeyError:
            raise KeyError(f"ticket {ticket} has no answer: call answer() first, and take each answer once") from None
