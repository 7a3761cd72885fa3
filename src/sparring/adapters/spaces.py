"""Observation and action spaces in Gymnasium's terms."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.adapters.match import shown_dtype
from sparring.core import GameSpec, optional

with optional("sparring.adapters", extra="adapters"):
    import gymnasium


def observation_space(spec: GameSpec) -> gymnasium.spaces.Dict:
    """One box per field, with the range of the field's dtype, or up to the most that it says."""
    boxes: dict[str, gymnasium.Space] = {}
    for name, field in spec.observation.items():
        dtype = np.dtype(field.dtype)
        if dtype.kind == "f":
            low, high = -np.inf, np.inf
        elif dtype.kind == "b":
            low, high = 0, 1
        else:
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max if field.most is None else field.most
        boxes[name] = gymnasium.spaces.Box(low, high, field.shape, shown_dtype(dtype).type)
    return gymnasium.spaces.Dict(boxes)


class LegalActions(gymnasium.spaces.Discrete):
    """All actions; `sample` draws one that is legal now, so that programs that try out an environment play legally."""

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.legal: NDArray[np.bool_] = np.ones(actions, np.bool_)
        """`bool[actions]`"""

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """An action drawn by `mask` or `probability`; with neither, each legal one with the same probability."""
        if mask is None and probability is None:
            mask = self.legal.astype(np.int8)
        drawn: np.int64 = super().sample(mask, probability)
        return drawn
