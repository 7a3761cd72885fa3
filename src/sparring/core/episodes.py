"""Episodes: what seats saw, did and got, as flat arrays.

A batch of episodes is ragged, so the steps of all of them are laid end to end and `headers.lengths` says where each
ends. Learners, the episode store and human replays all speak this one form.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparring.core.documented import documented
from sparring.core.errors import InputError
from sparring.core.rows import Array, Rows, flatten, nested
from sparring.core.spec import GameSpec


@documented
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Headers(Rows):
    """One row per episode: whose it was, how long, how it ended."""

    lengths: NDArray[np.int32]
    """`int32[n]` steps of each episode, at least 1."""
    serial: NDArray[np.int64]
    """`int64[n]` serial number of the match; the episodes of its seats share it."""
    seat: NDArray[np.int32]
    """`int32[n]` the seat that played it."""
    player: NDArray[np.int32]
    """`int32[n]` who sat there, an index into `Episodes.players`."""
    version: NDArray[np.int32]
    """`int32[n]` the weights' version when the episode began; -1 for players without weights."""
    outcome: NDArray[np.float32]
    """`float32[n]` 1 won, 0 drawn or truncated, -1 lost."""
    complete: NDArray[np.bool_]
    """`bool[n]` false where the episode was truncated before its match ended."""
    last_value: NDArray[np.float32]
    """`float32[n]` expected gain after the last step; 0 where complete."""
    rating: NDArray[np.float32] | None = None
    """`float32[n]` the player's rating where the match was played, NaN if unknown; kept for matches between people."""
    played_at: NDArray[np.int64] | None = None
    """`int64[n]` when, in seconds since 1970, 0 if unknown; kept for matches between people."""


@documented
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Steps(Rows):
    """One row per decision: what the seat saw, what it did, what it got for it."""

    observation: Mapping[str, Array]
    """Field name to `dtype[r, *shape]`."""
    legal: NDArray[np.uint8]
    """`uint8[r, ceil(actions / 8)]` the mask as packed bits; see `Episodes.unpack_legal`."""
    action: NDArray[np.int32]
    """`int32[r]`; -1 where `consistent` has several."""
    turn: NDArray[np.int32]
    """`int32[r]` which of the match's waits showed the row, from 0; rows of both seats with the same turn were
    answered without knowledge of each other."""
    reward: NDArray[np.float32]
    """`float32[r]` gained between this row's action and the seat's next row, or the end."""
    log_prob: NDArray[np.float32]
    """`float32[r]` with which the action was drawn; 0 for players that do not say."""
    value: NDArray[np.float32]
    """`float32[r]` the player's own expectation; 0 for players that do not say."""
    policy: NDArray[np.float32] | None = None
    """`float32[r, actions]` the whole behaviour or search policy, kept only when a learner asks for it."""
    consistent: NDArray[np.uint8] | None = None
    """`uint8[r, ceil(actions / 8)]` as packed bits: the actions that may have been chosen, where the record that a
    match was read from leaves some open."""
    filled: NDArray[np.uint64] | None = None
    """`uint64[r]` which parts of the observation were guessed when a match was read from such a record; the game says
    what each bit stands for (`core.replays.Replayed.hide_filled`)."""

    @classmethod
    def none(cls, spec: GameSpec, *, policy: bool, consistent: bool = False, filled: bool = False) -> "Steps":
        """No steps, of the right dtypes and shapes."""
        return cls(
            observation={name: field.zeros(0) for name, field in spec.observation.items()},
            legal=np.empty((0, mask_bytes(spec.actions)), np.uint8),
            action=np.empty(0, np.int32),
            turn=np.empty(0, np.int32),
            reward=np.empty(0, np.float32),
            log_prob=np.empty(0, np.float32),
            value=np.empty(0, np.float32),
            policy=np.empty((0, spec.actions), np.float32) if policy else None,
            consistent=np.empty((0, mask_bytes(spec.actions)), np.uint8) if consistent else None,
            filled=np.empty(0, np.uint64) if filled else None,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SegmentMemory(Rows):
    """One row per segment: the policy's memory before the segment's first step."""

    state: Mapping[str, Array]
    """Name to `dtype[s, ...]`."""


@documented
@dataclass(frozen=True, eq=False, repr=False)
class Episodes:
    """n episodes with r steps in all. An episode is one seat's part of one match."""

    spec: GameSpec
    """What the rows look like."""
    players: tuple[str, ...]
    """The names that `headers.player` numbers."""
    headers: Headers
    """One row per episode."""
    steps: Steps
    """One row per decision, episode after episode."""
    memory: SegmentMemory | None = None
    """Kept for policies with memory: consecutive steps of one episode are cut into segments."""
    segment: int = 0
    """Steps from one stored memory to the next; 0 when no memory is stored."""

    def __post_init__(self) -> None:
        """Raises `InputError` for parts that are none."""
        for name, kind in (("spec", GameSpec), ("headers", Headers), ("steps", Steps)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"Episodes: {name} = {getattr(self, name)!r:.60}: allowed: {kind.__name__}")

    def __len__(self) -> int:
        return len(self.headers)

    def __iter__(self) -> "Iterator[Episodes]":
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        about = f"{self.spec.game} {dict(self.spec.settings)} by {', '.join(self.players[:5])}"
        return f"<Episodes: {len(self):,} with {self.rows:,} steps, of {about}>"

    @property
    def rows(self) -> int:
        """Steps in all."""
        return len(self.steps)

    @property
    def starts(self) -> NDArray[np.intp]:
        """`intp[n]` the first step of each episode."""
        starts = np.zeros(len(self), np.intp)
        np.cumsum(self.headers.lengths[:-1], out=starts[1:])
        return starts

    @property
    def segment_counts(self) -> NDArray[np.intp]:
        """`intp[n]` stored memories of each episode."""
        if self.segment == 0:
            return np.zeros(len(self), np.intp)
        return -(-self.headers.lengths.astype(np.intp) // self.segment)

    def unpack_legal(self, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.bool_]:
        """`bool[k, actions]` the legal mask of the steps `rows`."""
        return unpack_mask(self.steps.legal[rows], self.spec.actions)

    def observing(self, fields: Sequence[str], spec: GameSpec) -> "Episodes":
        """The same episodes as `spec` sees them, with only `fields` of the observation."""
        seen = {name: self.steps.observation[name] for name in fields}
        return replace(self, spec=spec, steps=replace(self.steps, observation=seen))

    def columns(self) -> dict[str, Array]:
        """All arrays by flat name, `headers/...`, `steps/...` and `memory/...`: what crosses to another process."""
        memory = {} if self.memory is None else {"memory": self.memory.columns()}
        return flatten({"headers": self.headers.columns(), "steps": self.steps.columns(), **memory})

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Array], *, spec: GameSpec, players: tuple[str, ...], segment: int = 0
    ) -> "Episodes":
        """The episodes that `columns` made flat; other groups of names are ignored."""
        parts = nested(columns)
        return cls(
            spec=spec,
            players=players,
            headers=Headers.from_columns(parts["headers"]),
            steps=Steps.from_columns(parts["steps"]),
            memory=SegmentMemory.from_columns(parts["memory"]) if "memory" in parts else None,
            segment=segment,
        )

    def take(self, episodes: NDArray[np.intp]) -> "Episodes":
        """Only the given episodes, in that order."""
        steps = spans(self.starts[episodes], self.headers.lengths[episodes])
        counts = self.segment_counts
        segments = spans((np.cumsum(counts) - counts)[episodes], counts[episodes])
        return Episodes(
            spec=self.spec,
            players=self.players,
            headers=self.headers.take(episodes),
            steps=self.steps.take(steps),
            memory=None if self.memory is None else self.memory.take(segments),
            segment=self.segment,
        )

    def __getitem__(self, episodes: int | slice) -> "Episodes":
        """One episode or a slice of them. Past the end it is an `IndexError`, so that a loop gives each episode."""
        return self.take(np.atleast_1d(np.arange(len(self))[episodes]))

    @classmethod
    def join(cls, parts: Iterable["Episodes"]) -> "Episodes":
        """All episodes of `parts` (at least one, of one spec and one set of players) in order."""
        parts = list(parts)
        if not parts:
            raise InputError("there are no episodes to join")
        first = parts[0]
        if any((part.spec, part.players, part.segment) != (first.spec, first.players, first.segment) for part in parts):
            raise InputError("episodes of different specs, players or segment lengths cannot be joined")
        memories = [part.memory for part in parts if part.memory is not None]
        return cls(
            spec=first.spec,
            players=first.players,
            headers=Headers.join([part.headers for part in parts]),
            steps=Steps.join([part.steps for part in parts]),
            memory=SegmentMemory.join(memories) if memories else None,
            segment=first.segment,
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


def mask_bytes(actions: int) -> int:
    """Bytes of a packed mask over `actions` actions."""
    return -(-actions // 8)
