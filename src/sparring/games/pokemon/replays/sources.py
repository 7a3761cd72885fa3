"""Replays from files, whatever they are called in: logs, saved pages, JSON and Parquet of several layouts.

    .log             one battle's protocol lines
    .html            a replay page as Showdown saves it
    .json            one replay, or many in a list or by id
    .jsonl           one replay a line
    .parquet         one replay a row

and each of them but the last with `.zst` or `.gz` behind. However large a file is, and whatever it unpacks to, no more
than a battle or two of it are in memory; see `layouts` for what a replay may look like.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from sparring.core import InputError
from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.replays.layouts import FIELDS, MOST_BYTES, file_format, page_log, read_log, read_record
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.replays.splitting import split_json

MOST_WHOLE_BYTES = 2 * MOST_BYTES
"""Of what has to be in memory at once: a page, a line, an entry; written as JSON a battle is a little longer."""
_KINDS = (".log", ".html", ".json", ".jsonl", ".parquet")
_PACKED = {".zst": "zstd", ".gz": "gzip"}
_CHUNK = 1 << 20
_ROWS = 64
"""Of a Parquet file, in memory at a time."""
_BOM = b"\xef\xbb\xbf"
_BLANK = _BOM + b" \t\r"


class ReplayFiles:
    """The replays in files and in folders (and folders inside), sorted by name; see `sparring.core.replays.Replays`.

    Hidden files and folders are passed over.
    """

    def __init__(self, inputs: Sequence[Path]) -> None:
        self.files = _files(inputs)
        self.share = 0.0

    def __iter__(self) -> Iterator[Replay | Rejected]:
        sizes = [file.stat().st_size if file.exists() else 0 for file in self.files]
        total, done = max(1, sum(sizes)), 0
        for file, size in zip(self.files, sizes, strict=True):
            try:
                with file.open("rb") as stream:
                    for replay, _ in read_replays(str(file), stream):
                        self.share = (done + min(size, stream.tell())) / total
                        yield replay
            except OSError as error:
                yield Rejected(Reason.NOT_A_LOG, f"{file}: cannot be read ({error.strerror})")
            done += size


def _files(inputs: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in inputs:
        if path.is_dir():
            found += sorted(
                file for file in path.rglob("*") if is_replay_file(file.relative_to(path)) and file.is_file()
            )
        elif path.exists():
            found.append(path)
        else:
            raise InputError(f"{path}: no such file or folder")
    if not found:
        allowed = f"{', '.join(_KINDS)}, all but the last also .zst or .gz"
        raise InputError(f"{', '.join(map(str, inputs))}: no replays here; allowed: {allowed}")
    return found


def is_replay_file(path: Path) -> bool:
    """Whether `path`, inside a folder of replays, is called like a file of replays and not hidden."""
    return _kind(path.name)[0] in _KINDS and not any(part.startswith(".") for part in path.parts)


def read_replays(name: str, file: Any, *, start: int = 0) -> Iterator[tuple[Replay | Rejected, int]]:
    """The replays of one file, called `name` and open as `file`, in order; what cannot be read is a `Rejected`.

    Each comes with the position behind it: to go on from there, give it as `start`.
    """
    kind, packing = _kind(name)
    try:
        if kind == ".parquet":
            yield from _read_parquet(name, file, start)
            return
        stream = _Stream(file, packing)
        if kind == ".jsonl":
            yield from _read_lines(name, stream, start)
        elif kind == ".json":
            yield from _read_json(name, stream, start)
        elif not start:
            yield _read_log(name, stream, page=kind == ".html"), 1
    except Rejected as rejected:
        yield rejected, start
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        yield Rejected(Reason.NOT_A_LOG, f"{name}: {(str(error).splitlines() or [''])[0][:120]}"), start


def _kind(name: str) -> tuple[str, str | None]:
    """`.json` and `zstd` of `battles.json.zst`."""
    path = Path(name)
    packing = _PACKED.get(path.suffix.lower())
    return (path.with_suffix("") if packing else path).suffix.lower(), packing


class _Stream:
    """The bytes of a file, unpacked, one after the other."""

    def __init__(self, file: Any, packing: str | None) -> None:
        self._packed = packing is not None
        self._stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), packing) if packing else file
        self._peeked = b""

    def read(self, size: int) -> bytes:
        """The next bytes; none at the end. As many as were looked at, else at most `size`."""
        if self._peeked:
            peeked, self._peeked = self._peeked, b""
            return peeked
        chunk: bytes = self._stream.read(size)
        return chunk

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or what there is, which are read again."""
        parts, length = [self._peeked], len(self._peeked)
        while length < size and (chunk := self._stream.read(min(_CHUNK, size - length))):
            parts.append(chunk)
            length += len(chunk)
        self._peeked = b"".join(parts)
        return self._peeked

    def skip(self, size: int) -> None:
        """Passes over the first `size` bytes, of which none has been read."""
        if not self._packed:
            self._stream.seek(size)
            self._peeked = b""
            return
        while size > 0 and (chunk := self.read(min(_CHUNK, size))):
            self._peeked = chunk[size:]
            size -= len(chunk)


def _read_log(name: str, stream: _Stream, *, page: bool) -> Replay:
    most = MOST_WHOLE_BYTES if page else MOST_BYTES
    content = stream.peek(most + 1)
    if len(content) > most:
        raise Rejected(Reason.TOO_LONG, f"{name}: over {most >> 20} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Rejected(Reason.NOT_A_LOG, f"{name}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    return read_log(page_log(text, name) if page else text, name, id=Path(name).name.split(".")[0])


def _read_lines(name: str, stream: _Stream, start: int) -> Iterator[tuple[Replay | Rejected, int]]:
    """A JSON object a line."""
    stream.skip(start)
    where = f"{name} from byte {start}" if start else name
    rest, number, position, too_long = b"", 0, start, False
    while chunk := stream.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            number, position = number + 1, position + len(line) + 1
            if too_long or line.strip(_BLANK):
                yield _read_text(None if too_long else line, f"{where}:{number}"), position
            too_long = False
        if too_long or len(rest) > MOST_WHOLE_BYTES:
            position += len(rest)
            rest, too_long = b"", True
    if too_long or rest.strip(_BLANK):
        yield _read_text(None if too_long else rest, f"{where}:{number + 1}"), position + len(rest)


def _read_json(name: str, stream: _Stream, start: int) -> Iterator[tuple[Replay | Rejected, int]]:
    """One replay, a list of them, or many by id. A small file is read at once, and has no positions inside."""
    head = stream.peek(MOST_WHOLE_BYTES + 1)
    if len(head) <= MOST_WHOLE_BYTES:
        for one in _read_small_json(name, head):
            yield one, 0
        return
    body = head.removeprefix(_BOM).lstrip()
    if body[:1] not in (b"[", b"{"):
        raise Rejected(Reason.NOT_A_LOG, f"{name}: neither a list nor an object")
    start = start or len(head) - len(body) + 1
    stream.skip(start)
    format, number = file_format(name), 0
    try:
        for entry, position in split_json(stream, start, most=MOST_WHOLE_BYTES):
            number += 1
            if entry is not None and body[:1] == b"{":
                yield _read_by_id(name, entry, format), position
            else:
                yield _read_text(entry, f"{name}: entry {number}", format=format), position
    except ValueError as error:
        raise Rejected(Reason.NOT_A_LOG, f"{name}: {error}, after {number:,} entries") from error


def _read_small_json(name: str, content: bytes) -> Iterator[Replay | Rejected]:
    data = _decode(content, name)
    format = file_format(name)
    if isinstance(data, dict) and not data.keys() & {"log", "text"}:
        for id, one in data.items():
            yield _read_data(one, f"{name}: {id}", id, format)
    elif isinstance(data, list):
        for number, one in enumerate(data, 1):
            yield _read_data(one, f"{name}: entry {number}", "", format)
    else:
        yield _read_data(data, name, Path(name).name.split(".")[0], format)


def _read_by_id(name: str, entry: bytes, format: str) -> Replay | Rejected:
    """A replay out of an entry `id: replay` of a large object."""
    try:
        data = _decode(b"{%b}" % entry, f"{name}: {entry[:40].decode(errors='replace').strip()}")
    except Rejected as rejected:
        return rejected
    id, one = next(iter(data.items()))
    if not isinstance(one, dict | list):
        raise Rejected(Reason.TOO_LONG, f"{name}: one replay of over {MOST_WHOLE_BYTES >> 20} MB")
    return _read_data(one, f"{name}: {id}", id, format)


def _read_parquet(name: str, file: Any, start: int) -> Iterator[tuple[Replay | Rejected, int]]:
    """A replay a row, of which a few at a time are in memory; positions are rows."""
    table = pq.ParquetFile(file, pre_buffer=False, buffer_size=_CHUNK)
    columns = [column for column in table.schema_arrow.names if column in FIELDS]
    if not {"log", "text"} & set(columns):
        raise Rejected(Reason.NOT_A_LOG, f"{name}: no column log or text in it")
    format, row = file_format(name), 0
    for group in range(table.num_row_groups):
        size = table.metadata.row_group(group).num_rows
        if row + size <= start:
            row += size
            continue
        for batch in table.iter_batches(_ROWS, row_groups=[group], columns=columns):
            for record in batch.to_pylist():
                row += 1
                if row > start:
                    yield _read_data(record, f"{name}: row {row}", "", format), row


def _read_text(text: bytes | None, where: str, *, format: str = "") -> Replay | Rejected:
    """A replay as JSON, which is None if it is too long to be one."""
    if text is None:
        return Rejected(Reason.TOO_LONG, f"{where}: over {MOST_WHOLE_BYTES >> 20} MB")
    try:
        return read_record(_decode(text, where), where, format=format)
    except Rejected as rejected:
        return rejected


def _read_data(data: object, where: str, name: str, format: str) -> Replay | Rejected:
    try:
        return read_record(data, where, name=name, format=format)
    except Rejected as rejected:
        return rejected


def _decode(content: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(content.removeprefix(_BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected(Reason.NOT_A_LOG, f"{where}: {error}") from error
