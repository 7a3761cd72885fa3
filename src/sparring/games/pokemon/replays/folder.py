"""A folder of downloaded replays: numbered .jsonl files with a replay a line, each battle once, nothing half written.

The file that is being written is hidden. Lines are added whole, and one that a killed run left torn is cut off by the
next; a full file is renamed, or packed and then renamed. What is on disk says which battles are there. Beside it is
noted how far each source has been read, which may be less than what is there but never more.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from sparring.core import InputError
from sparring.core.files import append_file, cannot_write, lock_folder, sweep, sync_folder, whole_lines, write_file
from sparring.core.replays import Replay
from sparring.games.pokemon.replays.sources import read_replays

FILE_BYTES = 64 << 20
"""At which a file is full; about 6,000 battles."""
_FILE = re.compile(r"(\d{8})\.jsonl(\.zst)?")
_OPEN = re.compile(r"\.(\d{8})\.jsonl")
_POSITIONS = ".positions.json"


class ReplayFolder:
    """The downloads in folder `path`, to which replays are added; until its `with` ends nobody else can add any.

    With `packed`, full files are .jsonl.zst.
    """

    def __init__(self, path: Path, *, packed: bool = False) -> None:
        self.path = path
        self._packed = packed
        self._serials: set[int] = set()
        self._size = 0
        self._lock: int | None = lock_folder(
            path, busy=f"{path}: another process downloads there; wait, or choose another folder"
        )
        try:
            sweep(path)
            self._number = self._recover()
        except OSError as error:
            self._unlock()
            raise cannot_write(path, error) from error

    def __enter__(self) -> "ReplayFolder":
        return self

    def __exit__(self, failed: object, *failure: object) -> None:
        """Finishes the file and lets others in. If the run has failed already, that is what the user is told."""
        try:
            self.finish_file()
        except InputError:
            if failed is None:
                raise
        finally:
            self._unlock()

    def __len__(self) -> int:
        return len(self._serials)

    def __contains__(self, replay: Replay) -> bool:
        return replay.serial in self._serials

    def add(self, replay: Replay, about: Mapping[str, Any]) -> None:
        """Adds a replay as a line with `about`; raises `InputError`, and leaves no half of it, if the disk is full."""
        line = json.dumps(about, ensure_ascii=False).encode(errors="replace") + b"\n"
        append_file(self._open_path(), line)
        self._size += len(line)
        self._serials.add(replay.serial)
        if self._size >= FILE_BYTES:
            self.finish_file()

    def finish_file(self) -> None:
        """Gives the file that is being written its name."""
        if not self._size:
            return
        path, source = self.path / f"{self._number:08d}.jsonl", self._open_path()
        try:
            _sync(source)
            if self._packed:
                path = path.with_suffix(".jsonl.zst")
                _pack(source, path)
                source.unlink()
            else:
                source.rename(path)
            sync_folder(self.path)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._size, self._number = 0, self._number + 1

    def position(self, source: Mapping[str, Any]) -> dict[str, Any]:
        """How far `source`, described by JSON, has been read; {} if nothing is known."""
        return next((entry["position"] for entry in self._positions() if entry["source"] == source), {})

    def note(self, source: Mapping[str, Any], position: Mapping[str, Any]) -> None:
        """Notes how far `source` has been read; what was read is on disk by then."""
        if self._size:
            _sync(self._open_path())
        others = [entry for entry in self._positions() if entry["source"] != source]
        content = json.dumps([*others, {"source": source, "position": position}], indent=1)
        write_file(self.path / _POSITIONS, content.encode())

    def _positions(self) -> list[dict[str, Any]]:
        try:
            entries = json.loads((self.path / _POSITIONS).read_bytes())
            known = [entry for entry in entries if isinstance(entry["position"], dict) and "source" in entry]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return []  # then sources are read from their beginning, and what is there is passed over
        return known

    def _recover(self) -> int:
        """Reads which battles are there, cuts off a torn line, and returns the number of the file to write."""
        names = sorted(path.name for path in self.path.iterdir())
        full = {int(found[1]): name for name in names if (found := _FILE.fullmatch(name))}
        left = [int(found[1]) for name in names if (found := _OPEN.fullmatch(name))]
        for name in full.values():
            self._read(self.path / name)
        number = max(full, default=-1) + 1
        for one in left:
            path = self.path / f".{one:08d}.jsonl"
            if one in full:  # it was packed, and the run killed before this could be removed
                path.unlink()
                continue
            number, self._size = one, whole_lines(path)
            os.truncate(path, self._size)
            self._read(path)
        return number

    def _read(self, path: Path) -> None:
        with path.open("rb") as file:
            for replay, _ in read_replays(str(path), file):
                if isinstance(replay, Replay):
                    self._serials.add(replay.serial)

    def _open_path(self) -> Path:
        return self.path / f".{self._number:08d}.jsonl"

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _sync(path: Path) -> None:
    """Makes what is in a file last through a power failure."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _pack(source: Path, path: Path) -> None:
    """Writes `source` as a .zst file at `path`, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with source.open("rb") as plain, pa.output_stream(temporary, compression="zstd") as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
        _sync(temporary)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
