"""Writes that must last: whole or not at all, whatever happens in between.

Everything is written under a temporary name first and then renamed. A process that is killed leaves at most temporary
files, which the next process to lock the folder removes with `sweep`.
"""

import ctypes
import errno
import fcntl
import os
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from sparring.core.errors import InputError

_LEFTOVER = re.compile(r"\.(?P<name>.+)\.\d+\.(?P<kind>new|old)")
_AT_WORKING_FOLDER = -100
_EXCHANGE = 2
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100
_PAGE = b"<!DOCTYPE HTML"


def write_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Replaces `path` by `content` atomically; raises `InputError` if the disk is full or the place unwritable."""
    temporary = _beside(path, "new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(temporary, content, mode)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise cannot_write(path, error) from error


def append_file(path: Path, content: bytes) -> None:
    """Adds `content` to `path`: all of it or, with an `InputError`, nothing. A killed process may leave a part."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            size, rest = os.fstat(handle).st_size, memoryview(content)
            try:
                while rest:
                    rest = rest[os.write(handle, rest) :]
            except OSError:
                os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)
    except OSError as error:
        raise cannot_write(path, error) from error


def whole_lines(path: Path) -> int:
    """How many bytes of `path` are whole lines; a killed process may have left part of another."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            begin = max(0, end - (1 << 20))
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return 0


def write_page(path: Path, page: str) -> None:
    """Writes an HTML page to a place that the user chose; see `check_page`."""
    check_page(path)
    write_file(path, page.encode("utf-8", "replace"))


def check_page(path: Path) -> None:
    """Raises `InputError` if a page must not be written to `path`: no such folder, or a file that is no older page."""
    check_place(path)
    if path.exists() and not _is_page(path):
        raise InputError(f"{path} exists and is not a page; choose another name")
    check_file(path)


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_PAGE)).upper() == _PAGE
    except OSError as error:
        raise cannot_write(path, error) from error


def check_place(path: Path) -> None:
    """Raises `InputError` unless `path`, which the user chose, lies in a folder that exists: a typo makes no tree."""
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")


def check_file(path: Path) -> None:
    """Raises `InputError` if file `path`, which the user chose, could not be written later."""
    check_place(path)
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise InputError(f"cannot write {path}: {'it is a folder' if path.is_dir() else 'permission denied'}")


def make_folder(path: Path) -> None:
    """Makes folder `path` for files that will come; raises `InputError` if they could not be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    if not os.access(path, os.W_OK):
        raise InputError(f"cannot write {path}: permission denied")


def check_bundle(path: Path, *, made: str) -> None:
    """Raises `InputError` if folder `path`, which the user chose, cannot be replaced without losing what is there.

    A folder that has a file `made` is an older one of the same kind.
    """
    check_place(path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file, not a folder; choose another name")
    if path.is_dir() and any(path.iterdir()) and not (path / made).is_file():
        raise InputError(f"{path} is not empty and holds no {made}; choose another folder")
    if path.exists() and Path.cwd().is_relative_to(path.resolve()):
        raise InputError(f"{path} is the folder you are in; choose another")


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Makes folder `path` with `files` in one step: readers find the old folder whole, or the new one."""
    temporary = _beside(path, "new")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        for name, content in files.items():
            _write(temporary / name, content, 0o666)
        sync_folder(temporary)
        replace_folder(temporary, path)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise cannot_write(path, error) from error


def replace_folder(temporary: Path, path: Path) -> None:
    """Puts folder `temporary` in the place of folder `path`, and removes what was there."""
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if not path.exists():
        temporary.rename(path)
        sync_folder(path.parent)
        return
    if _exchange(temporary, path):
        sync_folder(path.parent)
        shutil.rmtree(temporary)
        return
    aside = _beside(path, "old")  # `sweep` puts it back if nothing follows
    path.rename(aside)
    temporary.rename(path)
    sync_folder(path.parent)
    shutil.rmtree(aside)


def remove_folder(path: Path) -> None:
    """Removes folder `path` in one step: readers never find half of it."""
    aside = _beside(path, "new")
    path.rename(aside)
    shutil.rmtree(aside)


def sweep(folder: Path) -> None:
    """Clears `folder` of what killed writers left there; call it only while holding its lock."""
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        found = _LEFTOVER.fullmatch(path.name)
        if found is None:
            continue
        if found["kind"] == "old" and not (folder / found["name"]).exists():
            path.rename(folder / found["name"])
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def is_leftover(path: Path) -> bool:
    """Whether `sweep` would take care of `path`."""
    return _LEFTOVER.fullmatch(path.name) is not None


def lock_folder(path: Path, *, busy: str) -> int:
    """Locks folder `path`, made if need be, until the returned handle is closed or the process ends.

    Raises `InputError` with `busy` if another process, or another handle of this one, holds the lock.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise InputError(busy) from None
        raise InputError(
            f"{path}: cannot be locked ({error.strerror}); choose a folder on another file system"
        ) from error
    return handle


def safe_name(word: str) -> str:
    """A file name for a word from outside: only letters, digits and `._-`, no leading dot, at most 117 characters.

    A word that is such a name stays as it is. Any other becomes a name that ends in a hash of the whole word, so that
    different words get different names.
    """
    name = _UNSAFE.sub("-", word[:_LONGEST_NAME]).lstrip(".-")
    if word and name == word:
        return name
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name or 'unnamed'}-{digest}"


def cannot_write(path: Path, error: OSError) -> InputError:
    """The one line for a place that cannot be written."""
    return InputError(f"cannot write {path}: {error.strerror or error}")


def sync_folder(path: Path) -> None:
    """Makes renames in folder `path` last through a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _beside(path: Path, kind: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{kind}")


def _write(path: Path, content: bytes, mode: int) -> None:
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two names in one step; False where the system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    sys.audit("os.rename", str(one), str(other), -1, -1)
    here = _AT_WORKING_FOLDER
    if call(here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(number, os.strerror(number), str(other))
