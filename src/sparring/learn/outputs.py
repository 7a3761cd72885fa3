"""Reference networks: what a policy that did not play would have said to every row of some episodes.

Reference networks (R-NaD's snapshots, a magnet's portfolio) have memory of their own, which nobody stored: it is
computed again from each episode's first row.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Array, Episodes, masked_log_softmax
from sparring.inference import Device
from sparring.learn.batches import padded
from sparring.policy import Policy, policy_for


@torch.no_grad()
def row_outputs(policy: Policy, episodes: Episodes, *, device: Device, rows: int = 16384) -> tuple[Tensor, Tensor]:
    """Log-probabilities `float32[r, actions]` and values `float32[r]` of every row, about `rows` rows at a time.

    Episodes must begin where their matches began if the policy has memory.
    """
    policy = policy_for(policy, episodes.spec)
    log_probs = torch.empty((episodes.rows, episodes.spec.actions), device=device.torch_device)
    values = torch.empty(episodes.rows, device=device.torch_device)
    if not policy.initial_memory(1):
        for begin in range(0, episodes.rows, rows):
            part = slice(begin, begin + rows)
            seen = {name: array[part][None] for name, array in episodes.steps.observation.items()}
            found, value = _answers(policy, seen, episodes.unpack_legal(part)[None], device)
            log_probs[part], values[part] = found[0], value[0]
        return log_probs, values
    starts, lengths = episodes.starts, episodes.headers.lengths.astype(np.intp)
    order = np.argsort(-lengths, kind="stable")  # like lengths together, so that little is padding
    done = 0
    while done < len(order):
        chosen = order[done : done + max(1, rows // int(lengths[order[done]]))]
        done += len(chosen)
        index, valid = padded(starts[chosen], lengths[chosen])
        seen = {name: array[index] for name, array in episodes.steps.observation.items()}
        found, value = _answers(policy, seen, episodes.unpack_legal(index), device)
        target, mask = device.tensor(index[valid]), device.tensor(valid)
        log_probs[target], values[target] = found[mask], value[mask]
    return log_probs, values


@torch.no_grad()
def move_towards(target: Policy, policy: Policy, part: float) -> None:
    """Moves the weights of `target` by `part` of the way to those of `policy`, and takes over what is not learnt."""
    for mine, theirs in zip(target.parameters(), policy.parameters(), strict=True):
        mine.lerp_(theirs, part)
    for fixed, theirs_fixed in zip(target.buffers(), policy.buffers(), strict=True):
        fixed.copy_(theirs_fixed)


def _answers(
    policy: Policy, seen: Mapping[str, Array], legal: NDArray[np.bool_], device: Device
) -> tuple[Tensor, Tensor]:
    """Log-probabilities `float32[T, B, actions]` and values `float32[T, B]` of rows `[T, B]`, from no memory on."""
    mask = device.tensor(legal)
    with device.autocast():
        output = policy.unroll(device.tensors(seen), mask, policy.initial_memory(mask.shape[1]))
    return masked_log_softmax(output.logits.float(), mask, xp=torch), output.value.float()
