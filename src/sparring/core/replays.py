"""Matches played elsewhere, by people or programs, as text that a game can turn into episodes."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.core.arena import Arena
from sparring.core.episodes import Episodes
from sparring.core.rows import Array

_OWN_ID = re.compile(r"(smogtours-)?gen\d\w*-\d+(-\w+)?")
"""Ids that are unique, because the site that keeps the matches gave them."""


FAILED = "reader failed"
"""The reason for matches that a bug in the game's reader rejected: a later version may read them."""


@dataclass(frozen=True, slots=True)
class Replay:
    """One match as text."""

    id: str
    log: str
    format: str = ""
    """As its source names it; "" to take what the log says."""
    rating: float = float("nan")
    played_at: int = 0
    """Seconds since 1970; 0 if unknown."""

    @property
    def serial(self) -> int:
        """The same number wherever the match is found: a hash of its id if that is unique, else of its text."""
        return _number(self.id if _OWN_ID.fullmatch(self.id) else self.log)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which matches are wanted."""

    formats: tuple[str, ...] = ()
    """Ids of formats; empty for all."""
    min_rating: float = 0.0
    """Of the lower-rated player; if set, matches without ratings are left out."""
    since: int = 0
    """Seconds since 1970; if set, matches without a date are left out."""
    min_turns: int = 0
    forfeits: bool = True
    """Keep matches that a player gave up."""
    custom_rules: bool = False
    """Keep matches whose rules differ from those of their format."""


class Rejected(Exception):
    """A match that is not read; `reason` is a short code, `detail` one line that says where and what."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    @property
    def serial(self) -> int:
        """A number for what has no id: the same whenever it is rejected for the same reason."""
        return _number(str(self))

    def __reduce__(self) -> tuple[type["Rejected"], tuple[str, str]]:
        return Rejected, (self.reason, self.detail)


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest(), "big") >> 1


@dataclass
class Reading:
    """What became of some matches."""

    episodes: dict[str, Episodes] = field(default_factory=dict)
    """By format: the episodes of both players."""
    rejected: dict[int, Rejected] = field(default_factory=dict)
    """By the serial number of the match."""
    odd: Counter[str] = field(default_factory=Counter)
    """What was strange in matches that were read."""


@dataclass
class _Report:
    share: float = 0.0
    """How much has been done, from 0 to 1; 0 as long as that is unknown."""

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {name: value for name, value in vars(self).items() if name != "share"}


@dataclass
class ImportReport(_Report):
    """What became of all matches that were found."""

    found: int = 0
    accepted: int = 0
    already: int = 0
    """In the store, or rejected, before this run."""
    duplicates: int = 0
    """Found a second time in this run."""
    episodes: int = 0
    rows: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """By reason, this run and those before."""
    odd: Counter[str] = field(default_factory=Counter)
    by_format: Counter[str] = field(default_factory=Counter)


@dataclass
class DownloadReport(_Report):
    """What became of all matches that a source was asked for."""

    found: int = 0
    new: int = 0
    already: int = 0
    """Found, but in the folder before."""
    there: int = 0
    """In the folder now."""
    rejected: Counter[str] = field(default_factory=Counter)
    """By reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """By reason: the first that was rejected, and where."""
    by_format: Counter[str] = field(default_factory=Counter)

    def reject(self, rejected: Rejected) -> None:
        """Counts a match that is not taken."""
        self.rejected[str(rejected.reason)] += 1
        self.examples.setdefault(str(rejected.reason), rejected.detail)


class Replays(Protocol):
    """Matches in files, one after the other."""

    share: float
    """How much of the files has been read, from 0 to 1."""

    def __iter__(self) -> Iterator[Replay | Rejected]: ...


@runtime_checkable
class Replayed(Protocol):
    """A game that reads matches played elsewhere."""

    def find_replays(self, inputs: Sequence[Path]) -> Replays:
        """The matches in files and folders, one after the other."""
        ...

    def read_replays(self, replays: Sequence[Replay], filters: Filters, options: Mapping[str, str]) -> Reading:
        """Turns matches into episodes."""
        ...

    def hide_filled(self, observation: Mapping[str, Array], filled: NDArray[np.uint64]) -> Mapping[str, Array]:
        """Rows without what was guessed when they were read; `filled: uint64[r]` is `Steps.filled`."""
        ...


@runtime_checkable
class Recordable(Protocol):
    """A game whose matches can be recorded as text, with the hidden truth beside it."""

    def record(self, arena: Arena, keep: Callable[[dict[str, Any]], None]) -> None:
        """Hands every match of a fresh `arena` to `keep` when it has ended, JSON-ready."""
        ...
