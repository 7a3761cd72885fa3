"""Cutting episodes into training batches of shape [T, B].

Without memory any rows make a batch, T is 1. With memory the unit is a segment: consecutive rows of one
episode that start from the memory stored when they were played. Back-propagation stops at its borders.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes
from sparring.inference import Device
from sparring.policy import Memory


@dataclass(frozen=True)
class Batch:
    """Rows `[T, B]` on the device, ready for `policy.unroll`."""

    rows: NDArray[np.intp]
    """`intp[T, B]` which rows of the episodes these are; padding repeats a segment's last row."""
    valid: Tensor
    """`bool[T, B]` false where padding."""
    first: Tensor
    """`bool[T, B]` rows before which memory starts anew; all false, since segments start from stored memory."""
    observation: dict[str, Tensor]
    legal: Tensor
    action: Tensor
    memory: Memory

    def pick(self, values: NDArray[np.float32], device: Device) -> Tensor:
        """`float32[T, B]` the entries of a per-row array `values: float32[r]` that belong to this batch."""
        return device.tensor(values[self.rows])


def batches(episodes: Episodes, *, rows: int, device: Device, rng: np.random.Generator) -> Iterator[Batch]:
    """All rows of `episodes` once, in random order, about `rows` rows a batch."""
    starts, lengths = _segments(episodes)
    width = max(1, episodes.segment)
    per_batch = max(1, rows // width)
    order = rng.permutation(len(starts))
    for begin in range(0, len(order), per_batch):
        chosen = order[begin : begin + per_batch]
        steps = np.arange(int(lengths[chosen].max()))[:, None]
        index = starts[chosen] + np.minimum(steps, lengths[chosen] - 1)
        yield make_batch(episodes, index, valid=steps < lengths[chosen], segments=chosen, device=device)


def one_batch(episodes: Episodes, *, device: Device) -> Batch:
    """All rows of `episodes` as one batch."""
    starts, lengths = _segments(episodes)
    steps = np.arange(int(lengths.max()))[:, None]
    index = starts + np.minimum(steps, lengths - 1)
    return make_batch(
        episodes, index, valid=steps < lengths, segments=np.arange(len(starts), dtype=np.intp), device=device
    )


def make_batch(
    episodes: Episodes,
    index: NDArray[np.intp],
    *,
    valid: NDArray[np.bool_],
    segments: NDArray[np.intp],
    device: Device,
) -> Batch:
    """The batch of rows `index: intp[T, B]`, column b starting from the memory of segment `segments[b]`."""
    memory = {} if episodes.memory is None else device.tensors(episodes.memory.take(segments).state)
    return Batch(
        rows=index,
        valid=device.tensor(valid),
        first=device.tensor(np.zeros(index.shape, np.bool_)),
        observation={name: device.tensor(array[index]) for name, array in episodes.steps.observation.items()},
        legal=device.tensor(episodes.unpack_legal(index)),
        action=device.tensor(episodes.steps.action[index]).long(),
        memory=memory,
    )


def _segments(episodes: Episodes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First row and length of every segment, `intp[s]` each, in the order of the stored memories."""
    if episodes.segment == 0:
        return np.arange(episodes.rows, dtype=np.intp), np.ones(episodes.rows, np.intp)
    counts = episodes.segment_counts
    number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    offset = number * episodes.segment
    starts = np.repeat(episodes.starts, counts) + offset
    lengths = np.minimum(episodes.segment, np.repeat(episodes.headers.lengths, counts) - offset)
    return starts, lengths
