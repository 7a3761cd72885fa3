"""The episode store: a folder of self-describing Arrow files.

Each shard is one Arrow IPC file with a row per episode; the steps of an episode are in list columns, so any
Arrow reader can open it. The game's spec and the counts are in the schema's metadata, the players' names and
the versions of their weights in columns. A shard is written whole or not at all, and holds whole matches. Where the
game numbers named things, the spec has its vocabulary, and `read_episodes` renumbers to what is installed here.

A shard carries its own checksum, in the schema's metadata. It is verified before Arrow sees a byte of the file, and
what Arrow then reads is validated in full, so that a damaged shard is one `InputError` and never wrong data.
"""

import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparring.core import Array, Episodes, GameSpec, Headers, InputError, RunError, Steps, Vocabulary
from sparring.core.files import cannot_write, lock_folder, sweep, write_file
from sparring.core.versions import present_vocabulary, stored_spec

FORMAT = 3
SUFFIX = ".arrow"
_KEY = b"sparring"
_HEADERS = {
    "serial": pa.int64(),
    "seat": pa.int32(),
    "version": pa.int32(),
    "outcome": pa.float32(),
    "complete": pa.bool_(),
    "last_value": pa.float32(),
}
"""Stored as they are; lengths are in the list columns, players are stored by name."""
_FACTS = {"rating": pa.float32(), "played_at": pa.int64()}
"""Headers of matches between people only."""
_CHECKSUM = b"sparring.checksum"
_SEAL = re.compile(rb"sparring-shard-sha256=([0-9a-f]{64})")
_BLANK = b"sparring-shard-sha256=" + b"0" * 64
"""Stands in for the checksum while it is computed."""


@dataclass(frozen=True)
class ShardInfo:
    """What a shard's metadata says."""

    spec: GameSpec
    players: tuple[str, ...]
    matches: int
    episodes: int
    rows: int
    about: Mapping[str, Any]
    """Free facts: how these matches were played."""
    columns: tuple[str, ...]
    """The columns it has, by their flat names."""


@dataclass(frozen=True)
class ShardSize:
    """How much a shard holds."""

    matches: int
    episodes: int
    rows: int


def size_of(episodes: Episodes) -> ShardSize:
    """How much a shard of `episodes` holds."""
    return ShardSize(len(np.unique(episodes.headers.serial)), len(episodes), episodes.rows)


class EpisodeStore:
    """A folder of shards, numbered in the order they were written; locked from opening to `close`.

    Opening a folder verifies and counts what is there, so that after a kill a writer goes on from the count on disk.
    """

    def __init__(self, path: str | Path, spec: GameSpec, *, about: Mapping[str, Any] | None = None) -> None:
        if not isinstance(path, str | Path) or not isinstance(spec, GameSpec):
            wrong = f"path = {path!r:.60}" if isinstance(spec, GameSpec) else f"spec = {spec!r:.60}"
            raise InputError(f"{wrong}: allowed: EpisodeStore(path of a folder, spec of a game)")
        self.path = path = Path(path)
        self.spec = spec
        self._about = dict(about or {})
        self._lock: int | None = lock_folder(
            path, busy=f"{path}: another process writes episodes there; wait, or choose another folder"
        )
        try:
            sweep(path)
            infos = [shard_info(shard) for shard in shards(path)]
            for info in infos:
                if info.spec != spec:
                    was, now = dict(info.spec.settings), dict(spec.settings)
                    other = "" if info.spec.vocabulary == spec.vocabulary else " with another vocabulary"
                    raise InputError(
                        f"{path} holds episodes of {info.spec.game} {was}{other}, not of {spec.game} {now}"
                    )
        except OSError as error:
            self.close()
            raise cannot_write(path, error) from error
        except InputError:
            self.close()
            raise
        self.abouts = tuple(info.about for info in infos)
        """The facts that were written with each shard that was there."""
        self.matches = sum(info.matches for info in infos)
        self.episodes = sum(info.episodes for info in infos)
        self.rows = sum(info.rows for info in infos)
        self._next = int(shards(path)[-1].stem) + 1 if infos else 0

    def __repr__(self) -> str:
        state = "closed" if self._lock is None else f"{self.matches:,} matches"
        return f"<EpisodeStore: {self.path}, {state} of {self.spec}>"

    def __enter__(self) -> "EpisodeStore":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets others open the folder; may be called twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def append(self, episodes: Episodes) -> Path:
        """Writes `episodes` as the next shard; the numbers of their matches continue those on disk."""
        _, numbered = np.unique(episodes.headers.serial, return_inverse=True)
        serial = self.matches + numbered.astype(np.int64).reshape(-1)
        renumbered = replace(episodes, headers=replace(episodes.headers, serial=serial))
        return self.add(shard_bytes(renumbered, about=self._about), size_of(episodes))

    def add(self, content: bytes, episodes: ShardSize) -> Path:
        """Writes what `shard_bytes` made elsewhere as the next shard; its serial numbers must be new to this store."""
        if self._lock is None:
            raise RunError(f"{self.path}: the store is closed")
        path = self.path / f"{self._next:08d}{SUFFIX}"
        write_file(path, content)
        self._next += 1
        self.matches += episodes.matches
        self.episodes += episodes.episodes
        self.rows += episodes.rows
        return path

    def __iter__(self) -> Iterator[Episodes]:
        """The episodes of each shard, in the order they were written."""
        for shard in shards(self.path):
            yield read_shard(shard)


def read_episodes(
    path: Path | str, *, game: str | None = None, say: Callable[[str], None] = print
) -> Iterator[Episodes]:
    """The episodes of each shard in the store at `path`, or of the one shard there, in the order they were written.

    Numbers of named things are translated to the game as installed here, or left as written if it is not; the
    vocabulary in the spec says which. `say` reports a translation. Raises `InputError` if there are no episodes, or if
    they are not of `game`.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"path = {path!r}: allowed: the folder of a store, or one of its files")
    found = [Path(path)] if Path(path).is_file() else shards(Path(path))
    if not found:
        raise InputError(f"{path}: no episodes here")
    told: list[str] = []
    lost = 0
    for shard in found:
        episodes = read_shard(shard)
        if game is not None and episodes.spec.game != game:
            raise InputError(f"{shard}: episodes of {episodes.spec.game}, not of {game}")
        now = present_vocabulary(episodes.spec.game)
        if now is not None and (difference := renumbering(episodes.spec, now)):
            if difference not in told:
                told.append(difference)
                say(f"{path}: episodes of another vocabulary, renumbered by name ({difference})")
            episodes, gone = renumber(episodes, now, shard)
            lost += gone
        yield episodes
    if lost:
        say(f"{path}: {lost:,} numbers of names that are gone have become 0, unknown")


def renumbering(spec: GameSpec, now: Vocabulary) -> str:
    """What differs between the vocabulary of `spec` and `now`; "" if the numbers of both stand for the same names."""
    was = spec.vocabulary
    return "" if was is None or was.names == now.names else was.difference(now)


def renumber(episodes: Episodes, now: Vocabulary, shard: Path) -> tuple[Episodes, int]:
    """`episodes` of another vocabulary in the numbers of `now`, and how many numbers became 0, unknown."""
    was = episodes.spec.vocabulary
    assert was is not None
    try:
        observation, gone = was.renumber(episodes.steps.observation, now)
    except InputError as error:
        raise InputError(f"{shard}: {error}") from error
    spec = replace(episodes.spec, vocabulary=was.named_as(now))
    return replace(episodes, spec=spec, steps=replace(episodes.steps, observation=observation)), gone


def shards(path: Path) -> list[Path]:
    """The shards in folder `path`, in the order they were written."""
    return sorted(shard for shard in path.glob(f"*{SUFFIX}") if shard.stem.isdecimal())


def shard_serials(path: Path) -> NDArray[np.int64]:
    """`int64[n]` the serial numbers of the matches in the shard at `path`; raises `InputError` if it is damaged."""
    _, file = _open(path)
    try:
        batches = [file.get_batch(number).column("serial") for number in range(file.num_record_batches)]
        return np.unique(np.concatenate([_plain(column, pa.int64()).to_numpy() for column in batches]))
    except _ARROW_FAILS as error:
        raise InputError(f"{path}: damaged episode file ({_line(error)})") from error


def shard_info(path: Path) -> ShardInfo:
    """The metadata of the shard at `path`; raises `InputError` if it is damaged."""
    return _open(path)[0]


def shard_headers(path: Path) -> tuple[ShardInfo, Headers]:
    """The metadata of the shard at `path`, and the headers of its episodes; raises `InputError` if it is damaged."""
    content = _content(path)
    info = _parse(content, path)[0]
    wanted = [info.columns.index(name) for name in (*_HEADERS, *_FACTS, "player", "action") if name in info.columns]
    try:
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        return info, _headers(_columns(pa.ipc.open_file(pa.py_buffer(content), options=options), info), info)
    except _ARROW_FAILS as error:
        raise InputError(f"{path}: damaged episode file ({_line(error)})") from error


def shard_bytes(episodes: Episodes, *, about: Mapping[str, Any]) -> bytes:
    """An Arrow IPC file of `episodes`. Stored policy memory is left out: it means nothing to other weights."""
    spec = episodes.spec
    offsets = pa.array(np.append(episodes.starts, episodes.rows).astype(np.int32))
    columns: dict[str, Any] = {name: pa.array(array) for name, array in episodes.headers.columns().items()}
    del columns["lengths"]  # the list columns say them
    columns["player"] = pa.DictionaryArray.from_arrays(columns["player"], pa.array(episodes.players)).cast(pa.string())
    for name, array in episodes.steps.columns().items():
        columns[name] = pa.ListArray.from_arrays(offsets, _cells(array))
    meta = {
        "format": FORMAT,
        "spec": spec.to_json(),
        "players": list(episodes.players),
        "matches": len(np.unique(episodes.headers.serial)),
        "episodes": len(episodes),
        "rows": episodes.rows,
        "about": dict(about),
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(meta).encode(), _CHECKSUM: _BLANK})
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    blank = sink.getvalue()
    return blank.replace(_BLANK, b"sparring-shard-sha256=" + hashlib.sha256(blank).hexdigest().encode())


def read_shard(path: Path) -> Episodes:
    """The episodes of the shard at `path`; raises `InputError` if it is damaged."""
    info, file = _open(path)
    spec = info.spec
    try:
        columns = _columns(file, info)
        headers = _headers(columns, info)
        optional = {name: name in columns for name in ("policy", "consistent", "filled")}
        like = Steps.none(spec, **optional).columns()
        steps = {name: _values(columns[name], array, headers.lengths) for name, array in like.items()}
        episodes = Episodes(spec=spec, players=info.players, headers=headers, steps=Steps.from_columns(steps))
        _check(episodes, info)
    except _ARROW_FAILS as error:
        raise InputError(f"{path}: damaged episode file ({_line(error)})") from error
    return episodes


_ARROW_FAILS = (OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError, AttributeError, pa.ArrowException)
"""What Arrow and numpy raise for data that is not what it should be."""


def spec_of(content: bytes) -> GameSpec:
    """The game spec in what `shard_bytes` made."""
    return _parse(content, Path("a shard"))[0].spec


def _open(path: Path) -> tuple[ShardInfo, Any]:
    """A shard's metadata, and Arrow's reader of it; the whole file is read and its checksum verified."""
    return _parse(_content(path), path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _columns(file: Any, info: ShardInfo) -> dict[str, Any]:
    """The columns of an Arrow reader, validated, each as one array."""
    table = file.read_all()
    table.validate(full=True)
    table = table.combine_chunks()
    if table.num_rows != info.episodes or table.num_rows == 0:
        raise ValueError(f"{table.num_rows} episodes where {info.episodes} were written")
    return {name: table[name].chunk(0) for name in table.column_names}


def _headers(columns: Mapping[str, Any], info: ShardInfo) -> Headers:
    number = {name: index for index, name in enumerate(info.players)}
    kinds = {**_HEADERS, **{name: kind for name, kind in _FACTS.items() if name in columns}}
    headers = {name: _plain(columns[name], kind).to_numpy(zero_copy_only=False) for name, kind in kinds.items()}
    names = _plain(columns["player"], pa.string()).to_pylist()
    headers["player"] = np.array([number[name] for name in names], np.int32)
    headers["lengths"] = np.diff(_offsets(columns["action"], info.rows)).astype(np.int32)
    if not np.isfinite(headers["outcome"]).all():
        raise ValueError("outcome: not all finite")
    return Headers.from_columns(headers)


def _parse(content: bytes, path: Path) -> tuple[ShardInfo, Any]:
    if not content.startswith(b"ARROW1"):
        raise InputError(f"{path}: not an Arrow file")
    sealed = set(_SEAL.findall(content))
    if not sealed:
        raise InputError(f"{path}: no checksum: it is damaged, or no episode file of this version")
    if sealed != {hashlib.sha256(_SEAL.sub(_BLANK, content)).hexdigest().encode()}:
        raise InputError(f"{path}: damaged: it differs from its checksum")
    try:
        file = pa.ipc.open_file(pa.py_buffer(content))
        return _info(file.schema, path), file
    except InputError:
        raise
    except _ARROW_FAILS as error:
        raise InputError(f"{path}: damaged episode file ({_line(error)})") from error


def _info(schema: Any, path: Path) -> ShardInfo:
    try:
        meta = json.loads((schema.metadata or {})[_KEY])
        if meta["format"] != FORMAT:
            raise InputError(f"{path}: episode format {meta['format']}; this version reads {FORMAT}")
        return ShardInfo(
            spec=_spec(meta["spec"], path),
            players=tuple(str(name) for name in meta["players"]),
            matches=int(meta["matches"]),
            episodes=int(meta["episodes"]),
            rows=int(meta["rows"]),
            about=dict(meta["about"]),
            columns=tuple(schema.names),
        )
    except InputError:
        raise
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"{path}: an Arrow file, but not of episodes ({_line(error)})") from error


def _spec(data: Mapping[str, Any], path: Path) -> GameSpec:
    try:
        return stored_spec(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _check(episodes: Episodes, info: ShardInfo) -> None:
    """Raises `ValueError` unless the numbers are possible in the shard's game."""
    headers, action = episodes.headers, episodes.steps.action
    if len(np.unique(headers.serial)) != info.matches:
        raise ValueError(f"other than the {info.matches} matches that were written")
    least = 0 if episodes.steps.consistent is None else -1
    limits = (("seat", headers.seat, 0, info.spec.seats), ("action", action, least, info.spec.actions))
    for name, numbers, first, limit in limits:
        if numbers.min() < first or numbers.max() >= limit:
            raise ValueError(f"{name}: not all within {first}..{limit - 1}")
    legal, sets = episodes.steps.legal, episodes.steps.consistent
    if sets is not None and ((sets & ~legal).any() or not sets.any(axis=1).all()):
        raise ValueError("consistent: sets of actions that are empty, or not all legal")


def _line(error: BaseException) -> str:
    """An error as one short line."""
    return " ".join(repr(error) if isinstance(error, KeyError) else str(error).split("\n")[0].split())[:200]


def _cells(array: Array) -> Any:
    """An Arrow array of `array: dtype[r, ...]`, one entry per row; booleans become bytes."""
    flat = np.ascontiguousarray(array).reshape(-1)
    values = pa.array(flat.view(np.uint8) if flat.dtype == np.bool_ else flat)
    return values if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(values, prod(array.shape[1:]))


def _plain(column: Any, kind: Any) -> Any:
    """`column`, if it is of type `kind` and without gaps."""
    if column.type != kind or column.null_count:
        raise ValueError(f"a column of {column.type} with {column.null_count} gaps where {kind} was expected")
    return column


def _offsets(column: Any, rows: int) -> Array:
    """`int32[n + 1]` where each list of a column starts; the lists must hold `rows` values end to end."""
    if not isinstance(column, pa.ListArray) or column.null_count:
        raise ValueError(f"a column of {column.type} where lists were expected")
    offsets: Array = column.offsets.to_numpy()
    if offsets[0] != 0 or offsets[-1] != rows or len(column.values) != rows or (np.diff(offsets) < 1).any():
        raise ValueError(f"lists that do not hold {rows} rows end to end")
    return offsets


def _values(column: Any, like: Array, lengths: Array) -> Array:
    """The numbers of a list column laid end to end, with the dtype and row shape of `like`."""
    if not np.array_equal(np.diff(_offsets(column, int(lengths.sum()))), lengths):
        raise ValueError("columns whose episodes differ in length")
    cells = column.values
    size = prod(like.shape[1:])
    if like.ndim > 1:
        if not isinstance(cells, pa.FixedSizeListArray) or cells.type.list_size != size or cells.null_count:
            raise ValueError(f"rows of {cells.type} where {size} numbers were expected")
        cells = cells.flatten()
    stored = pa.uint8() if like.dtype == np.bool_ else pa.from_numpy_dtype(like.dtype)
    flat: Array = _plain(cells, stored).to_numpy(zero_copy_only=False)
    return flat.astype(like.dtype, copy=False).reshape(-1, *like.shape[1:])
