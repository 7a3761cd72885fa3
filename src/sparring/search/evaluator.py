"""Asking the network about positions: in one batch for all trees, with a cache.

The cache is shared by all matches. It is a table of fixed size, indexed by the low bits of a position's key; a new
entry replaces the one that has its place. It is emptied when the weights change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, ForwardModel

Ask = Callable[[Mapping[str, Array], NDArray[np.bool_]], tuple[NDArray[np.float32], NDArray[np.float32]]]
"""(observation, legal: bool[k, actions]) to (log-probabilities: float32[k, actions], values: float32[k])."""


@runtime_checkable
class Symmetric(Protocol):
    """A forward model in which every position has an image under a symmetry of the game, such as a mirrored board."""

    def symmetry(self, observation: Mapping[str, Array]) -> tuple[dict[str, Array], NDArray[np.int32]]:
        """The image of each row, and `int32[actions]` the action that each action becomes (its own inverse)."""
        ...


@dataclass
class EvaluatorCounters:
    """How many positions searches asked about, and how many the network had to answer."""

    positions: int = 0
    """Positions the searches asked about."""
    asked: int = 0
    """Rows the network answered; the rest came from the cache or from an equal row of the same wave."""
    calls: int = 0

    @property
    def mean_batch(self) -> float:
        """Rows per network call."""
        return self.asked / self.calls if self.calls else 0.0

    @property
    def hit_rate(self) -> float:
        """The fraction of positions that the network did not have to answer."""
        return 1 - self.asked / self.positions if self.positions else 0.0


class Evaluator:
    """Policy and value for batches of states of `model`, with at most one call of `ask` per batch.

    Args:
        cache: number of positions to cache, rounded up to a power of two; 0 turns the cache off.
        symmetry: whether to average the network's answers about each position and its image; needs a model that is
            `Symmetric`.
        version: gives the version of the weights behind `ask`; when it changes, the cache is emptied.
    """

    def __init__(
        self,
        model: ForwardModel,
        ask: Ask,
        *,
        actions: int,
        cache: int = 1 << 16,
        symmetry: bool = False,
        version: Callable[[], int] = lambda: 0,
    ) -> None:
        if symmetry and not isinstance(model, Symmetric):
            raise TypeError(f"{type(model).__name__} offers no symmetry to average over")
        self.counters = EvaluatorCounters()
        self.model = model
        self.actions = actions
        self.version = version
        self._ask = ask
        self._symmetry = symmetry
        self._cached_version = version()
        places = 1 << (cache - 1).bit_length() if cache else 0
        self._mask = np.uint64(max(places, 1) - 1)
        self._keys = np.zeros(places, np.uint64)
        self._log_probs = np.zeros((places, actions), np.float32)
        self._values = np.zeros(places, np.float32)
        self._filled = np.zeros(places, np.bool_)

    def __call__(self, states: Array, legal: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Log-probabilities `float32[k, actions]` and values `float32[k]` of k states in which someone must move."""
        self.counters.positions += len(states)
        if not len(states):
            return np.empty((0, self.actions), np.float32), np.empty(0, np.float32)
        if not len(self._keys):
            return self._answer(states, legal)
        if self.version() != self._cached_version:
            self._cached_version = self.version()
            self._filled[:] = False
        keys, first, inverse = np.unique(self.model.keys(states), return_index=True, return_inverse=True)
        places = keys & self._mask
        hit = self._filled[places] & (self._keys[places] == keys)
        log_probs = self._log_probs[places]
        values = self._values[places]
        new = np.flatnonzero(~hit)
        if len(new):
            rows = first[new]
            log_probs[new], values[new] = self._answer(states[rows], legal[rows])
            filled = places[new]
            self._keys[filled] = keys[new]
            self._log_probs[filled] = log_probs[new]
            self._values[filled] = values[new]
            self._filled[filled] = True
        return log_probs[inverse], values[inverse]

    def _answer(self, states: Array, legal: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """One call of the network; with symmetry the images are in the same batch."""
        observation: dict[str, Array] = self.model.encode(states)
        k = len(states)
        if self._symmetry:
            assert isinstance(self.model, Symmetric)
            image, permutation = self.model.symmetry(observation)
            observation = {name: np.concatenate([array, image[name]]) for name, array in observation.items()}
            legal = np.concatenate([legal, legal[:, permutation]])
        self.counters.calls += 1
        self.counters.asked += k
        log_probs, values = self._ask(observation, legal)
        if not self._symmetry:
            return log_probs, values
        joined = np.logaddexp(log_probs[:k], log_probs[k:][:, permutation]) - np.float32(np.log(2))
        return joined, (values[:k] + values[k:]) * np.float32(0.5)
