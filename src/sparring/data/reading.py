"""From files to batches: reads the blocks of a stream one after the other and copies each batch out of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Episodes, GameSpec, Headers, Rows, Steps
from sparring.core.episodes import spans
from sparring.core.rows import flatten, nested
from sparring.data.plan import Epoch, Items, Plan, Portion
from sparring.rollout.store import read_shard, renumber

Room = Callable[[Mapping[str, Array]], dict[str, Array]]
"""Makes arrays of the same shapes and dtypes, with any contents."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cuts(Rows):
    """One row per episode of a batch: which part of the whole episode it is."""

    start: NDArray[np.int32]
    """`int32[n]` the step of the whole episode that it begins with."""
    total: NDArray[np.int32]
    """`int32[n]` steps of the whole episode."""


@dataclass(frozen=True)
class Pieces:
    """A loaded batch."""

    episodes: Episodes
    cuts: Cuts


def in_memory(like: Mapping[str, Array]) -> dict[str, Array]:
    """Room in this process's own memory."""
    return {name: np.empty(array.shape, array.dtype) for name, array in like.items()}


class StreamReader:
    """The batches of one stream of an epoch, in order, starting at any. Holds at most two blocks."""

    def __init__(self, plan: Plan, epoch: Epoch, *, number: int, stream: int, first: int) -> None:
        self._plan = plan
        self._epoch = number
        self._number = stream
        self._stream = epoch.streams[stream]
        self._blocks: dict[int, _Block] = {}
        self._at = self._block_of(first * plan.batch_size)

    def batch(self, number: int, room: Room = in_memory) -> Pieces:
        """Batch `number` of the stream, in arrays that `room` makes."""
        start = number * self._plan.batch_size
        stop = min(start + self._plan.batch_size, self._stream.ends[-1])
        chosen: list[_Chosen] = []
        while start < stop:
            self._at = self._block_of(start)
            begin = self._stream.ends[self._at - 1] if self._at else 0
            end = min(stop, self._stream.ends[self._at])
            chosen += self._block(self._at).items(start - begin, end - begin)
            start = end
        catalogue = self._plan.catalogue
        return _assemble(chosen, catalogue.specs[self._stream.spec], catalogue.columns[self._stream.spec], room)

    def read_ahead(self) -> bool:
        """Loads the next block that is needed, if it is missing; returns whether it was."""
        missing = [block for block in (self._at, self._at + 1) if block not in self._blocks]
        if not missing or missing[0] >= len(self._stream.blocks):
            return False
        self._block(missing[0])
        return True

    def _block_of(self, item: int) -> int:
        return int(np.searchsorted(self._stream.ends, item, side="right"))

    def _block(self, number: int) -> "_Block":
        for done in [block for block in self._blocks if block < self._at]:
            del self._blocks[done]
        if number not in self._blocks:
            self._blocks[number] = _Block(self._plan, self._epoch, self._number, number, self._stream.blocks[number])
        return self._blocks[number]


@dataclass(frozen=True)
class _Chosen:
    """Some items of one file."""

    episodes: Episodes
    items: Items


class _Block:
    """Some files in memory, and the order in which their items are served."""

    def __init__(self, plan: Plan, epoch: int, stream: int, number: int, portions: Sequence[Portion]) -> None:
        self._files = [_read(plan, portion) for portion in portions]
        self._items = [plan.shuffled(epoch, portion) for portion in portions]
        counts = [len(items.start) for items in self._items]
        order = plan.block_order(epoch, stream, number, sum(counts))
        self._file = np.repeat(np.arange(len(portions)), counts)[order]
        self._item = np.concatenate([np.arange(count) for count in counts])[order]

    def items(self, start: int, stop: int) -> list[_Chosen]:
        """The items from `start` to `stop` of the block, by file."""
        files, items = self._file[start:stop], self._item[start:stop]
        return [
            _Chosen(self._files[file], self._items[file].take(items[files == file]))
            for file in np.unique(files).tolist()
        ]


def _read(plan: Plan, portion: Portion) -> Episodes:
    shard = plan.catalogue.shards[portion.shard]
    episodes = read_shard(shard.path)
    spec = plan.catalogue.specs[shard.spec]
    if spec.vocabulary is not None and episodes.spec != spec:
        return renumber(episodes, spec.vocabulary, shard.path)[0]
    return episodes


def _assemble(chosen: Sequence[_Chosen], spec: GameSpec, columns: frozenset[str], room: Room) -> Pieces:
    """One batch of all `chosen`: every row is copied once, from its file's arrays to its place."""
    parts = [_part(one, columns) for one in chosen]
    count, rows = sum(len(cuts) for _, cuts, _ in parts), sum(len(at) for _, _, at in parts)
    steps = Steps.none(spec, **{name: name in columns for name in ("policy", "consistent", "filled")})
    like = {
        "headers": parts[0][0].empty(count).columns(),
        "steps": steps.empty(rows).columns(),
        "cuts": parts[0][1].empty(count).columns(),
    }
    made = nested(room(flatten(like)))
    done = 0
    for one, (_, _, at) in zip(chosen, parts, strict=True):
        _copy_steps(
            one.episodes.steps, at, {name: array[done : done + len(at)] for name, array in made["steps"].items()}
        )
        done += len(at)
    headers: Headers = Headers.join([headers for headers, _, _ in parts], out=Headers.from_columns(made["headers"]))
    cuts: Cuts = Cuts.join([cuts for _, cuts, _ in parts], out=Cuts.from_columns(made["cuts"]))
    names = [
        one.episodes.players[player] for one, (part, _, _) in zip(chosen, parts, strict=True) for player in part.player
    ]
    players = tuple(dict.fromkeys(names))
    numbers = {name: number for number, name in enumerate(players)}
    headers.player[:] = [numbers[name] for name in names]
    return Pieces(Episodes(spec, players, headers, Steps.from_columns(made["steps"])), cuts)


def _part(one: _Chosen, columns: frozenset[str]) -> tuple[Headers, Cuts, NDArray[np.intp]]:
    """Headers and cuts of items of a file, and `intp[r]` the steps of the file that they consist of."""
    items = one.items
    headers = one.episodes.headers.take(items.episode)
    rating, played_at = headers.rating, headers.played_at
    if "rating" in columns and rating is None:
        rating = np.full(len(headers), np.nan, np.float32)
    if "played_at" in columns and played_at is None:
        played_at = np.zeros(len(headers), np.int64)
    headers = replace(headers, lengths=items.length, rating=rating, played_at=played_at)
    return (
        headers,
        Cuts(items.start, items.total),
        spans(one.episodes.starts[items.episode] + items.start, items.length),
    )


def _copy_steps(steps: Steps, at: NDArray[np.intp], out: Mapping[str, Array]) -> None:
    have = steps.columns()
    for name, array in out.items():
        if name in have:
            np.take(have[name], at, axis=0, out=array, mode="clip")  # with "raise" numpy would copy twice
        elif name == "filled":
            array[:] = 0
        else:
            assert name == "consistent"
            array[:] = _one_action(steps.action[at], array.shape[1])


def _one_action(action: NDArray[np.int32], width: int) -> NDArray[np.uint8]:
    """`uint8[r, width]` packed bits of sets that hold one action each."""
    packed = np.zeros((len(action), width), np.uint8)
    packed[np.arange(len(action)), action // 8] = 1 << (action % 8)
    return packed
