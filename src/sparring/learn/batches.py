"""Cutting episodes into minibatches of shape [T, B].

Without memory any rows make a minibatch, and T is 1. With memory the unit is a segment: consecutive rows of one
episode that start from the memory stored when they were played. Back-propagation stops at its borders.

Episodes that the policy did not play have no stored memory. They are packed: whole ones (or windows) of any length are
laid end to end in sequences of one length, and memory is reset where each begins.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes, GameSpec
from sparring.core.episodes import spans, unpack_mask
from sparring.core.rows import flatten
from sparring.inference import Device
from sparring.learn import parallel
from sparring.policy import Memory, Output, Packing, Policy

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Batch:
    """Rows `[T, B]` on the device, ready for `policy.unroll`."""

    spec: GameSpec
    """What they are rows of."""
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
    """`float32[T, B, actions]` the distribution it was drawn from, if that was kept."""
    memory: Memory
    """Before the first of the T rows, `[B, ...]`."""
    first: Tensor | None = None
    """`bool[T, B]` where another episode begins in a packed sequence; None unless packed."""

    def parts(self, rows: int) -> list["Batch"]:
        """The batch in parts of at most `rows` rows (or of one sequence, if that is longer)."""
        length, count = self.rows.shape
        width = max(1, rows // length)
        return [self] if width >= count else [self._columns(slice(at, at + width)) for at in range(0, count, width)]

    def _columns(self, which: slice) -> "Batch":
        """Some of the sequences."""
        return replace(
            self,
            rows=self.rows[:, which],
            valid=self.valid[:, which],
            observation={name: field[:, which] for name, field in self.observation.items()},
            legal=self.legal[:, which],
            action=self.action[:, which],
            log_prob=self.log_prob[:, which],
            policy=None if self.policy is None else self.policy[:, which],
            memory={name: state[which] for name, state in self.memory.items()},
            first=None if self.first is None else self.first[:, which],
        )

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The policy's inputs by name: the first suspects if something is not finite."""
        return flatten({"observation": self.observation, "memory": self.memory})

    def pick(self, values: NDArray[np.float32], device: Device) -> Tensor:
        """`float32[T, B]` the entries of a per-row array `values: float32[r]` that belong to this batch."""
        return device.tensor(values[self.rows])


def batches(episodes: Episodes, *, minibatch_size: int, device: Device, rng: np.random.Generator) -> Iterator[Batch]:
    """All rows of `episodes` once, in random order, about `minibatch_size` rows at a time."""
    starts, lengths = _segments(episodes)
    per_batch = max(1, minibatch_size // max(1, episodes.segment))
    order = rng.permutation(len(starts))
    for chosen in _in_turn(order, per_batch):
        yield _make_batch(episodes, starts[chosen], lengths[chosen], segments=chosen, device=device)


def _in_turn(order: Indices, per_batch: int) -> list[Indices]:
    """`order` in pieces of `per_batch`, or about that: several processes must all take the same number of steps."""
    count = -(-len(order) // per_batch)
    if parallel.size() == 1:
        return np.split(order, range(per_batch, len(order), per_batch))
    return np.array_split(order, int(min(parallel.most(count), parallel.fewest(len(order)))))


def packed_batches(
    episodes: Episodes, *, minibatch_size: int, length: int, device: Device, rng: np.random.Generator
) -> Iterator[Batch]:
    """All rows of `episodes` once, in packed sequences of at most `length` rows, about `minibatch_size` at a time.

    A longer episode is cut into windows, and memory is reset at the start of each.
    """
    starts, lengths = _cut(episodes.starts, episodes.headers.lengths.astype(np.intp), length)
    order = rng.permutation(len(starts))
    rows, valid, first = packed(starts[order], lengths[order], length)
    columns = rng.permutation(rows.shape[1])
    per_batch = max(1, minibatch_size // length)
    for chosen in _in_turn(columns, per_batch):
        steps = int(valid[:, chosen].any(axis=1).sum())  # padding is always at the end
        at = (slice(steps), chosen)
        yield replace(_rows_batch(episodes, rows[at], valid[at], device=device), first=device.tensor(first[at]))


def packed(starts: Indices, lengths: Indices, length: int) -> tuple[Indices, NDArray[np.bool_], NDArray[np.bool_]]:
    """Sequences of rows laid end to end in columns of `length` rows.

    Sequence b has rows `starts[b]` to `starts[b] + lengths[b] - 1`, at most `length`. Returns `intp[length, columns]`
    row numbers, `bool[length, columns]` false where padding, and `bool[length, columns]` true where a sequence begins
    and at each row of padding, which repeats a row of its column. The longest are placed first, each in the column that
    it fills best: Pokémon battles leave less than a twentieth of the room empty.
    """
    order = np.argsort(-lengths, kind="stable")
    column, offset = np.empty(len(starts), np.intp), np.empty(len(starts), np.intp)
    room: list[int] = []
    for number in order.tolist():
        size = int(lengths[number])
        fitting = [at for at, left in enumerate(room) if left >= size]
        at = min(fitting, key=room.__getitem__) if fitting else len(room)
        if not fitting:
            room.append(length)
        column[number], offset[number] = at, length - room[at]
        room[at] -= size
    rows = np.empty((length, len(room)), np.intp)
    rows[:, column[order]] = starts[order]
    valid, first = np.zeros(rows.shape, np.bool_), np.ones(rows.shape, np.bool_)
    place, column = spans(offset, lengths), np.repeat(column, lengths)
    rows[place, column] = spans(starts, lengths)
    valid[place, column] = True
    first[place, column] = False
    first[offset, column[np.cumsum(lengths) - lengths]] = True
    return rows, valid, first


def _cut(starts: Indices, lengths: Indices, length: int) -> tuple[Indices, Indices]:
    """First row and length of the windows of at most `length` rows that episodes are cut into."""
    windows = -(-lengths // length)
    offset = (np.arange(int(windows.sum())) - np.repeat(np.cumsum(windows) - windows, windows)) * length
    return np.repeat(starts, windows) + offset, np.minimum(length, np.repeat(lengths, windows) - offset)


def one_batch(episodes: Episodes, *, device: Device) -> Batch:
    """All rows of `episodes` as one batch."""
    starts, lengths = _segments(episodes)
    return _make_batch(episodes, starts, lengths, segments=slice(None), device=device)


def unroll(policy: Policy, batch: Batch, device: Device) -> Output:
    """The output of `policy` for `batch` in the device's precision; see `Optimiser.unroll` for one that may compile."""
    with device.autocast():
        if batch.first is None:
            return policy.unroll(batch.observation, batch.legal, batch.memory)
        assert isinstance(policy, Packing)
        return policy.unroll_packed(batch.observation, batch.legal, batch.first)


def padded(starts: Indices, lengths: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Sequences of rows side by side: `intp[T, B]` row numbers, and `bool[T, B]` false where padding.

    Sequence b has rows `starts[b]` to `starts[b] + lengths[b] - 1`; padding repeats its last row.
    """
    steps = np.arange(int(lengths.max()))[:, None]
    return starts + np.minimum(steps, lengths - 1), steps < lengths


def _make_batch(
    episodes: Episodes, starts: Indices, lengths: Indices, *, segments: Indices | slice, device: Device
) -> Batch:
    """The segments with these first rows and lengths, which start from the memories numbered `segments`."""
    rows, valid = padded(starts, lengths)
    batch = _rows_batch(episodes, rows, valid, device=device)
    if episodes.memory is None:
        return batch
    return replace(batch, memory=device.tensors(episodes.memory.take(segments).state))


def _rows_batch(episodes: Episodes, rows: Indices, valid: NDArray[np.bool_], *, device: Device) -> Batch:
    """The rows `intp[T, B]`, without memory."""
    steps = episodes.steps.take(rows)
    return Batch(
        spec=episodes.spec,
        rows=rows,
        valid=device.tensor(valid),
        observation=device.tensors(steps.observation),
        legal=device.tensor(unpack_mask(steps.legal, episodes.spec.actions)),
        action=device.tensor(steps.action).long(),
        log_prob=device.tensor(steps.log_prob),
        policy=None if steps.policy is None else device.tensor(steps.policy),
        memory={},
    )


def _segments(episodes: Episodes) -> tuple[Indices, Indices]:
    """First row and length of every segment, `intp[s]` each, in the order of the stored memories."""
    if episodes.segment == 0:
        return np.arange(episodes.rows, dtype=np.intp), np.ones(episodes.rows, np.intp)
    return _cut(episodes.starts, episodes.headers.lengths.astype(np.intp), episodes.segment)
