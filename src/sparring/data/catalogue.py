"""What there is to load: the shards of some stores, and which of their episodes are wanted.

Making a catalogue reads every file once and verifies it. So everything is known beforehand: how many batches an epoch
has, what each rank gets, and where a run that was stopped goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparring.core import GameSpec, Headers, InputError, Vocabulary, check_argument
from sparring.core.documented import documented
from sparring.core.settings import NonNegativeInt
from sparring.core.splitmix import mix
from sparring.core.versions import present_vocabulary
from sparring.rollout.store import ShardInfo, renumbering, shard_headers, shards

Result = Literal["win", "draw", "loss"]
_OUTCOMES: Mapping[Result, int] = {"win": 1, "draw": 0, "loss": -1}
_OPTIONAL = ("rating", "played_at", "consistent", "filled")
"""Columns that are filled in where only some shards of a spec have them."""


@documented
@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which episodes are wanted. An episode whose rating or date is unknown meets no limit on it."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the game, each as one value or several: `{"format": ["gen8ou", "gen9ou"]}`."""
    min_rating: float | None = None
    max_rating: float | None = None
    since: int | None = None
    """Seconds since 1970."""
    until: int | None = None
    """Seconds since 1970; matches played then or later are left out."""
    results: Sequence[Result] = ("win", "draw", "loss")
    players: Sequence[str] = ()
    """Names; empty for all."""
    min_length: int = 1
    """Decisions."""
    split: tuple[float, float] = (0.0, 1.0)
    """Which part of the matches, in a random order: (0, 0.9) to train, (0.9, 1) to test. All episodes of a match are in
    the same part, whatever store they are in."""

    def __post_init__(self) -> None:
        if isinstance(self.results, str) or any(result not in _OUTCOMES for result in self.results):
            raise InputError(f"results = {self.results!r}: allowed: a list of some of {', '.join(_OUTCOMES)}")
        if isinstance(self.players, str):
            raise InputError(f"players = {self.players!r}: allowed: a list of names, such as [{self.players!r}]")
        for name in ("min_rating", "max_rating"):
            check_argument(name, getattr(self, name), float | None)
        for name in ("since", "until"):
            check_argument(name, getattr(self, name), int | None)
        check_argument("min_length", self.min_length, NonNegativeInt)
        numbers = isinstance(self.split, list | tuple) and all(isinstance(end, int | float) for end in self.split)
        if not numbers or len(self.split) != 2 or not 0 <= self.split[0] < self.split[1] <= 1:
            raise InputError(f"split = {self.split!r}: allowed: where it begins and ends, 0 to 1, such as (0.9, 1)")

    def wants(self, spec: GameSpec) -> bool:
        """Whether episodes of `spec` may be wanted."""
        return all(
            spec.settings.get(name) in (wanted if isinstance(wanted, list | tuple) else [wanted])
            for name, wanted in self.settings.items()
        )

    def choose(self, headers: Headers, players: Sequence[str]) -> NDArray[np.int32]:
        """`int32[k]` the numbers of the wanted episodes."""
        outcome = np.sign(headers.outcome)
        keep = (headers.lengths >= self.min_length) & np.isin(outcome, [_OUTCOMES[result] for result in self.results])
        if self.players:
            keep &= np.isin(headers.player, [players.index(name) for name in self.players if name in players])
        rating = np.full(len(headers), np.nan, np.float32) if headers.rating is None else headers.rating
        if self.min_rating is not None:
            keep &= rating >= self.min_rating
        if self.max_rating is not None:
            keep &= rating <= self.max_rating
        played_at = np.zeros(len(headers), np.int64) if headers.played_at is None else headers.played_at
        if self.since is not None:
            keep &= played_at >= max(1, self.since)
        if self.until is not None:
            keep &= (played_at > 0) & (played_at < self.until)
        if self.split != (0.0, 1.0):
            place = mix(headers.serial.astype(np.uint64)) / 2.0**64
            keep &= (place >= self.split[0]) & (place < self.split[1])
        return np.flatnonzero(keep).astype(np.int32)


@dataclass(frozen=True)
class Shard:
    """A file, and what is wanted of it."""

    path: Path
    spec: int
    """Index into `Catalogue.specs`."""
    episodes: NDArray[np.int32]
    """`int32[k]` the numbers of the wanted episodes in the file, at least one."""
    lengths: NDArray[np.int32]
    """`int32[k]` their steps."""

    @property
    def rows(self) -> int:
        """Steps that are wanted."""
        return int(self.lengths.sum())


@dataclass(frozen=True)
class Catalogue:
    """Everything that may be loaded."""

    specs: tuple[GameSpec, ...]
    """With the vocabulary of the game as installed here."""
    columns: tuple[frozenset[str], ...]
    """By spec: the optional columns (`policy`, and those of matches between people) that its episodes have."""
    shards: tuple[Shard, ...]
    vocabularies: Mapping[str, Vocabulary]
    """By game: the vocabulary that numbers are translated to."""
    damaged: tuple[str, ...] = ()
    """Why files were left out, one line each."""

    @property
    def digest(self) -> str:
        """The same for the same files and wanted episodes, wherever they lie."""
        hash = blake2b(digest_size=8)
        for shard in self.shards:
            hash.update(f"{shard.path.parent.name}/{shard.path.name}\0".encode())
            hash.update(shard.episodes.tobytes() + shard.lengths.tobytes())
        return hash.hexdigest()


def find_stores(paths: Sequence[Path | str]) -> list[Path]:
    """The stores at `paths`, each a store or a folder of stores; raises `InputError` where there is none."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            raise InputError(f"{path}: no such folder of episodes")
        inside = [path] if shards(path) else [folder for folder in sorted(path.iterdir()) if shards(folder)]
        if not inside:
            raise InputError(f"{path}: no episodes here")
        found += [store for store in inside if store not in found]
    if not found:
        raise InputError("no folder of episodes was named")
    return found


def read_catalogue(
    paths: Sequence[Path | str],
    wanted: Filter,
    *,
    strict: bool = False,
    threads: int = 1,
    say: Callable[[str], None] = print,
) -> Catalogue:
    """The catalogue of the stores at `paths`; `say` reports damaged files, which `strict` refuses."""
    files = [file for store in find_stores(paths) for file in shards(store)]
    making = _Making(wanted, say)
    damaged: list[str] = []
    with ThreadPoolExecutor(max(1, threads)) as pool:  # reading and checksums hold no lock
        for file, read in zip(files, pool.map(_read, files), strict=True):
            if not isinstance(read, InputError):
                making.add(file, *read)
            elif strict:
                raise read
            else:
                damaged.append(str(read))
                say(f"left out: {read}")
    if len(damaged) == len(files):
        raise InputError(f"{', '.join(map(str, paths))}: all {len(files)} files are damaged; the first: {damaged[0]}")
    if not making.shards:
        raise InputError(f"{', '.join(map(str, paths))}: none of the {making.seen:,} episodes fits the filter")
    return replace(making.catalogue(), damaged=tuple(damaged))


def _read(file: Path) -> tuple[ShardInfo, Headers] | InputError:
    try:
        return shard_headers(file)
    except InputError as error:
        return error


class _Making:
    """A catalogue that grows file by file."""

    def __init__(self, wanted: Filter, say: Callable[[str], None]) -> None:
        self.shards: list[Shard] = []
        self.seen = 0
        self._wanted = wanted
        self._say = say
        self._specs: list[GameSpec] = []
        self._some: list[set[str]] = []
        """By spec: the columns that some of its shards have, ..."""
        self._all: list[set[str]] = []
        """... and those that all have."""
        self._vocabularies: dict[str, Vocabulary | None] = {}
        self._told: set[tuple[Path, str]] = set()

    def add(self, file: Path, info: ShardInfo, headers: Headers) -> None:
        self.seen += len(headers)
        if not self._wanted.wants(info.spec):
            return
        chosen = self._wanted.choose(headers, info.players)
        if len(chosen):
            spec = self._number(self._present(file, info.spec))
            self._some[spec] |= set(info.columns)
            self._all[spec] &= set(info.columns)
            self.shards.append(Shard(file, spec, chosen, headers.lengths[chosen]))

    def catalogue(self) -> Catalogue:
        columns = (
            frozenset(name for name in _OPTIONAL if name in some) | ({"policy"} & everywhere)
            for some, everywhere in zip(self._some, self._all, strict=True)
        )
        known = {game: vocabulary for game, vocabulary in self._vocabularies.items() if vocabulary is not None}
        return Catalogue(tuple(self._specs), tuple(columns), tuple(self.shards), known)

    def _present(self, file: Path, spec: GameSpec) -> GameSpec:
        """`spec` with the vocabulary that its numbers will be translated to."""
        if spec.game not in self._vocabularies:
            self._vocabularies[spec.game] = present_vocabulary(spec.game)
        was, now = spec.vocabulary, self._vocabularies[spec.game]
        if was is None or now is None:
            return spec
        difference = renumbering(spec, now)
        if difference and (file.parent, difference) not in self._told:
            self._told.add((file.parent, difference))
            self._say(f"{file.parent}: episodes of another vocabulary, renumbered by name ({difference})")
        return replace(spec, vocabulary=was.named_as(now)) if difference else spec

    def _number(self, spec: GameSpec) -> int:
        if spec not in self._specs:
            self._specs.append(spec)
            self._some.append(set())
            self._all.append({"policy"})
        return self._specs.index(spec)
