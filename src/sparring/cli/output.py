"""Standard output and error that never end a run: what can no longer be read is dropped."""

import errno
import io
import os
import sys
from typing import Any, TextIO

_NOBODY_READS = (errno.EPIPE, errno.EIO)
"""A pipe whose reader went away, and a terminal that was closed."""


def outlive_readers() -> None:
    """From now on a closed pipe or terminal silences this process instead of ending it."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        sys.stdout = _lasting(sys.stdout)
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = _lasting(sys.stderr)


class _Lasting(io.FileIO):
    """A file descriptor that turns into /dev/null when its reader is gone."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _NOBODY_READS:
                raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        return super().write(data)


def _lasting(stream: TextIO) -> TextIO:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.isatty() or stream is sys.__stderr__,
    )
