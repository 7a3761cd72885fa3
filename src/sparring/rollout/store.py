"""The episode store: a folder of Arrow files that say themselves what is in them.

Each shard is one Arrow IPC file with a row per episode; what happened in an episode is in list columns, so any
Arrow reader can open it. The game's spec and the counts are in the schema's metadata, the players' names and
the versions of their weights in columns. A shard is written whole or not at all, and holds whole matches.
"""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sparring.core import Array, Episodes, GameSpec, Headers, InputError, Steps
from sparring.core.files import cannot_write, write_file

FORMAT = 2
SUFFIX = ".arrow"
_KEY = b"sparring"
_HEADERS = tuple(field.name for field in fields(Headers) if field.name not in ("lengths", "player"))
"""Stored as they are; lengths are in the list columns, players are stored by name."""


@dataclass(frozen=True)
class ShardInfo:
    """What a shard's metadata says."""

    spec: GameSpec
    matches: int
    episodes: int
    rows: int
    about: Mapping[str, Any]
    """Free facts: how these matches were played."""


class EpisodeStore:
    """A folder of shards, numbered in the order they were written, by one writer at a time.

    Opening a folder counts what is there, so that a writer that was killed goes on at the count on disk.
    """

    def __init__(self, path: Path, spec: GameSpec, *, about: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.spec = spec
        self._about = dict(about or {})
        try:
            path.mkdir(parents=True, exist_ok=True)
            for left in path.glob(f".*{SUFFIX}.*.tmp"):
                left.unlink()
        except OSError as error:
            raise cannot_write(path, error) from error
        infos = [shard_info(shard) for shard in shards(path)]
        for info in infos:
            if info.spec != spec:
                was, now = dict(info.spec.settings), dict(spec.settings)
                raise InputError(f"{path} holds episodes of {info.spec.game} {was}, not of {spec.game} {now}")
        self.matches = sum(info.matches for info in infos)
        self.episodes = sum(info.episodes for info in infos)
        self.rows = sum(info.rows for info in infos)
        self._next = int(shards(path)[-1].stem) + 1 if infos else 0

    def append(self, episodes: Episodes) -> Path:
        """Writes `episodes` as the next shard; their matches are numbered on from those on disk."""
        _, numbered = np.unique(episodes.headers.serial, return_inverse=True)
        path = self.path / f"{self._next:08d}{SUFFIX}"
        if path.exists():
            raise InputError(f"{path} appeared meanwhile: does another process write to this folder?")
        serial = self.matches + numbered.astype(np.int64).reshape(-1)
        renumbered = replace(episodes, headers=replace(episodes.headers, serial=serial))
        write_file(path, shard_bytes(renumbered, about=self._about))
        self._next += 1
        self.matches += int(numbered.max()) + 1
        self.episodes += len(episodes)
        self.rows += episodes.rows
        return path

    def __iter__(self) -> Iterator[Episodes]:
        """The episodes of each shard, in the order they were written."""
        for shard in shards(self.path):
            yield read_shard(shard)


def read_episodes(path: Path | str, *, game: str | None = None) -> Iterator[Episodes]:
    """The episodes of each shard in the store at `path`, in the order they were written.

    Raises `InputError` if there are none, or if they are not of `game`.
    """
    found = shards(Path(path))
    if not found:
        raise InputError(f"{path}: no episodes here")
    for shard in found:
        episodes = read_shard(shard)
        if game is not None and episodes.spec.game != game:
            raise InputError(f"{shard}: episodes of {episodes.spec.game}, not of {game}")
        yield episodes


def shards(path: Path) -> list[Path]:
    """The shards in folder `path`, in the order they were written."""
    return sorted(shard for shard in path.glob(f"*{SUFFIX}") if shard.stem.isdecimal())


def shard_info(path: Path) -> ShardInfo:
    """What the shard at `path` holds, without reading its rows."""
    try:
        with pa.memory_map(str(path)) as file:
            return _info(pa.ipc.open_file(file).schema, path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error}") from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: not an Arrow file ({error})") from error


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
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(meta).encode()})
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_shard(path: Path) -> Episodes:
    """The episodes of the shard at `path`; raises `InputError` if it is damaged."""
    info = shard_info(path)
    spec = info.spec
    try:
        with pa.memory_map(str(path)) as file:
            table = pa.ipc.open_file(file).read_all().combine_chunks()
        players = tuple(json.loads(table.schema.metadata[_KEY])["players"])
        lists = {name: table[name].combine_chunks() for name in table.column_names}
        like = Steps.none(spec, policy="policy" in lists).columns()
        number = {name: index for index, name in enumerate(players)}
        headers = {name: lists[name].to_numpy(zero_copy_only=False) for name in _HEADERS}
        headers["player"] = np.array([number[name] for name in lists["player"].to_pylist()], np.int32)
        headers["lengths"] = np.diff(lists["action"].offsets.to_numpy()).astype(np.int32)
        steps = {name: _values(lists[name], array) for name, array in like.items()}
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise InputError(f"{path}: damaged episode file ({error})") from error
    return Episodes(spec=spec, players=players, headers=Headers.from_columns(headers), steps=Steps.from_columns(steps))


def _info(schema: Any, path: Path) -> ShardInfo:
    try:
        meta = json.loads((schema.metadata or {})[_KEY])
        if meta["format"] != FORMAT:
            raise InputError(f"{path}: episode format {meta['format']}; this version reads {FORMAT}")
        return ShardInfo(
            spec=GameSpec.from_json(meta["spec"]),
            matches=int(meta["matches"]),
            episodes=int(meta["episodes"]),
            rows=int(meta["rows"]),
            about=meta["about"],
        )
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: an Arrow file, but not of episodes ({error!r})") from error


def _cells(array: Array) -> Any:
    """A flat Arrow array of `array: dtype[r, ...]`, one entry a row; booleans become bytes inside."""
    flat = np.ascontiguousarray(array).reshape(-1)
    values = pa.array(flat.view(np.uint8) if flat.dtype == np.bool_ else flat)
    return values if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(values, prod(array.shape[1:]))


def _values(column: Any, like: Array) -> Array:
    """The numbers of a list column laid end to end, as rows of the dtype and shape that `like` has."""
    values = column.values
    while isinstance(values, pa.FixedSizeListArray):
        values = values.values
    flat: Array = values.to_numpy(zero_copy_only=False)
    return flat.reshape(-1, *like.shape[1:]).astype(like.dtype, copy=False)
