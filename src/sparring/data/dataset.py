"""Episodes on disk as batches to learn from.

    data = Dataset("data/people", batch_size=64, length=32, workers=2)
    for batch in data.batches():             # epoch after epoch
        learn(batch.episodes)                # windows of at most 32 decisions, as `Episodes`
        saved = batch.position               # small and JSON-ready
    data.batches(saved)                      # goes on after that batch

The same files, settings and seed give the same batches, whatever the number of loader processes.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import Episodes, GameSpec, InputError, check_argument
from sparring.core.documented import documented
from sparring.core.settings import Count, NonNegativeInt
from sparring.data.catalogue import Filter, read_catalogue
from sparring.data.loaders import Batches, Loaders
from sparring.data.plan import Plan
from sparring.data.reading import Pieces


@documented
@dataclass(frozen=True, eq=False)
class Batch:
    """Some episodes or windows of episodes, all of one spec."""

    episodes: Episodes
    """For a window, `lengths` are its own steps; the rest of the header is its episode's."""
    start: NDArray[np.int32]
    """`int32[n]` the step of its episode at which each window begins; 0 for whole episodes."""
    total: NDArray[np.int32]
    """`int32[n]` steps of the whole episode."""
    position: Mapping[str, Any]
    """Where to go on after this batch; JSON-ready."""


class Dataset:
    """The wanted episodes of one or many stores, shuffled, in batches."""

    def __init__(
        self,
        stores: Path | str | Sequence[Path | str],
        *,
        batch_size: int,
        length: int | None = None,
        where: Filter | None = None,
        seed: int = 0,
        workers: int = 0,
        prefetch: int = 4,
        buffer: int = 65_536,
        rank: int = 0,
        world_size: int = 1,
        strict: bool = False,
        say: Callable[[str], None] = print,
    ) -> None:
        """Reads and verifies all files once.

        Args:
            stores: Stores, or folders of stores. Those of different specs are never mixed inside a batch.
            batch_size: Episodes or windows per batch; the last of each spec may be smaller.
            length: Decisions of a window (the last of an episode may be shorter); None serves whole episodes.
            where: Which episodes; None: all.
            seed: Of the order.
            workers: Loader processes; 0 loads in this one.
            prefetch: Batches that loader processes have ready ahead.
            buffer: Decisions in memory that are shuffled together; loaders hold up to twice as many.
            rank: Which of the processes that train together this is; each gets another part of every epoch, and all
                get the same number of batches.
            world_size: How many there are.
            strict: Refuse damaged files; otherwise they are skipped and reported to `say`.
            say: Takes messages for the user.
        """
        check_argument("workers", workers, NonNegativeInt)
        check_argument("prefetch", prefetch, Count)
        if not isinstance(where, Filter | None):
            raise InputError(f"where = {where!r}: allowed: a Filter, such as Filter(results=['win'])")
        paths = [stores] if isinstance(stores, Path | str) else list(stores)
        catalogue = read_catalogue(paths, where or Filter(), strict=strict, threads=workers, say=say)
        self._plan = Plan(catalogue, batch_size, length, buffer, seed, rank, world_size)
        self._paths = paths
        self._workers, self._prefetch = workers, prefetch
        self._batches = len(self._plan.epoch(0))
        self._identity = ":".join(map(str, (catalogue.digest, batch_size, length, buffer, seed, world_size)))

    def __len__(self) -> int:
        """Batches per epoch, for this rank."""
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        """Raises `InputError`: a loop over the dataset itself would serve every epoch in the same order."""
        raise InputError("a Dataset is read by epoch: data.epoch(0), data.epoch(1), ..., or data.batches() without end")

    def __repr__(self) -> str:
        stores = ", ".join(map(str, self._paths))
        return f"<Dataset: {self.episodes:,} episodes of {stores}, {len(self):,} batches an epoch>"

    @property
    def specs(self) -> tuple[GameSpec, ...]:
        """The specs of the episodes."""
        return self._plan.catalogue.specs

    @property
    def columns(self) -> tuple[frozenset[str], ...]:
        """By spec: the optional columns (`policy`, `consistent`, `filled`, ...) that its episodes have."""
        return self._plan.catalogue.columns

    @property
    def episodes(self) -> int:
        """Wanted episodes, of all ranks."""
        return sum(len(shard.episodes) for shard in self._plan.catalogue.shards)

    @property
    def rows(self) -> int:
        """Wanted decisions, of all ranks."""
        return sum(shard.rows for shard in self._plan.catalogue.shards)

    @property
    def damaged(self) -> tuple[str, ...]:
        """Why files were left out, one line each."""
        return self._plan.catalogue.damaged

    def epoch(self, number: int = 0) -> Generator[Batch, None, None]:
        """The batches of one epoch: every episode once."""
        check_argument("epoch", number, NonNegativeInt)
        return self._load((number, batch) for batch in range(len(self)))

    def batches(self, position: Mapping[str, Any] | None = None) -> Generator[Batch, None, None]:
        """Batches without end, epoch after epoch: from the start, or after the batch with this `position`.

        Raises `InputError` if the position belongs to other data or other settings.
        """
        start = 0 if position is None else self._at(position)
        return self._load(divmod(number, len(self)) for number in count(start))

    def position(self, epoch: int, part: float) -> dict[str, Any]:
        """The position in epoch number `epoch` when `part` in [0, 1) of its batches have been served."""
        return {"epoch": epoch, "batch": int(part * len(self)), "of": self._identity}

    def _at(self, position: Mapping[str, Any]) -> int:
        try:
            epoch, batch, identity = int(position["epoch"]), int(position["batch"]), position["of"]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("not a position in a dataset") from error
        if epoch < 0 or batch < 0:
            raise InputError("not a position in a dataset")
        if identity != self._identity:
            raise InputError("this position is of other episodes or other settings: start anew, or load the same data")
        return epoch * len(self) + batch

    def _load(self, wanted: Iterator[tuple[int, int]]) -> Generator[Batch, None, None]:
        if not self._workers:
            here = Batches(self._plan)
            for epoch, batch in wanted:
                yield self._batch(here.make(epoch, batch), epoch, batch)
            return
        with closing(Loaders(self._plan, self._workers)) as loaders:
            asked: deque[tuple[int, int]] = deque()
            while True:
                for epoch, batch in islice(wanted, self._prefetch + 1 - len(asked)):
                    loaders.ask(epoch, batch)
                    asked.append((epoch, batch))
                if not asked:
                    return
                epoch, batch = asked.popleft()
                yield self._batch(loaders.receive(), epoch, batch)

    def _batch(self, pieces: Pieces, epoch: int, batch: int) -> Batch:
        epoch, batch = divmod(epoch * len(self) + batch + 1, len(self))
        position = {"epoch": epoch, "batch": batch, "of": self._identity}
        return Batch(pieces.episodes, pieces.cuts.start, pieces.cuts.total, position)
