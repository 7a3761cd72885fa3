"""Episodes: what seats saw, did and got, as flat arrays.

A batch of episodes is ragged, so its rows are laid end to end and `lengths` says where each ends. Learners,
the episode store and human replays all speak this one form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sparring.core.decisions import Array
from sparring.core.spec import GameSpec


@dataclass(frozen=True)
class Episodes:
    """n episodes, r rows in all. An episode is one seat's part of one match."""

    spec: GameSpec
    players: tuple[str, ...]
    """The names that `player` numbers."""

    lengths: NDArray[np.int32]
    """`int32[n]` rows of each episode, at least 1; they sum to r."""
    match: NDArray[np.int64]
    """`int64[n]` serial number of the match; the episodes of its seats share it."""
    seat: NDArray[np.int32]
    """`int32[n]`"""
    player: NDArray[np.int32]
    """`int32[n]` who sat there, an index into `players`."""
    version: NDArray[np.int32]
    """`int32[n]` the weights' version when the episode began; -1 for players without weights."""
    outcome: NDArray[np.float32]
    """`float32[n]` 1 won, 0 drawn or cut short, -1 lost."""
    complete: NDArray[np.bool_]
    """`bool[n]` false where the episode was cut before its match ended."""
    last_value: NDArray[np.float32]
    """`float32[n]` expected gain after the last row; 0 where complete."""

    observation: Mapping[str, Array]
    """Field name to `dtype[r, *shape]`."""
    legal: NDArray[np.uint8]
    """`uint8[r, ceil(actions / 8)]` the mask as packed bits; see `unpack_legal`."""
    action: NDArray[np.int32]
    """`int32[r]`"""
    turn: NDArray[np.int32]
    """`int32[r]` number of the match's wait that showed the row, from 0; rows of both seats with one turn were
    answered without knowledge of each other."""
    reward: NDArray[np.float32]
    """`float32[r]` gained between this row's action and the seat's next row, or the end."""
    log_prob: NDArray[np.float32]
    """`float32[r]` with which the action was drawn; 0 for players that do not say."""
    value: NDArray[np.float32]
    """`float32[r]` the player's own expectation; 0 for players that do not say."""
    policy: NDArray[np.float32] | None = None
    """`float32[r, actions]` the whole behaviour or search policy, kept only when a learner asks for it."""
    memory: Mapping[str, Array] | None = None
    """Policy memory before the first row of each segment, `dtype[s, ...]`; segments are `segment` rows long."""
    segment: int = 0
    """Rows from one stored memory to the next; 0 when no memory is stored."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def rows(self) -> int:
        """Rows in all."""
        return len(self.action)

    @property
    def starts(self) -> NDArray[np.intp]:
        """`intp[n]` the first row of each episode."""
        starts = np.zeros(len(self.lengths), np.intp)
        np.cumsum(self.lengths[:-1], out=starts[1:])
        return starts

    @property
    def segment_counts(self) -> NDArray[np.intp]:
        """`intp[n]` stored memories of each episode."""
        if self.segment == 0:
            return np.zeros(len(self), np.intp)
        return -(-self.lengths.astype(np.intp) // self.segment)

    def unpack_legal(self, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.bool_]:
        """`bool[k, actions]` the legal mask of `rows`."""
        return unpack_mask(self.legal[rows], self.spec.actions)

    def take(self, episodes: NDArray[np.intp]) -> "Episodes":
        """Only the given episodes, in that order."""
        rows = spans(self.starts[episodes], self.lengths[episodes])
        counts = self.segment_counts
        segment_starts = np.cumsum(counts) - counts
        segments = spans(segment_starts[episodes], counts[episodes])
        parts: dict[str, object] = {}
        for name in _PER_EPISODE:
            parts[name] = getattr(self, name)[episodes]
        for name in _PER_ROW:
            parts[name] = getattr(self, name)[rows]
        return Episodes(
            spec=self.spec,
            players=self.players,
            observation={name: array[rows] for name, array in self.observation.items()},
            policy=None if self.policy is None else self.policy[rows],
            memory=None if self.memory is None else {k: v[segments] for k, v in self.memory.items()},
            segment=self.segment,
            **parts,  # type: ignore[arg-type]
        )


_PER_EPISODE = ("lengths", "match", "seat", "player", "version", "outcome", "complete", "last_value")
_PER_ROW = ("legal", "action", "turn", "reward", "log_prob", "value")
assert {*_PER_EPISODE, *_PER_ROW} < {field.name for field in fields(Episodes)}


def concatenate(parts: Sequence[Episodes]) -> Episodes:
    """All episodes of `parts` (at least one, of one spec and one set of players) in order."""
    first = parts[0]
    if any(part.spec != first.spec or part.players != first.players or part.segment != first.segment for part in parts):
        raise ValueError("episodes of different specs, players or segment lengths cannot be joined")
    if len(parts) == 1:
        return first
    joined: dict[str, object] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in (*_PER_EPISODE, *_PER_ROW)
    }
    return Episodes(
        spec=first.spec,
        players=first.players,
        observation={name: np.concatenate([part.observation[name] for part in parts]) for name in first.observation},
        policy=None if first.policy is None else np.concatenate([p.policy for p in parts if p.policy is not None]),
        memory=None
        if first.memory is None
        else {k: np.concatenate([p.memory[k] for p in parts if p.memory is not None]) for k in first.memory},
        segment=first.segment,
        **joined,  # type: ignore[arg-type]
    )


def spans(starts: NDArray[np.intp], lengths: NDArray[np.integer]) -> NDArray[np.intp]:
    """`intp[sum(lengths)]`: the numbers starts[i] .. starts[i] + lengths[i] - 1 of every i, in order."""
    lengths = lengths.astype(np.intp)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    offsets: NDArray[np.intp] = np.repeat(starts - (ends - lengths), lengths)
    return np.arange(total, dtype=np.intp) + offsets


def pack_mask(legal: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """`bool[..., actions]` to `uint8[..., ceil(actions / 8)]`."""
    return np.packbits(legal, axis=-1, bitorder="little")


def unpack_mask(packed: NDArray[np.uint8], actions: int) -> NDArray[np.bool_]:
    """`uint8[..., ceil(actions / 8)]` to `bool[..., actions]`."""
    return np.unpackbits(packed, axis=-1, count=actions, bitorder="little").view(np.bool_)
