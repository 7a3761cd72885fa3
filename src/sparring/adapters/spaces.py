"""Observation spaces in Gymnasium's terms."""

import numpy as np

from sparring.core import GameSpec, optional

with optional("an observation space", extra="adapters"):
    import gymnasium


def observation_space(spec: GameSpec) -> gymnasium.spaces.Dict:
    """One box a field."""
    boxes: dict[str, gymnasium.Space] = {}
    for name, field in spec.observation.items():
        dtype = np.dtype(field.dtype)
        if dtype.kind == "f":
            low, high = -np.inf, np.inf
        elif dtype.kind == "b":
            low, high = 0, 1
        else:
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        boxes[name] = gymnasium.spaces.Box(low, high, field.shape, dtype.type)
    return gymnasium.spaces.Dict(boxes)
