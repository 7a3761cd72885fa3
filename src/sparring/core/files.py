"""Writes that must last: whole or not at all, whatever happens in between; and names that stay in their folder."""

import os
import re
import shutil
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from sparring.core.errors import InputError

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100


def write_file(path: Path, content: bytes) -> None:
    """Replaces `path` by `content` atomically; raises `InputError` if the disk is full or the place unwritable."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(temporary, content)
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Makes folder `path` with `files` in one step: it is there with everything in it, or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        for name, content in files.items():
            _write(temporary / name, content)
        _sync_folder(temporary)
        if path.exists():
            shutil.rmtree(path)
        temporary.rename(path)
        _sync_folder(path.parent)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise cannot_write(path, error) from error


def safe_name(word: str) -> str:
    """A file name for a word from outside: only letters, digits and `._-`, no leading dot, at most 117 characters.

    A word that is such a name stays as it is. What is changed ends in a hash of the whole word, so that different words
    get different names.
    """
    name = _UNSAFE.sub("-", word[:_LONGEST_NAME]).lstrip(".-")
    if word and name == word:
        return name
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name or 'unnamed'}-{digest}"


def cannot_write(path: Path, error: OSError) -> InputError:
    """The one line for a place that cannot be written."""
    return InputError(f"cannot write {path}: {error.strerror or error}")


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
