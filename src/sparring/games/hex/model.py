"""Hex's forward model: the rules on batches of states, for search.

The states are those of `rules`: `uint8[k, size * size + 1]`, seen from the mover.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core import Array, GameSpec, IllegalAction
from sparring.games.hex.rules import COLOUR, LOST, is_legal, play, read, show_legal, show_planes

_KEY_SEED = 0x4E5
"""Fixed, so that a state has the same key in every process."""


class HexModel:
    """Batched positions, moves and outcomes of one board size and swap rule."""

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
        _read(planes, self.size, self.swap, np.ascontiguousarray(legal), states)
        return states

    def legal(self, states: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """`bool[k, actions]` the empty cells, and the swap while it is open; all false where the match is over."""
        legal = np.empty((len(states), self.actions), np.bool_)
        _show_legal(states, legal)
        return legal

    def apply(self, states: NDArray[np.uint8], actions: NDArray[np.int32]) -> NDArray[np.uint8]:
        """The positions after `actions: int32[k]`, seen from the seat that moves next. The input is untouched."""
        after = np.array(states, order="C")
        refused = _apply(after, self.size, np.ascontiguousarray(actions, np.intp))
        if refused >= 0:
            raise IllegalAction(f"state {refused}: action {int(actions[refused])} is not legal")
        return after

    def outcome(self, states: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """`(over: bool[k], value: float32[k])`: only the seat that has just moved can have won, so -1 where over."""
        over = states[:, self._cells] == LOST
        return over, np.negative(over, dtype=np.float32)

    def encode(self, states: NDArray[np.uint8]) -> dict[str, Array]:
        """`planes: uint8[k, 2, size, size]`, as the arena shows them to the seat to move."""
        planes = np.empty((len(states), 2, self._cells), np.uint8)
        _show_planes(states, planes)
        return {"planes": planes.reshape(-1, 2, self.size, self.size)}

    def keys(self, states: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """`uint64[k]` Zobrist hashes: equal for equal positions, however they came about."""
        keys = np.empty(len(states), np.uint64)
        _keys(states, self._table, keys)
        return keys

    def symmetry(self, observation: Mapping[str, Array]) -> tuple[dict[str, Array], NDArray[np.int32]]:
        """The board turned by 180 degrees, which is the same position, and `int32[actions]` what each action becomes.

        The permutation is its own inverse: `policy[:, permutation]` turns a policy there or back.
        """
        return {"planes": observation["planes"][..., ::-1, ::-1]}, self._turned


@njit(cache=True, nogil=True)
def _read(planes: Any, size: int, swap: bool, legal: Any, states: Any) -> None:
    stack = np.empty(size * size, np.int32)
    for row in range(len(states)):
        read(planes[row], size, swap, swap and legal[row, size * size], states[row], stack)


@njit(cache=True, nogil=True)
def _show_legal(states: Any, legal: Any) -> None:
    for row in range(len(states)):
        show_legal(states[row], legal[row])


@njit(cache=True, nogil=True)
def _show_planes(states: Any, planes: Any) -> None:
    for row in range(len(states)):
        show_planes(states[row], planes[row])


@njit(cache=True, nogil=True)
def _apply(states: Any, size: int, actions: Any) -> int:
    """Plays one action in each state; returns -1, or the first row whose action is refused."""
    stack = np.empty(size * size, np.int32)
    for row in range(len(states)):
        if not is_legal(states[row], actions[row]):
            return row
        play(states[row], size, actions[row], stack)
    return -1


@njit(cache=True, nogil=True)
def _keys(states: Any, table: Any, keys: Any) -> None:
    cells = states.shape[1] - 1
    for row in range(len(states)):
        key = table[cells, states[row, cells]]
        for cell in range(cells):
            key ^= table[cell, states[row, cell] & COLOUR]
        keys[row] = key
