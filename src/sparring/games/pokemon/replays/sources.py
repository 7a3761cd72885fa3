"""Replays from files, whatever they are called in: logs, saved pages, JSON of several layouts, each also compressed.

    .log             one battle's protocol lines
    .html            a replay page as Showdown saves it
    .json            one replay as Showdown's site gives it, or many by id
    .jsonl           one replay a line

and each of them with `.zst` or `.gz` behind. The layouts of JSON are those of Showdown's own replay site and of the
public data sets: `log` or `text` holds the battle, as one string or a list of lines.
"""

import html
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from sparring.core import InputError
from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.replays.reasons import Reason

MOST_BYTES = 8 << 20
"""Of one battle; a long one has a tenth of that."""
MOST_FILE_BYTES = 1 << 30
"""Of a file that has to be read whole: everything but .jsonl."""
_KINDS = (".log", ".html", ".json", ".jsonl")
_PACKED = {".zst": "zstd", ".gz": "gzip"}
_LOG = re.compile(r'<script[^>]*class="battle-log-data"[^>]*>(.*?)</script>', re.DOTALL)
_NUMBER = re.compile(r"\d+")
_MISSING = "MISSING"


class ReplayFiles:
    """The replays in files and in folders (and folders inside), sorted by name; see `sparring.core.replays.Replays`."""

    def __init__(self, inputs: Sequence[Path]) -> None:
        self.files = _files(inputs)
        self.share = 0.0
        self._sizes = [file.stat().st_size for file in self.files]

    def __iter__(self) -> Iterator[Replay | Rejected]:
        total, done = max(1, sum(self._sizes)), 0
        for file, size in zip(self.files, self._sizes, strict=True):
            with suppress(OSError), pa.OSFile(str(file)) as source:
                for replay in read_replays(file, source):
                    self.share = (done + min(size, source.tell())) / total
                    yield replay
            done += size


def _files(inputs: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in inputs:
        if path.is_dir():
            found += sorted(file for file in path.rglob("*") if file.is_file() and _kind(file)[0] in _KINDS)
        elif path.exists():
            found.append(path)
        else:
            raise InputError(f"{path}: no such file or folder")
    if not found:
        raise InputError(
            f"{', '.join(map(str, inputs))}: no replays here; allowed: {', '.join(_KINDS)}, each also .zst or .gz"
        )
    return found


def read_replays(path: Path, source: Any) -> Iterator[Replay | Rejected]:
    """The replays of one file, which `source` reads, in order; what cannot be read comes as the reason why."""
    kind, packing = _kind(path)
    try:
        stream = pa.CompressedInputStream(source, packing) if packing else source
        if kind == ".jsonl":
            yield from _read_lines(path, stream)
            return
        content = stream.read(MOST_FILE_BYTES + 1)
        if len(content) > MOST_FILE_BYTES:
            raise Rejected(Reason.TOO_LONG, f"{path}: over {MOST_FILE_BYTES >> 20} MB")
        if kind == ".json":
            yield from _read_json(content, path)
        else:
            text = _text(content, str(path))
            if kind == ".html":
                text = _page_log(text, path)
            yield _checked(Replay(path.name.split(".")[0], text), str(path))
    except Rejected as rejected:
        yield rejected
    except (OSError, pa.ArrowException) as error:
        yield Rejected(Reason.NOT_A_LOG, f"{path}: {str(error).splitlines()[0][:120]}")


def _kind(path: Path) -> tuple[str, str | None]:
    """`.json` and `zstd` of `battles.json.zst`."""
    packing = _PACKED.get(path.suffix.lower())
    name = path.with_suffix("") if packing else path
    return name.suffix.lower(), packing


def _read_lines(path: Path, stream: Any) -> Iterator[Replay | Rejected]:
    """A file with a JSON object a line, of which only one line at a time is in memory."""
    rest, number = b"", 0
    skipping = False
    while chunk := stream.read(1 << 20):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            number += 1
            if not skipping:
                yield from _read_line(line, f"{path}:{number}")
            skipping = False
        if len(rest) > MOST_BYTES:
            if not skipping:
                yield Rejected(Reason.TOO_LONG, f"{path}:{number + 1}: a line over {MOST_BYTES >> 20} MB")
            rest, skipping = b"", True
    if rest and not skipping:
        yield from _read_line(rest, f"{path}:{number + 1}")


def _read_line(line: bytes, where: str) -> Iterator[Replay | Rejected]:
    if not line.strip():
        return
    try:
        yield read_record(_decode(line, where), where)
    except Rejected as rejected:
        yield rejected


def _read_json(content: bytes, path: Path) -> Iterator[Replay | Rejected]:
    """One replay, a list of them, or many by id."""
    data = _decode(content, str(path))
    many: list[tuple[str, Any]]
    if isinstance(data, dict) and not data.keys() & {"log", "text"}:
        many = [
            (id, {"id": id, "uploadtime": one[0], "log": one[1]} if isinstance(one, list) and len(one) == 2 else one)
            for id, one in data.items()
        ]
    elif isinstance(data, list):
        many = [(str(number), one) for number, one in enumerate(data)]
    else:
        many = [("", data)]
    for name, one in many:
        where = f"{path}: {name}" if name else str(path)
        try:
            yield read_record(one, where, default_id=name or path.name.split(".")[0])
        except Rejected as rejected:
            yield rejected


def read_record(data: object, where: str, *, default_id: str = "") -> Replay:
    """A replay from JSON of any known layout; raises `Rejected`."""
    if not isinstance(data, dict):
        raise Rejected(Reason.NOT_A_LOG, f"{where}: no object with a log in it")
    log = data.get("log", data.get("text"))
    if isinstance(log, list):
        log = "\n".join(str(line) for line in log)
    if not isinstance(log, str) or not log:
        raise Rejected(Reason.EMPTY, f"{where}: no log in it")
    replay = Replay(
        id=str(_given(data, "id", "battle_id") or default_id)[:200],
        log=log,
        format=to_id(str(_given(data, "formatid", "format", "gamemode") or ""))[:100],
        rating=_rating(_given(data, "rating", "elo")),
        played_at=_seconds(_given(data, "uploadtime")),
    )
    return _checked(replay, where)


def _given(data: dict[str, Any], *keys: str) -> Any:
    """The first of `keys` that has a value; data sets write MISSING where there is none."""
    return next((data[key] for key in keys if data.get(key) not in (None, "", _MISSING)), None)


def _rating(value: Any) -> float:
    """A rating, as a number or a range such as `1500-1599`, whose middle it is; NaN if there is none."""
    numbers = [float(number) for number in _NUMBER.findall(str(value))] if isinstance(value, str) else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        numbers = [float(value)]
    known = [number for number in numbers[:2] if 0 < number < 10_000]
    return sum(known) / len(known) if known else float("nan")


def _seconds(value: Any) -> int:
    try:
        seconds = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return 0
    return seconds if 0 < seconds < 1 << 40 else 0


def _decode(content: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected(Reason.NOT_A_LOG, f"{where}: {error}") from error


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Rejected(Reason.NOT_A_LOG, f"{where}: not UTF-8 text ({error.reason} at byte {error.start})") from error


def _page_log(page: str, path: Path) -> str:
    """The log inside a saved replay page."""
    found = _LOG.search(page)
    if found is None:
        raise Rejected(Reason.NOT_A_LOG, f"{path}: a page without a battle log in it")
    return html.unescape(found.group(1)).replace("<\\/", "</").replace("<\\!--", "<!--")


def _checked(replay: Replay, where: str) -> Replay:
    """A replay whose log can be one."""
    if len(replay.log) > MOST_BYTES:
        raise Rejected(Reason.TOO_LONG, f"{where}: over {MOST_BYTES >> 20} MB")
    if not replay.log.strip():
        raise Rejected(Reason.EMPTY, f"{where}: nothing in it")
    if "|" not in replay.log:
        raise Rejected(Reason.NOT_A_LOG, f"{where}: no protocol lines in it")
    return replay
