"""Ledgers to and from files for other programs: CSV, JSON lines, Parquet and Arrow, by the file's ending.

A row is a match. In JSON it is nested like `Match`; elsewhere the seats are columns (`name_0`, `outcome_0`, ...) and
the settings are JSON text.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from sparring.core import InputError
from sparring.core.errors import did_you_mean
from sparring.core.files import cannot_write
from sparring.league.ledger import Ledger, Match, checked

_CHUNK = 10_000
_OF_MATCH = tuple(name for name in Match.__struct_fields__ if name != "seats")
_OF_SEAT = ("name", "checkpoint", "style", "kind", "team", "outcome")
_NUMBERS: dict[str, type[int] | type[float]] = {
    "length": int,
    "seed": int,
    "time": float,
    "team": int,
    "outcome": float,
}

Row = bytes | Mapping[Any, Any]
"""A line of JSON, or cells by column."""


class Imported(NamedTuple):
    """The result of an import."""

    added: int
    known: int
    """Matches that were there already."""


def import_matches(ledger: Path, path: Path) -> Imported:
    """Adds the matches of a file to a ledger, created if need be.

    Raises `InputError` naming the first row that is not a match, or whose id is in the ledger with other values, and
    then changes nothing.
    """
    with ExitStack() as stack:
        there = stack.enter_context(Ledger(ledger)) if ledger.exists() else None
        seen: set[str] = set()
        for chunk in _chunks(_matches(path)):
            found = {} if there is None else there.find([match.id for _, match in chunk])
            for row, match in chunk:
                if match.id in seen:
                    raise InputError(f"{path}, row {row}: match {match.id!r} comes twice")
                seen.add(match.id)
                if match.id in found and found[match.id] != match:
                    raise InputError(f"{path}, row {row}: match {match.id!r} is in {ledger} with other values")
    with Ledger(ledger, create=True) as made:
        added = sum(made.add(match for _, match in chunk) for chunk in _chunks(_matches(path)))
    return Imported(added, len(seen) - added)


def export_matches(ledger: Ledger, path: Path) -> int:
    """Writes every match to a new file, or in place of an old one; returns how many."""
    _, write = _format(path)
    count = 0

    def counted() -> Iterator[Match]:
        nonlocal count
        for match in ledger.matches():
            count += 1
            yield match

    with _replacing(path) as temporary:
        write(temporary, counted(), ledger.most_seats())
    return count


def _matches(path: Path) -> Iterator[tuple[int, Match]]:
    """The matches of a file with the numbers of their rows."""
    read, _ = _format(path)
    try:
        for row, data in enumerate(read(path), 1):
            try:
                yield row, checked(msgspec.json.decode(data) if isinstance(data, bytes) else _nested(data))
            except (InputError, msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(f"{path}, row {row}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (pa.ArrowException, csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a {path.suffix} file ({str(error).splitlines()[0]})") from error


def _chunks(rows: Iterable[tuple[int, Match]]) -> Iterator[list[tuple[int, Match]]]:
    left = iter(rows)
    while chunk := list(islice(left, _CHUNK)):
        yield chunk


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, strict=True)
        _check_columns(path, reader.fieldnames or ())
        yield from reader


def _write_csv(path: Path, matches: Iterable[Match], seats: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _columns(seats))
        writer.writeheader()
        writer.writerows(map(_flat, matches))


def _read_lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from file


def _write_lines(path: Path, matches: Iterable[Match], seats: int) -> None:
    with path.open("wb") as file:
        file.writelines(msgspec.json.encode(match) + b"\n" for match in matches)


def _read_parquet(path: Path) -> Iterator[Row]:
    with pa.parquet.ParquetFile(path) as file:
        _check_columns(path, file.schema_arrow.names)
        for batch in file.iter_batches(_CHUNK):
            yield from batch.to_pylist()


def _write_parquet(path: Path, matches: Iterable[Match], seats: int) -> None:
    with pa.parquet.ParquetWriter(path, _schema(seats)) as writer:
        for batch in _batches(matches, seats):
            writer.write_batch(batch)


def _read_arrow(path: Path) -> Iterator[Row]:
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        _check_columns(path, reader.schema.names)
        for number in range(reader.num_record_batches):
            yield from reader.get_batch(number).to_pylist()


def _write_arrow(path: Path, matches: Iterable[Match], seats: int) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _schema(seats)) as writer:
        for batch in _batches(matches, seats):
            writer.write_batch(batch)


_FORMATS: dict[str, tuple[Callable[[Path], Iterator[Row]], Callable[[Path, Iterable[Match], int], None]]] = {
    ".csv": (_read_csv, _write_csv),
    ".jsonl": (_read_lines, _write_lines),
    ".parquet": (_read_parquet, _write_parquet),
    ".arrow": (_read_arrow, _write_arrow),
}


def _format(path: Path) -> tuple[Callable[[Path], Iterator[Row]], Callable[[Path, Iterable[Match], int], None]]:
    if path.suffix not in _FORMATS:
        raise InputError(f"{path}: the ending says the format; allowed: {', '.join(_FORMATS)}")
    return _FORMATS[path.suffix]


def _columns(seats: int) -> list[str]:
    return [*_OF_MATCH, *(f"{name}_{seat}" for seat in range(seats) for name in _OF_SEAT)]


def _check_columns(path: Path, names: Iterable[str]) -> None:
    for name in names:
        word, _, seat = name.rpartition("_")
        if name not in _OF_MATCH and not (word in _OF_SEAT and seat.isdecimal() and len(seat) <= 4):
            raise InputError(f"{path}: unknown column {name!r}{did_you_mean(name, _columns(2))}")


def _flat(match: Match) -> dict[str, Any]:
    """The cells of a match by column."""
    data = msgspec.structs.asdict(match)
    cells = {**data, "settings": json.dumps(match.settings, sort_keys=True)}
    del cells["seats"]
    for number, seat in enumerate(match.seats):
        cells |= {f"{name}_{number}": value for name, value in msgspec.structs.asdict(seat).items()}
    return cells


def _nested(cells: Mapping[Any, Any]) -> dict[str, Any]:
    """The match in `cells`, not yet checked, without empty cells. Raises `InputError`."""
    match: dict[str, Any] = {}
    seats: dict[int, dict[str, Any]] = {}
    if None in cells:
        raise InputError("more cells than columns")
    for column, value in cells.items():
        if value is None or value == "":
            continue
        word, _, seat = column.rpartition("_")
        if column in _OF_MATCH:
            match[column] = _value(column, column, value)
        else:
            seats.setdefault(int(seat), {})[word] = _value(column, word, value)
    if sorted(seats) != list(range(len(seats))):
        raise InputError(f"seats {', '.join(map(str, sorted(seats)))} are filled, and one before them is not")
    return {**match, "seats": [seats[number] for number in sorted(seats)]}


def _value(column: str, name: str, cell: Any) -> Any:
    try:
        if isinstance(cell, str) and name in _NUMBERS:
            return _NUMBERS[name](cell)
        return msgspec.json.decode(cell) if name == "settings" else cell
    except (ValueError, TypeError, msgspec.DecodeError):
        raise InputError(f"{column} = {cell!r}: not {'JSON' if name == 'settings' else 'a number'}") from None


def _schema(seats: int) -> pa.Schema:
    kinds = {int: pa.int64(), float: pa.float64(), None: pa.string()}
    names = {column: column if column in _OF_MATCH else column.rpartition("_")[0] for column in _columns(seats)}
    return pa.schema([(column, kinds[_NUMBERS.get(name)]) for column, name in names.items()])


def _batches(matches: Iterable[Match], seats: int) -> Iterator[pa.RecordBatch]:
    left = iter(matches)
    while chunk := [_flat(match) for match in islice(left, _CHUNK)]:
        yield pa.RecordBatch.from_pylist(chunk, schema=_schema(seats))


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file to write, which replaces `path` once it is whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
