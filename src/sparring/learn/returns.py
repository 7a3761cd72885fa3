"""Returns and advantages over ragged episodes: pure functions of flat arrays."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@numba.njit(
    "Tuple((float32[:], float32[:]))(float32[:], float32[:], int32[:], float32[:], float64, float64)", cache=True
)
def generalised_advantages(
    reward: Floats,
    value: Floats,
    lengths: NDArray[np.int32],
    last_value: Floats,
    gamma: float,
    gae_lambda: float,
) -> tuple[Floats, Floats]:
    """Generalised advantage estimation of n episodes laid end to end in r rows.

    `reward, value: float32[r]`, `lengths: int32[n]`, `last_value: float32[n]` the expected gain after each
    episode's last row (0 if its match ended there). Returns `(advantage, target): float32[r]` each, where
    target = advantage + value is what the value function should have said.
    """
    advantage = np.empty_like(reward)
    row = 0
    for episode in range(len(lengths)):
        end = row + lengths[episode]
        next_value = np.float64(last_value[episode])
        running = 0.0
        for t in range(end - 1, row - 1, -1):
            td_error = reward[t] + gamma * next_value - value[t]
            running = td_error + gamma * gae_lambda * running
            advantage[t] = running
            next_value = np.float64(value[t])
        row = end
    return advantage, advantage + value


@numba.njit("float32[:](float32[:], float32[:], int32[:], float32[:], float64, int64)", cache=True)
def n_step_returns(
    reward: Floats, value: Floats, lengths: NDArray[np.int32], last_value: Floats, gamma: float, n: int
) -> Floats:
    """`float32[r]` the rewards of the next `n` rows plus the value after them, for episodes laid end to end.

    Arguments as in `generalised_advantages`. Where an episode ends earlier, its last value is what comes after.
    """
    target = np.empty_like(reward)
    start = 0
    for episode in range(len(lengths)):
        end = start + lengths[episode]
        for row in range(start, end):
            ahead = min(row + n, end)
            total = np.float64(value[ahead] if ahead < end else last_value[episode])
            for t in range(ahead - 1, row - 1, -1):
                total = reward[t] + gamma * total
            target[row] = total
        start = end
    return target
