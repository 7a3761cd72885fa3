"""Matches worth looking at: the closest, the longest and the most surprising of a tournament, kept as files.

How surprising a win was is known only with the final ratings: until then the closest wins of each player over each
other are kept, which include the most surprising ones. They lie in one folder, with an index:

    index.jsonl   one line per match: its id, its file, its margin
    ID.html       the match as its game shows it (`core.Followed`)

Processes that play add lines; the process that holds the folder's lock settles the index at the end.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from sparring.core import Followed, Game, InputError, MatchRecord
from sparring.core.files import append_file, cannot_write, lock_folder, safe_name, sweep, whole_lines, write_file
from sparring.league.ledger import Identity, Ledger, Match, Name

INDEX = "index.jsonl"
KINDS = ("closest", "longest", "most surprising")


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    id: Name
    file: Name
    margin: Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class Candidate:
    """A match that is in the folder."""

    file: str
    margin: float
    """By how much it was won."""
    match: Match

    @property
    def winner(self) -> int | None:
        """The seat that won; of a team its first."""
        first, last = self.match.seats[0], self.match.seats[-1]
        return (
            None if first.outcome == last.outcome else 0 if first.outcome > last.outcome else len(self.match.seats) - 1
        )

    @property
    def decided(self) -> tuple[Identity, Identity] | None:
        """The winner and the loser; None for a draw."""
        if self.winner is None:
            return None
        seats = self.match.seats
        return seats[self.winner].identity, seats[len(seats) - 1 - self.winner].identity


Surprise = Callable[[Identity, Identity], float]
"""The points per match that the winner was expected to score against the loser."""


class Keeper:
    """Decides whether to keep each match that ends, in one of the processes that play.

    Args:
        folder: where matches are kept.
        each: how many of each kind.
        ledger: has the matches that are in the folder.
        prefixes: of the ids of the tournament's matches; others in the folder are not touched.
    """

    def __init__(self, folder: Path, each: int, ledger: Ledger, prefixes: Iterable[str]) -> None:
        self.folder = folder
        self._each = each
        self._ledger = ledger
        self._prefixes = tuple(prefixes)
        self._there = self._read()

    def consider(self, match: Match, record: MatchRecord) -> None:
        """Keeps `match` if it may be among the final ones, and drops those that no longer can be.

        A forfeited match is not kept: its record goes on after the forfeit, to another end.
        """
        if match.note:
            return
        found = Candidate(f"{match.id}{record.suffix}", record.margin, match)
        wanted = self._wanted({**self._there, match.id: found})
        if match.id in wanted:
            write_file(self.folder / found.file, record.render((match.seats[0].name, match.seats[-1].name)))
            append_file(self.folder / INDEX, _encode(_Line(match.id, found.file, found.margin)))
        self._drop(candidate for id, candidate in self._there.items() if id not in wanted)
        self._there = wanted

    def settle(self, surprise: Surprise | None) -> dict[str, tuple[list[str], Candidate]]:
        """Drops all but the closest, the longest and, by `surprise`, the most surprising, and updates the ledger.

        Returns those that are kept, by id, each with the kinds it is kept for. Call it only while `holding` the folder.
        """
        there = self._read()
        kinds: dict[str, list[str]] = {}
        for kind, ranked in zip(KINDS, _rankings(there, surprise), strict=True):
            for id in ranked[: self._each]:
                kinds.setdefault(id, []).append(kind)
        records = {id: str(self.folder / there[id].file) for id in kinds}
        gone = {id: "" for id, one in there.items() if id not in kinds and one.match.record}
        for prefix in self._prefixes:
            for match in self._ledger.series(prefix):
                mine = match.record and Path(match.record).resolve().parent == self.folder.resolve()
                if mine and match.id not in kinds:
                    gone[match.id] = ""
        self._ledger.keep_records({**records, **gone})
        self._drop(candidate for id, candidate in there.items() if id not in kinds)
        lines = [line for line in read_index(self.folder).values() if line.id in kinds or line.id not in there]
        write_file(self.folder / INDEX, b"".join(map(_encode, lines)))
        return {id: (found, there[id]) for id, found in kinds.items()}

    def _wanted(self, there: Mapping[str, Candidate]) -> dict[str, Candidate]:
        """The matches that may be among the final ones."""
        closest, longest, _ = _rankings(there, None)
        chosen = {*closest[: self._each], *longest[: self._each]}
        wins: dict[tuple[Identity, Identity], int] = {}
        for id in closest:
            who = there[id].decided
            if who is not None and wins.get(who, 0) < self._each:
                wins[who] = wins.get(who, 0) + 1
                chosen.add(id)
        return {id: there[id] for id in there if id in chosen}

    def _drop(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            try:
                (self.folder / candidate.file).unlink(missing_ok=True)
            except OSError as error:
                raise cannot_write(self.folder / candidate.file, error) from error

    def _read(self) -> dict[str, Candidate]:
        """The tournament's matches in the folder that the ledger has."""
        lines = read_index(self.folder)
        matches = self._ledger.find([id for id in lines if id.startswith(self._prefixes)])
        return {id: Candidate(lines[id].file, lines[id].margin, match) for id, match in matches.items()}


@contextmanager
def holding(folder: Path, game: Game) -> Iterator[None]:
    """Holds `folder` for one tournament of `game`; raises `InputError` if the game keeps no matches."""
    if not isinstance(game, Followed):
        raise InputError(f"--keep: {game.name} has no matches that can be looked at")
    handle = lock_folder(folder, busy=f"{folder}: another tournament keeps its matches there")
    try:
        sweep(folder)
        lines = read_index(folder)  # without an incomplete line that a killed process may have left
        if lines:
            write_file(folder / INDEX, b"".join(map(_encode, lines.values())))
        yield
    finally:
        os.close(handle)


def read_index(folder: Path) -> dict[str, _Line]:
    """The lines of the index in `folder` whose files exist, by id; empty if there is no index."""
    path, found = folder / INDEX, dict[str, _Line]()
    try:
        content = path.read_bytes()[: whole_lines(path)]
    except FileNotFoundError:
        return found
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    for number, text in enumerate(content.splitlines(), 1):
        try:
            line = msgspec.json.decode(text, type=_Line)
        except ValueError as error:
            raise InputError(f"{path}, line {number}: not a kept match ({error})") from None
        if line.file != safe_name(line.file):
            raise InputError(f"{path}, line {number}: {line.file!r} is no file of this folder")
        if (folder / line.file).is_file():  # it may have been dropped since
            found[line.id] = line
    return found


def _encode(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _rankings(there: Mapping[str, Candidate], surprise: Surprise | None) -> Sequence[list[str]]:
    """Ids ranked by each kind; ties go to the closer, the longer, and the first by id. A likely win is no surprise."""

    def close(id: str) -> tuple[float, int, str]:
        return there[id].margin, -there[id].match.length, id

    def long(id: str) -> tuple[int, float, str]:
        return -there[id].match.length, there[id].margin, id

    expected = {
        id: surprise(*one.decided) for id, one in there.items() if surprise is not None and one.decided is not None
    }
    surprising = sorted((id for id in expected if expected[id] < 0.5), key=lambda id: (expected[id], *close(id)))
    return sorted(there, key=close), sorted(there, key=long), surprising
