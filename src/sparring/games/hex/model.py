"""Hex's forward model: the rules on batches of states, for search.

States are those of `rules`, `uint8[k, size * size + 1]`, as the mover sees the board.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, GameSpec, illegal_action
from sparring.games.hex.rules import LOST, key_rows, legal_rows, planes_rows, play_rows, read_rows

_KEY_SEED = 0x4E5
"""Fixed, so that a state has the same key in every process."""


class HexModel:
    """The forward model for one board size, with or without the swap rule."""

    def __init__(self, spec: GameSpec) -> None:
        self.size = int(spec.settings["size"])
        self.swap = bool(spec.settings["swap"])
        self.actions = spec.actions
        self._cells = self.size**2
        self._table = np.random.default_rng(_KEY_SEED).integers(0, 2**64, (self._cells + 1, 4), np.uint64)
        self._turned = np.arange(self.actions, dtype=np.int32)
        self._turned[: self._cells] = np.arange(self._cells)[::-1]

    def states(self, observation: Mapping[str, Array], legal: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """`uint8[k, cells + 1]` the positions that k decisions show."""
        planes = np.ascontiguousarray(observation["planes"]).reshape(-1, 2, self._cells)
        states = np.empty((len(planes), self._cells + 1), np.uint8)
        read_rows(planes, self.size, self.swap, np.ascontiguousarray(legal), states)
        return states

    def legal(self, states: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """`bool[k, actions]` the empty cells, and the swap while it is allowed; all false where the match is over."""
        legal = np.empty((len(states), self.actions), np.bool_)
        legal_rows(states, legal)
        return legal

    def apply(self, states: NDArray[np.uint8], actions: NDArray[np.int32]) -> NDArray[np.uint8]:
        """The positions after `actions: int32[k]`, as the seat to move next sees them. `states` is not changed."""
        after = np.array(states, order="C")
        refused = play_rows(after, self.size, np.ascontiguousarray(actions, np.intp))
        if refused >= 0:
            legal = self.legal(np.array(states[refused : refused + 1], order="C"))[0]
            raise illegal_action(f"state {refused}", int(actions[refused]), legal)
        return after

    def outcome(self, states: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """`(over: bool[k], value: float32[k])`. Only the seat that has just moved can have won, so over means -1."""
        over = states[:, self._cells] == LOST
        return over, np.negative(over, dtype=np.float32)

    def encode(self, states: NDArray[np.uint8]) -> dict[str, Array]:
        """`planes: uint8[k, 2, size, size]`, as the arena shows them to the seat to move."""
        planes = np.empty((len(states), 2, self._cells), np.uint8)
        planes_rows(states, planes)
        return {"planes": planes.reshape(-1, 2, self.size, self.size)}

    def keys(self, states: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """`uint64[k]` Zobrist hashes: equal for equal positions, however they came about."""
        keys = np.empty(len(states), np.uint64)
        key_rows(states, self._table, keys)
        return keys

    def symmetry(self, observation: Mapping[str, Array]) -> tuple[dict[str, Array], NDArray[np.int32]]:
        """The board rotated by 180 degrees, an equivalent position, and `int32[actions]` what each action becomes.

        The permutation is its own inverse: `policy[:, permutation]` rotates a policy in either direction.
        """
        return {"planes": observation["planes"][..., ::-1, ::-1]}, self._turned
