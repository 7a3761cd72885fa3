"""Profiles of long commands: where a process spends its time, line by line of the call tree, for people to look at."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sparring.core import InputError, optional
from sparring.core.files import write_file

_OPENED = {".html": "open it in a browser", ".json": "drop it onto https://www.speedscope.app"}
"""By kind of file: how people look at it."""


@contextmanager
def profiled(path: Path | None, say: Callable[[str], None]) -> Iterator[None]:
    """Samples the block's own thread every millisecond and writes what it saw to `path`, however the block ends.

    A `.html` page shows the call tree, a `.json` file is for speedscope. None profiles nothing.
    """
    if path is None:
        yield
        return
    if path.suffix not in _OPENED:
        raise InputError(f"--profile {path}: unknown kind of file; allowed: {', '.join(_OPENED)}")
    with optional("--profile", extra="profile"):
        from pyinstrument import Profiler
        from pyinstrument.renderers import HTMLRenderer, SpeedscopeRenderer
    write_file(path, b"")  # a place that cannot be written is found out now, not after hours
    profiler = Profiler(interval=0.001, async_mode="disabled")
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()
        renderer = HTMLRenderer() if path.suffix == ".html" else SpeedscopeRenderer()
        write_file(path, profiler.output(renderer).encode())
        say(f"wrote the profile {path}: {_OPENED[path.suffix]}")
