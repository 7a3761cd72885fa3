"""The forward-model protocol: what a game must offer so that search can look ahead in it.

States are one numpy array with a row per position, copyable and opaque to the search. All values and
observations are seen from the seat to move, so that one network serves every seat.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array


class ForwardModel(Protocol):
    """Batched rules of a two-seat, alternating, fully observed game."""

    def states(self, observation: Mapping[str, Array], legal: NDArray[np.bool_]) -> Array:
        """`state[k]` the positions that k decisions show."""
        ...

    def legal(self, states: Array) -> NDArray[np.bool_]:
        """`bool[k, actions]`; all false where the match is over."""
        ...

    def apply(self, states: Array, actions: NDArray[np.int32]) -> Array:
        """`state[k]` the positions after `actions: int32[k]`, the other seat to move. The input is untouched."""
        ...

    def outcome(self, states: Array) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """`(over: bool[k], value: float32[k])`; the value is for the seat to move and 0 where not over."""
        ...

    def encode(self, states: Array) -> dict[str, Array]:
        """The observation of each state, exactly as the arena would show it to the seat to move."""
        ...

    def keys(self, states: Array) -> NDArray[np.uint64]:
        """`uint64[k]` a hash of each state, equal for equal states: the position cache's key."""
        ...
