"""Public data sets of replays: on Hugging Face's hub, read as they come over the network, or as a copy in a folder.

Any data set is read whose files `sources` reads. Known ones are jakegrigsby/metamon-raw-replays, milkkarten/pokechamp
and cameronangliss/vgc-battle-logs.
"""

import io
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event
from typing import IO, Any, NamedTuple, cast

from sparring.core import InputError, RunError
from sparring.core.extras import optional
from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.replays.download import Wanted
from sparring.games.pokemon.replays.layouts import file_format
from sparring.games.pokemon.replays.sources import is_replay_file, read_replays

_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_BLOCK = 8 << 20
"""Bytes that are fetched at a time."""
_ALL = -1
"""The position behind a file that has been read whole."""
_READ_AHEAD = 16
"""Replays that each worker may have found and nobody has taken yet."""
_STEP = 0.1


class _Found(NamedTuple):
    """What a worker found in a file."""

    key: str
    one: Replay | Rejected | None
    """None behind the last."""
    position: int
    """Behind it."""
    read: int
    """Bytes of the file that have been read."""


class DataSet:
    """The replays of a data set; see `sparring.games.pokemon.replays.download.Source`.

    `position` says of each file, by path and size, how far it has been read.
    """

    def __init__(self, name: str, *, workers: int = 1) -> None:
        """`workers`: files that are read at the same time."""
        self.name = name
        self.share = 0.0
        self.position: dict[str, Any] = {}
        self._workers = workers
        folder = Path(name)
        if not folder.is_dir() and not _NAME.fullmatch(name):
            raise InputError(f"{name}: no source of replays; allowed: showdown, owner/name of a data set, or a folder")
        self._files: _Folder | _Hub = _Folder(folder) if folder.is_dir() else _Hub(name)

    def find(self, wanted: Wanted) -> Iterator[Replay | Rejected | None]:
        """The replays, file by file, with several workers as they come; a file that is named after a format which is
        not wanted is not read."""
        formats = wanted.filters.formats
        sizes = {
            path: size
            for path, size in self._files.sizes().items()
            if is_replay_file(Path(path)) and (not formats or file_format(path) in (*formats, ""))
        }
        if not sizes:
            raise InputError(f"{self.name}: no replays here{' of ' + ', '.join(formats) if formats else ''}")
        read = {_key(path, size): 0 for path, size in sizes.items()}
        left = {path: size for path, size in sizes.items() if self.position.get(_key(path, size)) != _ALL}
        read.update({_key(path, size): size for path, size in sizes.items() if path not in left})
        for found in self._read_all(left, wanted):
            read[found.key] = found.read
            self.share = sum(read.values()) / max(1, sum(sizes.values()))
            if found.one is not None:
                yield found.one
            self.position[found.key] = found.position

    def _read_all(self, sizes: Mapping[str, int], wanted: Wanted) -> Iterator[_Found]:
        """What workers find in files, as it comes."""
        queue: Queue[_Found] = Queue(self._workers * _READ_AHEAD)
        left = Event()
        with ThreadPoolExecutor(self._workers) as pool:
            work: list[Future[None]] = [
                pool.submit(self._read, path, size, queue, left) for path, size in sizes.items()
            ]
            try:
                while True:
                    ended = all(one.done() for one in work)
                    try:
                        yield queue.get(timeout=0 if ended else _STEP)
                        continue
                    except Empty:
                        wanted.pause(0.0)
                    failed = next((one for one in work if one.done() and one.exception() is not None), None)
                    if failed is not None:
                        failed.result()
                    if ended:
                        return
            finally:
                left.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, path: str, size: int, queue: Queue[_Found], left: Event) -> None:
        """One file; in a worker. `left`: nobody waits for it any more."""
        key = _key(path, size)
        with self._files.open(path) as file:
            for one, position in read_replays(path, file, start=self.position.get(key, 0)):
                _put(queue, _Found(key, one, position, min(size, file.tell())), left)
                if left.is_set():
                    return
        _put(queue, _Found(key, None, _ALL, size), left)


def _key(path: str, size: int) -> str:
    return f"{path} {size}"


def _put(queue: Queue[_Found], found: _Found, left: Event) -> None:
    """Waits for room, as long as somebody wants it."""
    while not left.is_set():
        try:
            return queue.put(found, timeout=_STEP)
        except Full:
            continue


class _Folder:
    """A copy of a data set on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def sizes(self) -> dict[str, int]:
        """The files, by path inside."""
        files = sorted(file for file in self._folder.rglob("*") if file.is_file())
        return {str(file.relative_to(self._folder)): file.stat().st_size for file in files}

    def open(self, path: str) -> IO[bytes]:
        """A file to read."""
        return (self._folder / path).open("rb")


class _Hub:
    """A data set on Hugging Face's hub, or on another that `HF_ENDPOINT` names."""

    def __init__(self, name: str) -> None:
        with optional("a data set of Hugging Face", extra="replays"):
            from huggingface_hub import HfFileSystem
        self._name = name
        self._root = f"datasets/{name}"
        self._system = HfFileSystem(skip_instance_cache=True)

    def sizes(self) -> dict[str, int]:
        """The files, by path inside."""
        with _network(self._name):
            found: Any = self._system.find(self._root, detail=True)
        return {path.removeprefix(f"{self._root}/"): int(about["size"]) for path, about in sorted(found.items())}

    def open(self, path: str) -> IO[bytes]:
        """A file to read, of which a block at a time is fetched."""
        with _network(self._name):
            return cast(IO[bytes], _Remote(self._name, self._system.open(f"{self._root}/{path}", block_size=_BLOCK)))


class _Remote(io.RawIOBase):
    """A file over the network, whose failures are the network's and not the file's."""

    def __init__(self, name: str, file: Any) -> None:
        self._name = name
        self._file = file

    def readinto(self, buffer: Any) -> int:
        """Fills `buffer` as far as there is something."""
        with _network(self._name):
            content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes to a place."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """The place."""
        return int(self._file.tell())

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True


@contextmanager
def _network(name: str) -> Iterator[None]:
    """Around requests: a data set that is not there is an `InputError`, everything else a `RunError`."""
    from httpx2 import HTTPError
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        yield
    except (RepositoryNotFoundError, FileNotFoundError) as error:
        raise InputError(f"{name}: no such data set on Hugging Face, or it wants a login (hf auth login)") from error
    except (HTTPError, OSError) as error:
        problem = " ".join(str(error).split())[:300] or type(error).__name__
        raise RunError(f"{name}: {problem}; the same command goes on where this one was") from error
