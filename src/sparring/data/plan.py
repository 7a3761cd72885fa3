"""Which episodes are in which batch: a function of the catalogue, the settings, the seed and the number of the epoch.

An epoch has every episode once, or every window of one. The files of a spec are put in random order; their contents,
laid end to end, are dealt to the ranks in equal parts, and a rank's part to a few streams. A stream is read in blocks:
some files whose episodes are shuffled together. A batch comes from one stream, and which stream is next is random
too. So any process can make any batch without those before it, and memory holds one block per stream.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sparring.core import InputError, Rows, check_argument
from sparring.core.settings import Count, NonNegativeInt
from sparring.data.catalogue import Catalogue, Shard

STREAMS = 4
"""Streams per spec: this many processes can load its episodes."""
_SHARDS, _ITEMS, _BLOCK, _BATCHES = range(4)
"""What random numbers are drawn for."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Items(Rows):
    """Whole episodes or windows of one shard, of which batches are made."""

    episode: NDArray[np.intp]
    """`intp[n]` the number of the episode in the file."""
    start: NDArray[np.int32]
    """`int32[n]` the step of the episode that it begins with."""
    length: NDArray[np.int32]
    """`int32[n]` its steps."""
    total: NDArray[np.int32]
    """`int32[n]` steps of the whole episode."""


def items_of(shard: Shard, length: int | None) -> Items:
    """The items of a shard: its episodes, or their windows of `length` steps, of which the last may be shorter."""
    total = shard.lengths
    windows = np.ones(len(total), np.intp) if length is None else -(-total // length).astype(np.intp)
    which = np.repeat(np.arange(len(total)), windows)
    number = np.arange(len(which)) - np.repeat(np.cumsum(windows) - windows, windows)
    start = (number * (length or 0)).astype(np.int32)
    rest = total[which] - start
    steps = rest if length is None else np.minimum(rest, length)
    return Items(shard.episodes[which].astype(np.intp), start, steps.astype(np.int32), total[which])


@dataclass(frozen=True)
class Portion:
    """Some items of a shard: those from `start` to `stop` in the epoch's random order of the shard."""

    shard: int
    start: int
    stop: int


@dataclass(frozen=True)
class Stream:
    """A part of a rank's items of one spec, in blocks."""

    spec: int
    blocks: tuple[tuple[Portion, ...], ...]
    batches: int

    @cached_property
    def ends(self) -> list[int]:
        """By block: the items of the stream up to its end."""
        return list(accumulate(sum(part.stop - part.start for part in block) for block in self.blocks))


@dataclass(frozen=True)
class Epoch:
    """The batches of an epoch."""

    streams: tuple[Stream, ...]
    stream: NDArray[np.intp]
    """`intp[batches]` the stream that each batch comes from."""
    number: NDArray[np.intp]
    """`intp[batches]` which batch of its stream it is."""

    def __len__(self) -> int:
        return len(self.stream)


@dataclass(frozen=True)
class Plan:
    """Everything that determines what one rank loads."""

    catalogue: Catalogue
    batch_size: int
    length: int | None
    """Steps of a window; None for whole episodes."""
    buffer: int
    """Steps that are shuffled together, over all streams of this rank."""
    seed: int
    rank: int
    world_size: int

    def __post_init__(self) -> None:
        for name in ("batch_size", "buffer", "world_size"):
            check_argument(name, getattr(self, name), Count)
        check_argument("length", self.length, Count | None)
        for name in ("seed", "rank"):
            check_argument(name, getattr(self, name), NonNegativeInt)
        if self.rank >= self.world_size:
            raise InputError(f"rank: {self.rank} is not one of 0..{self.world_size - 1}")
        if not len(self.epoch(0)):
            raise InputError(f"{sum(self._counts):,} episodes or windows are too few for {self.world_size} ranks")

    def rng(self, *key: int) -> np.random.Generator:
        """A random generator of its own for each `key`."""
        return np.random.default_rng([self.seed, *key])

    def shuffled(self, epoch: int, portion: Portion) -> Items:
        """The items of a portion."""
        items = items_of(self.catalogue.shards[portion.shard], self.length)
        order = self.rng(epoch, _ITEMS, portion.shard).permutation(len(items.start))
        return items.take(order[portion.start : portion.stop])

    def block_order(self, epoch: int, stream: int, block: int, items: int) -> NDArray[np.intp]:
        """`intp[items]` the order in which the items of a block are served."""
        return self.rng(epoch, _BLOCK, self.rank, stream, block).permutation(items)

    def epoch(self, number: int) -> Epoch:
        """The batches of epoch `number`."""
        parts = [part for spec in range(len(self.catalogue.specs)) for part in self._parts(number, spec)]
        rows = [sum(self._rows(portion) for portion in portions) for _, portions, _ in parts]
        streams = tuple(
            Stream(spec, self._blocks(portions, self.buffer * own / sum(rows)), batches)
            for (spec, portions, batches), own in zip(parts, rows, strict=True)
        )
        counts = [stream.batches for stream in streams]
        stream = self.rng(number, _BATCHES).permutation(np.repeat(np.arange(len(streams)), counts))
        which = np.empty(len(stream), np.intp)
        for one, count in enumerate(counts):
            which[stream == one] = np.arange(count)
        return Epoch(streams, stream, which)

    @cached_property
    def _counts(self) -> list[int]:
        """Items of each shard."""
        return [
            len(shard.lengths) if self.length is None else int((-(-shard.lengths // self.length)).sum())
            for shard in self.catalogue.shards
        ]

    def _parts(self, epoch: int, spec: int) -> list[tuple[int, list[Portion], int]]:
        """The streams of a spec: (spec, contents, batches). All but the last hold only full batches."""
        own = [number for number, shard in enumerate(self.catalogue.shards) if shard.spec == spec]
        order = self.rng(epoch, _SHARDS, spec).permutation(own).tolist()
        counts = [self._counts[shard] for shard in order]
        begins = [0, *accumulate(counts)]
        share = begins[-1] // self.world_size
        batches = -(-share // self.batch_size)
        streams = min(STREAMS, len(own), batches)
        parts = []
        for number in range(streams):
            first, last = batches * number // streams, batches * (number + 1) // streams
            start = self.rank * share + first * self.batch_size
            stop = self.rank * share + min(last * self.batch_size, share)
            portions = [
                Portion(shard, max(start - begin, 0), min(stop - begin, count))
                for shard, begin, count in zip(order, begins[:-1], counts, strict=True)
                if begin < stop and begin + count > start
            ]
            parts.append((spec, portions, last - first))
        return parts

    def _rows(self, portion: Portion) -> float:
        """About how many steps a portion has."""
        part = (portion.stop - portion.start) / self._counts[portion.shard]
        return part * self.catalogue.shards[portion.shard].rows

    def _blocks(self, portions: list[Portion], rows: float) -> tuple[tuple[Portion, ...], ...]:
        """`portions` in blocks of about `rows` steps."""
        blocks: list[list[Portion]] = [[]]
        held = 0.0
        for portion in portions:
            more = self._rows(portion)
            if blocks[-1] and held + more > rows:
                blocks.append([])
                held = 0.0
            blocks[-1].append(portion)
            held += more
        return tuple(map(tuple, blocks))
