"""Reference networks: the outputs of a policy that did not play, for every row of some episodes.

Reference networks (R-NaD's snapshots, a magnet's portfolio) have memory of their own, which was not stored: it is
recomputed from each episode's first row.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Array, Episodes, masked_log_softmax
from sparring.inference import Device
from sparring.learn import parallel
from sparring.learn.batches import padded
from sparring.learn.sharding import is_sharded, part_of
from sparring.policy import Policy, policy_for


@torch.no_grad()
def row_outputs(policy: Policy, episodes: Episodes, *, device: Device, rows: int = 16384) -> tuple[Tensor, Tensor]:
    """Log-probabilities `float32[r, actions]` and values `float32[r]` of every row, about `rows` rows at a time.

    If the policy has memory, episodes must begin where their matches began. A sharded policy runs equally often in all
    processes.
    """
    spread, policy = is_sharded(policy), policy_for(policy, episodes.spec)
    log_probs = torch.empty((episodes.rows, episodes.spec.actions), device=device.torch_device)
    values = torch.empty(episodes.rows, device=device.torch_device)
    passes = list(_passes(episodes, rows, one_by_one=not policy.initial_memory(1)))
    idle = int(parallel.most(len(passes))) - len(passes) if spread else 0
    for index, valid in passes + passes[:1] * idle:
        seen = {name: array[index] for name, array in episodes.steps.observation.items()}
        found, value = _answers(policy, seen, episodes.unpack_legal(index), device)
        target, mask = device.tensor(index[valid]), device.tensor(valid)
        log_probs[target], values[target] = found[mask], value[mask]
    return log_probs, values


def _passes(episodes: Episodes, rows: int, *, one_by_one: bool) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Row numbers `intp[T, B]`, about `rows` at a time, and which count: whole episodes, or single rows."""
    if one_by_one:
        for begin in range(0, episodes.rows, rows):
            index = np.arange(begin, min(begin + rows, episodes.rows), dtype=np.intp)[None]
            yield index, np.ones(index.shape, np.bool_)
        return
    starts, lengths = episodes.starts, episodes.headers.lengths.astype(np.intp)
    order = np.argsort(-lengths, kind="stable")  # similar lengths together, so that little is padding
    done = 0
    while done < len(order):
        chosen = order[done : done + max(1, rows // int(lengths[order[done]]))]
        done += len(chosen)
        yield padded(starts[chosen], lengths[chosen])


@torch.no_grad()
def move_towards(target: Policy, policy: Policy, part: float) -> None:
    """Moves the weights of `target` by `part` of the way to those of `policy`, and copies its buffers."""
    for mine, theirs in zip(target.parameters(), policy.parameters(), strict=True):
        part_of(mine).lerp_(part_of(theirs), part)
    for fixed, theirs_fixed in zip(target.buffers(), policy.buffers(), strict=True):
        fixed.copy_(theirs_fixed)


def _answers(
    policy: Policy, seen: Mapping[str, Array], legal: NDArray[np.bool_], device: Device
) -> tuple[Tensor, Tensor]:
    """Log-probabilities `float32[T, B, actions]` and values `float32[T, B]` of rows `[T, B]`, from empty memory."""
    mask = device.tensor(legal)
    with device.autocast():
        output = policy.unroll(device.tensors(seen), mask, policy.initial_memory(mask.shape[1]))
    return masked_log_softmax(output.logits.float(), mask, xp=torch), output.value.float()
