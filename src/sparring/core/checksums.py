"""Checksums of the files of a folder, in a file beside them that `sha256sum --check SHA256SUMS` reads too."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparring.core.errors import InputError

SUMS = "SHA256SUMS"
_TRIES = 5


class _Differs(Exception):
    """A file is not what its checksum says."""


def with_checksums(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """`files` and their checksums."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return {**files, SUMS: "".join(lines).encode()}


def read_checked(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The files `names` of `folder`, all from the same moment even if the folder is being replaced.

    Raises `InputError` if one is missing or differs from its checksum. A folder without checksums, as earlier versions
    wrote it, is read unchecked.
    """
    for remaining in reversed(range(_TRIES)):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise InputError(f"cannot read {folder}: {error.strerror}") from error
        try:
            return _read(folder, handle, names)
        except (OSError, _Differs) as error:
            if remaining and not _is_same(folder, handle):
                continue
            if isinstance(error, OSError):
                raise InputError(f"cannot read {folder / str(error.filename)}: {error.strerror}") from error
            raise InputError(
                f"{folder}: damaged: {error} differs from its checksum (if you changed it yourself, delete {SUMS})"
            ) from None
        finally:
            os.close(handle)
    raise AssertionError("the last try returns or raises")


def _read(folder: Path, handle: int, names: Sequence[str]) -> dict[str, bytes]:
    contents = {name: _content(name, handle) for name in names}
    try:
        listed = _content(SUMS, handle).decode("ascii", "replace").splitlines()
    except FileNotFoundError:
        return contents
    for name, content in contents.items():
        if f"{hashlib.sha256(content).hexdigest()}  {name}" not in listed:
            raise _Differs(name)
    return contents


def _content(name: str, handle: int) -> bytes:
    with open(name, "rb", opener=lambda path, flags: os.open(path, flags, dir_fd=handle)) as file:
        return file.read()


def _is_same(folder: Path, handle: int) -> bool:
    """Whether the open folder is still the one of that name."""
    try:
        now, then = folder.stat(), os.fstat(handle)
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)
