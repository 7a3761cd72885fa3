"""What a policy that did not play would have said to every row of some episodes.

Reference networks (R-NaD's snapshots, a magnet's portfolio) carry memory of their own, which nobody stored: it is built
up again from each episode's first row.
"""

import numpy as np
import torch
from torch import Tensor, nn

from sparring.core import Episodes, masked_log_softmax
from sparring.inference import Device
from sparring.policy import Memory, Output


@torch.no_grad()
def row_outputs(policy: nn.Module, episodes: Episodes, *, device: Device, rows: int = 16384) -> tuple[Tensor, Tensor]:
    """Log-probabilities `float32[r, actions]` and values `float32[r]` of every row, about `rows` rows at a time.

    Episodes must begin where their matches began if the policy has memory.
    """
    log_probs = torch.empty((episodes.rows, episodes.spec.actions), device=device.torch_device)
    values = torch.empty(episodes.rows, device=device.torch_device)
    recurrent = bool(policy.initial_memory(1))  # type: ignore[operator]
    starts = episodes.starts if recurrent else np.arange(episodes.rows, dtype=np.intp)
    lengths = episodes.lengths.astype(np.intp) if recurrent else np.ones(episodes.rows, np.intp)
    order = np.argsort(-lengths, kind="stable")  # like lengths together, so that little is padding
    done = 0
    while done < len(order):
        steps = int(lengths[order[done]])
        chosen = order[done : done + max(1, rows // steps)]
        done += len(chosen)
        place = np.arange(steps)[:, None]
        index = starts[chosen] + np.minimum(place, lengths[chosen] - 1)
        legal = device.tensor(episodes.unpack_legal(index))
        memory: Memory = policy.initial_memory(len(chosen))  # type: ignore[operator]
        first = torch.zeros(index.shape, dtype=torch.bool, device=device.torch_device)
        observation = {name: device.tensor(array[index]) for name, array in episodes.observation.items()}
        with device.autocast():
            output: Output = policy.unroll(observation, legal, first, memory)  # type: ignore[operator]
        valid = place < lengths[chosen]
        target = device.tensor(index[valid])
        mask = device.tensor(valid)
        log_probs[target] = masked_log_softmax(output.logits.float(), legal, xp=torch)[mask]
        values[target] = output.value.float()[mask]
    return log_probs, values
