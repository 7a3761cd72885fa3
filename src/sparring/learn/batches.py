"""Cutting episodes into minibatches of shape [T, B].

Without memory any rows make a minibatch, T is 1. With memory the unit is a segment: consecutive rows of one
episode that start from the memory stored when they were played. Back-propagation stops at its borders.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes
from sparring.core.episodes import unpack_mask
from sparring.core.rows import flatten
from sparring.inference import Device
from sparring.policy import Memory

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Batch:
    """Rows `[T, B]` on the device, ready for `policy.unroll`."""

    rows: Indices
    """`intp[T, B]` which rows of the episodes these are; padding repeats a segment's last row."""
    valid: Tensor
    """`bool[T, B]` false where padding."""
    observation: dict[str, Tensor]
    legal: Tensor
    action: Tensor
    log_prob: Tensor
    """`float32[T, B]` with which the action was drawn."""
    policy: Tensor | None
    """`float32[T, B, actions]` the distribution it was drawn from, where that was kept."""
    memory: Memory
    """Before the first of the T rows, `[B, ...]`."""

    @property
    def inputs(self) -> dict[str, Tensor]:
        """What the policy sees, by name: the first suspects if something is not finite."""
        return flatten({"observation": self.observation, "memory": self.memory})

    def pick(self, values: NDArray[np.float32], device: Device) -> Tensor:
        """`float32[T, B]` the entries of a per-row array `values: float32[r]` that belong to this batch."""
        return device.tensor(values[self.rows])


def batches(episodes: Episodes, *, minibatch_size: int, device: Device, rng: np.random.Generator) -> Iterator[Batch]:
    """All rows of `episodes` once, in random order, about `minibatch_size` rows at a time."""
    starts, lengths = _segments(episodes)
    per_batch = max(1, minibatch_size // max(1, episodes.segment))
    order = rng.permutation(len(starts))
    for begin in range(0, len(order), per_batch):
        chosen = order[begin : begin + per_batch]
        yield _make_batch(episodes, starts[chosen], lengths[chosen], segments=chosen, device=device)


def one_batch(episodes: Episodes, *, device: Device) -> Batch:
    """All rows of `episodes` as one batch."""
    starts, lengths = _segments(episodes)
    return _make_batch(episodes, starts, lengths, segments=slice(None), device=device)


def padded(starts: Indices, lengths: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Sequences of rows side by side: `intp[T, B]` row numbers, and `bool[T, B]` false where padding.

    Sequence b has rows `starts[b]` to `starts[b] + lengths[b] - 1`; padding repeats its last row.
    """
    steps = np.arange(int(lengths.max()))[:, None]
    return starts + np.minimum(steps, lengths - 1), steps < lengths


def _make_batch(
    episodes: Episodes, starts: Indices, lengths: Indices, *, segments: Indices | slice, device: Device
) -> Batch:
    """The segments of these first rows and lengths, which start from the memories numbered `segments`."""
    rows, valid = padded(starts, lengths)
    steps = episodes.steps.take(rows)
    return Batch(
        rows=rows,
        valid=device.tensor(valid),
        observation=device.tensors(steps.observation),
        legal=device.tensor(unpack_mask(steps.legal, episodes.spec.actions)),
        action=device.tensor(steps.action).long(),
        log_prob=device.tensor(steps.log_prob),
        policy=None if steps.policy is None else device.tensor(steps.policy),
        memory={} if episodes.memory is None else device.tensors(episodes.memory.take(segments).state),
    )


def _segments(episodes: Episodes) -> tuple[Indices, Indices]:
    """First row and length of every segment, `intp[s]` each, in the order of the stored memories."""
    if episodes.segment == 0:
        return np.arange(episodes.rows, dtype=np.intp), np.ones(episodes.rows, np.intp)
    counts = episodes.segment_counts
    number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    offset = number * episodes.segment
    starts = np.repeat(episodes.starts, counts) + offset
    lengths = np.minimum(episodes.segment, np.repeat(episodes.headers.lengths, counts) - offset)
    return starts, lengths
