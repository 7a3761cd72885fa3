"""Standard streams that never end a run: what can no longer be read is dropped, and a closed input is an empty one."""

import errno
import io
import os
import sys
from typing import Any, TextIO

_NOBODY_READS = (errno.EPIPE, errno.EIO)
"""A pipe whose reader went away, and a terminal that was closed."""


_NAMES = {1: "the standard output", 2: "the standard error"}


def outlive_readers() -> None:
    """From now on a closed pipe or terminal silences this process instead of ending it."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - lives as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    elif sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        sys.stdout = _lasting(sys.stdout)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    elif sys.__stderr__ is not None and sys.stderr is sys.__stderr__:
        sys.stderr = _lasting(sys.stderr)


class _Lasting(io.FileIO):
    """A file descriptor that turns into /dev/null when its reader is gone, or once it has raised that it is full."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BlockingIOError:
            raise
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if error.errno not in _NOBODY_READS:
                raise OSError(error.errno, error.strerror, _NAMES.get(self.fileno(), self.fileno())) from error
        return super().write(data)


def _lasting(stream: TextIO) -> TextIO:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.isatty() or stream is sys.__stderr__,
    )
