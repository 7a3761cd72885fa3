"""The cache folder: what set-up fetched and what was compiled, built once and kept between commands."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sparring.core.files import cannot_write, replace_folder, sweep


def cache_folder() -> Path:
    """`$SPARRING_CACHE`, or `~/.cache/sparring`."""
    chosen = os.environ.get("SPARRING_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "sparring"


def build_once(target: Path, make: Callable[[Path], None], *, done: Callable[[], bool] | None = None) -> Path:
    """`target`, filled by `make` the first time it is asked for, by whichever process comes first.

    It appears whole or not at all. `done` says whether it is there already, if its mere existence does not.
    """
    there = target.exists if done is None else done
    with ExitStack() as held:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(_locked(target.parent / "setup.lock"))
            sweep(target.parent)
        except OSError as error:
            if not there():  # otherwise it is a filled cache that we may only read
                raise cannot_write(target, error) from error
        if not there():
            _build(target, make)
    return target


def _build(target: Path, make: Callable[[Path], None]) -> None:
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    aside.mkdir()
    try:
        make(aside)
        replace_folder(aside, target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a file lock, so that two set-ups at the same time do not do the work twice."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
