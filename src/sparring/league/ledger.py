"""The ledger: every rated match in one SQLite file, written by any number of processes at the same time.

When `Ledger.add` returns, its matches are safe, whatever happens to the process afterwards. The file is in WAL mode
with `synchronous=NORMAL`: a power failure may cost the last moments, never the file.

    players   who played: name, checkpoint, style and kind
    setups    what was played: game, settings, team set, opening
    lineups   who sat where: a list of [player, team], one per seat
    matches   one row per match: setup, lineup, outcome of each seat, and the rest

Many matches share few setups and lineups, so that counting results by pair is one quick pass.
"""

import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from sparring.core.arguments import check_argument
from sparring.core.errors import InputError, RunError
from sparring.core.files import cannot_write, check_place
from sparring.core.settings import convert
from sparring.core.text import printable

VERSION = 2
"""Of the tables below, kept as SQLite's `user_version`."""
_APPLICATION = 0x53504C47
"""What makes a SQLite file a ledger, kept as its `application_id`."""
_PATIENCE = 60.0
"""Seconds that a writer waits for other writers."""
_LONGEST_SETTINGS = 100_000

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE players (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, checkpoint TEXT NOT NULL, style TEXT NOT NULL, kind TEXT NOT NULL,
    UNIQUE (name, checkpoint, style, kind)
) STRICT;
CREATE TABLE setups (
    number INTEGER PRIMARY KEY, game TEXT NOT NULL, settings TEXT NOT NULL, team_set TEXT NOT NULL,
    opening TEXT NOT NULL, UNIQUE (game, settings, team_set, opening)
) STRICT;
CREATE TABLE lineups (number INTEGER PRIMARY KEY, seats TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE matches (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, setup INTEGER NOT NULL, lineup INTEGER NOT NULL,
    outcomes TEXT NOT NULL, length INTEGER NOT NULL, seed INTEGER NOT NULL, record TEXT NOT NULL, time REAL NOT NULL,
    machine TEXT NOT NULL, note TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX results ON matches (setup, lineup, outcomes);
"""
_UPGRADE = """
ALTER TABLE matches ADD COLUMN note TEXT NOT NULL DEFAULT '';
PRAGMA user_version = 2;
"""
"""From format 1."""

_ADD = (
    "INSERT INTO matches (id, setup, lineup, outcomes, length, seed, record, time, machine, note) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
_READ = (
    "SELECT id, game, settings, team_set, opening, seats, outcomes, length, seed, record, time, machine, note "
    "FROM matches JOIN setups ON setup = setups.number JOIN lineups ON lineup = lineups.number "
)

Text = Annotated[str, Meta(max_length=1000)]
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Outcome = Annotated[float, Meta(ge=-1, le=1)]
_Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Identity(Struct, frozen=True, kw_only=True, order=True, forbid_unknown_fields=True):
    """Who a player is: two that differ in any of these are rated separately."""

    name: Name
    """As `sparring evaluate` takes it."""
    checkpoint: Text = ""
    """SHA-256 of the weights; empty if there are none, or they are not known here."""
    style: Text = ""
    """How a network plays, if not as trained: `simulations=64`."""
    kind: Text = ""
    """`built-in`, `network`, `server`, `code` or `program`."""


class Seat(Identity, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One seat of a match."""

    team: Annotated[int, Meta(ge=0, le=1023)]
    """Seats of the same team win and lose together."""
    outcome: Outcome
    """1 won, 0 drawn, -1 lost."""

    def __post_init__(self) -> None:
        """Raises `InputError` for an outcome that is none."""
        if type(self.outcome) is not float or not -1.0 <= self.outcome <= 1.0:
            check_argument("outcome", self.outcome, Outcome)

    @property
    def identity(self) -> Identity:
        """Who sat there."""
        return Identity(name=self.name, checkpoint=self.checkpoint, style=self.style, kind=self.kind)


class Match(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rated match, as it is kept."""

    id: Name
    """A ledger keeps the first match of each id."""
    game: Name
    settings: dict[str, Any] = {}
    team_set: Text = ""
    opening: Text = ""
    seats: Annotated[tuple[Seat, ...], Meta(min_length=2, max_length=1024)]
    length: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    """Decisions; those that several seats made at once count once."""
    seed: _Whole = 0
    record: Text = ""
    """Where the match is kept, if it is."""
    time: Annotated[float, Meta(ge=0)] = 0.0
    """When it ended, in seconds since 1970."""
    machine: Text = msgspec.field(default_factory=platform.node)
    note: Text = ""
    """How it ended, if not by the rules: why a player forfeited."""


class Tally(NamedTuple):
    """How often a lineup had these outcomes in a setup."""

    game: str
    settings: str
    """JSON, with its keys in order."""
    team_set: str
    opening: str
    players: tuple[Identity, ...]
    """By seat."""
    teams: tuple[int, ...]
    outcomes: tuple[float, ...]
    matches: int


def checked(data: Any) -> Match:
    """`data` (a match, or plain values for one) as a valid match; raises `InputError` if it is not one."""
    try:
        plain = msgspec.to_builtins(data)
        match = _converted(plain)
        settings = json_text(match.settings)
        texts = [settings, match.id, match.game, match.team_set, match.opening, match.record, match.machine, match.note]
        for seat in match.seats:
            texts += [seat.name, seat.checkpoint, seat.style, seat.kind]
        for text in texts:
            text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{error.object!r} is not text") from None
    except (msgspec.ValidationError, msgspec.EncodeError, TypeError, RecursionError) as error:
        raise InputError(str(error)) from None
    if len(settings) > _LONGEST_SETTINGS:
        raise InputError(f"settings are longer than {_LONGEST_SETTINGS:,} characters")
    if not isfinite(match.time) or not all(isfinite(seat.outcome) for seat in match.seats):
        raise InputError("a number is not finite")
    by_team: dict[int, float] = {}
    for number, seat in enumerate(match.seats):
        if by_team.setdefault(seat.team, seat.outcome) != seat.outcome:
            raise InputError(f"seat {number}: another outcome than others of team {seat.team}")
    if len(by_team) < 2:
        raise InputError("all seats are of one team; a match has two teams or more")
    return match


def _converted(plain: Any) -> Match:
    """`plain` as a match; raises `InputError` that says in words what does not fit, where it can."""
    try:
        return msgspec.convert(plain, Match)
    except msgspec.ValidationError:
        if isinstance(plain, dict):
            convert(plain, Match, where="match")  # slower, but raises in words
        raise


class Ledger:
    """An open ledger. Each process opens its own.

    Args:
        path: the file.
        create: whether to create the file if it does not exist.
        patience: seconds to wait for other writers; by default a minute.
    """

    def __init__(self, path: Path | str, *, create: bool = False, patience: float | None = None) -> None:
        self.path = Path(path)
        if create and not self.path.exists():
            _create(self.path)
        if not self.path.is_file():
            raise InputError(f"{self.path}: {'not a file' if self.path.exists() else 'no such ledger'}")
        self._numbers: dict[tuple[str, ...], int] = {}
        self._closed = False
        with self._told():
            self._db = sqlite3.connect(
                self.path, timeout=_PATIENCE if patience is None else patience, isolation_level=None
            )
            try:
                self._check_format()
                self._db.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                self._db.close()
                raise

    def __repr__(self) -> str:
        return f"<Ledger: {self.path}, {'closed' if self._closed else f'{len(self):,} matches'}>"

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """May be called twice."""
        self._closed = True
        self._db.close()

    def __len__(self) -> int:
        with self._told():
            return int(self._db.execute("SELECT COUNT(*) FROM matches").fetchone()[0])

    def add(self, matches: Iterable[Match]) -> int:
        """Writes the matches whose id is new, all in one step; returns how many those were."""
        kept = [checked(match) for match in matches]
        with self._told(), self._writing():
            return self._db.executemany(_ADD, [self._row(match) for match in kept]).rowcount if kept else 0

    def keep_records(self, paths: Mapping[str, str]) -> None:
        """Notes where matches are kept, by their ids, all in one step; "" for one that no longer is."""
        with self._told(), self._writing():
            self._db.executemany("UPDATE matches SET record = ? WHERE id = ?", [(to, id) for id, to in paths.items()])

    def games(self) -> list[str]:
        """The games that were played, in order of their names."""
        with self._told():
            return [game for (game,) in self._db.execute("SELECT DISTINCT game FROM setups ORDER BY game")]

    def most_seats(self) -> int:
        """Seats of the largest match."""
        with self._told():
            return int(self._db.execute("SELECT MAX(json_array_length(seats)) FROM lineups").fetchone()[0] or 0)

    def matches(self) -> Iterator[Match]:
        """Every match, by time and id."""
        with self._told():
            rows = self._db.execute(_READ + "ORDER BY time, id")
            players = self._players()
        while True:
            with self._told():
                row = rows.fetchone()
                if row is None:
                    return
                match = _match(row, players)
            yield match

    def find(self, ids: Sequence[str]) -> dict[str, Match]:
        """The matches with these `ids` that are here, by id."""
        found: dict[str, Match] = {}
        with self._told():
            players: dict[int, Identity] = {}
            for wanted in ids:
                row = self._db.execute(_READ + "WHERE id = ?", (wanted,)).fetchone()
                if row is not None:
                    players = players or self._players()
                    found[wanted] = _match(row, players)
        return found

    def series(self, prefix: str) -> list[Match]:
        """The matches whose ids are `prefix` followed by printable ASCII, by id."""
        with self._told():
            found = self._db.execute(_READ + "WHERE id >= ? AND id < ? ORDER BY id", (prefix, prefix + "\x7f"))
            rows, players = found.fetchall(), self._players()
            return [_match(row, players) for row in rows]

    def tallies(self, game: str) -> list[Tally]:
        """The results of all matches of `game`, counted."""
        query = (
            "SELECT setup, lineup, outcomes, COUNT(*) FROM matches "
            "WHERE setup IN (SELECT number FROM setups WHERE game = ?) GROUP BY setup, lineup, outcomes"
        )
        with self._told():
            counted = self._db.execute(query, (game,)).fetchall()
            players = self._players()
            setups = {row[0]: row[1:] for row in self._db.execute("SELECT * FROM setups WHERE game = ?", (game,))}
            lineups = {number: _seats(text) for number, text in self._db.execute("SELECT * FROM lineups")}
            seated = {
                number: (tuple(players[player] for player, _ in seats), tuple(team for _, team in seats))
                for number, seats in lineups.items()
            }
            outcomes = {text: _outcomes(text) for text in {row[2] for row in counted}}
            return [
                Tally._make((*setups[setup], *seated[lineup], outcomes[text], matches))
                for setup, lineup, text, matches in counted
            ]

    def _check_format(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION:
            raise InputError(f"{self.path}: not a ledger")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version == 1:
            with self._writing():  # another process may have upgraded it meanwhile
                if self._db.execute("PRAGMA user_version").fetchone()[0] == 1:
                    for step in filter(str.strip, _UPGRADE.split(";")):
                        self._db.execute(step)
            version = VERSION
        if version != VERSION:
            raise InputError(f"{self.path}: a ledger of format {version}; this version reads {VERSION}")

    def _row(self, match: Match) -> tuple[Any, ...]:
        setup = self._number("setups", match.game, json_text(match.settings), match.team_set, match.opening)
        seats = [
            [self._number("players", seat.name, seat.checkpoint, seat.style, seat.kind), seat.team]
            for seat in match.seats
        ]
        outcomes = json_text([seat.outcome for seat in match.seats])
        about = (outcomes, match.length, match.seed, match.record, match.time, match.machine, match.note)
        return (match.id, setup, self._number("lineups", json_text(seats)), *about)

    def _number(self, table: str, *values: str) -> int:
        """The number of the row of `table` with these `values`, added if need be."""
        known = self._numbers.get((table, *values))
        if known is None:
            columns = {
                "players": ("name", "checkpoint", "style", "kind"),
                "setups": ("game", "settings", "team_set", "opening"),
                "lineups": ("seats",),
            }[table]
            where = " AND ".join(f"{column} = ?" for column in columns)
            found = self._db.execute(f"SELECT number FROM {table} WHERE {where}", values).fetchone()
            if found is None:
                places = ", ".join("?" * len(columns))
                found = (
                    self._db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", values).lastrowid,
                )
            known = self._numbers[table, *values] = int(found[0])
        return known

    def _players(self) -> dict[int, Identity]:
        rows = self._db.execute("SELECT number, name, checkpoint, style, kind FROM players")
        return {row[0]: Identity(name=row[1], checkpoint=row[2], style=row[3], kind=row[4]) for row in rows}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, which no other writer interrupts."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._numbers.clear()  # some may belong to rows that are rolled back
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns what goes wrong with the file into one line."""
        try:
            yield
        except InputError:
            raise
        except sqlite3.Error as error:
            if self._closed:
                raise RunError(f"{self.path}: the ledger is closed") from None
            raise InputError(f"{self.path}: {_problem(error)}") from error
        except (msgspec.DecodeError, KeyError, ValueError) as error:
            raise InputError(f"{self.path}: damaged ledger ({printable(str(error), 200)})") from error


def _problem(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "locked by another process; try again when it is done"
    if code == sqlite3.SQLITE_NOTADB:
        return "not a ledger"
    if code == sqlite3.SQLITE_READONLY:
        return "cannot be written"
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM):
        return f"cannot be used ({printable(str(error), 200)})"
    return f"damaged ledger ({printable(str(error), 200)})"


def _create(path: Path) -> None:
    """Makes an empty ledger in one step, unless another process has made one meanwhile."""
    check_place(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        temporary.unlink(missing_ok=True)
        made = sqlite3.connect(temporary)
        try:
            made.executescript(_SCHEMA)
        finally:
            made.close()
        with suppress(FileExistsError):
            os.link(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    except sqlite3.Error as error:
        raise InputError(f"cannot write {path}: {error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _match(row: Sequence[Any], players: dict[int, Identity]) -> Match:
    seats = zip(_seats(row[5]), _outcomes(row[6]), strict=True)
    return Match(
        id=row[0],
        game=row[1],
        settings=msgspec.json.decode(row[2], type=dict[str, Any]),
        team_set=row[3],
        opening=row[4],
        seats=tuple(
            Seat(**msgspec.structs.asdict(players[player]), team=team, outcome=outcome)
            for (player, team), outcome in seats
        ),
        length=row[7],
        seed=row[8],
        record=row[9],
        time=row[10],
        machine=row[11],
        note=row[12],
    )


def _seats(text: str) -> tuple[tuple[int, int], ...]:
    return msgspec.json.decode(text, type=tuple[tuple[int, int], ...])


def _outcomes(text: str) -> tuple[float, ...]:
    return msgspec.json.decode(text, type=tuple[float, ...])


def json_text(value: Any) -> str:
    """`value` as JSON with its keys in order, as a ledger keeps settings."""
    return msgspec.json.encode(value, order="deterministic").decode()
