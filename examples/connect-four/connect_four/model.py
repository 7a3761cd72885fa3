"""The forward model: the rules on positions of the caller's choice, which is what search and AlphaZero need."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from connect_four.rules import Boards, drop, from_planes, lost_or_full, open_columns, planes
from sparring.core import Array, GameSpec


class ConnectFourModel:
    """See `sparring.core.ForwardModel`. A state is a board: nothing else of a match matters for how it goes on."""

    def __init__(self, spec: GameSpec) -> None:
        # A random number for each plane and cell (Zobrist hashing). The seed is fixed: keys agree between processes.
        self._numbers = np.random.default_rng(4).integers(0, 2**64, spec.observation["planes"].shape, np.uint64)
        self._mirrored = np.arange(spec.actions, dtype=np.int32)[::-1]

    def states(self, observation: Mapping[str, Array], legal: NDArray[np.bool_]) -> Boards:
        """`int8[k, rows, columns]` the positions that k decisions show."""
        return from_planes(observation["planes"])

    def legal(self, states: Boards) -> NDArray[np.bool_]:
        """`bool[k, columns]` the columns with room; all false where the match is over."""
        return open_columns(states) & ~lost_or_full(states)[0][:, None]

    def apply(self, states: Boards, actions: NDArray[np.int32]) -> Boards:
        """The positions after `actions: int32[k]`, seen from the seat that moves next."""
        return drop(states, actions)

    def outcome(self, states: Boards) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """`(over: bool[k], value: float32[k])`, for the seat to move: -1 where it has lost, 0 anywhere else."""
        lost, full = lost_or_full(states)
        return lost | full, -lost.astype(np.float32)

    def encode(self, states: Boards) -> dict[str, Array]:
        """Exactly what the arena shows to the seat to move."""
        return {"planes": planes(states)}

    def keys(self, states: Boards) -> NDArray[np.uint64]:
        """`uint64[k]` equal for equal positions: the numbers of all stones, joined by exclusive or."""
        numbers = np.where(planes(states) == 1, self._numbers, np.uint64(0))
        keys: NDArray[np.uint64] = np.bitwise_xor.reduce(numbers, axis=(1, 2, 3))
        return keys

    def symmetry(self, observation: Mapping[str, Array]) -> tuple[dict[str, Array], NDArray[np.int32]]:
        """Optional: mirror images for AlphaZero to train on too, and `int32[columns]` what each action becomes."""
        return {"planes": observation["planes"][..., ::-1]}, self._mirrored
