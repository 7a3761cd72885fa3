"""Lines that another program sends, for a program that works on until the next one comes."""

import os
from collections.abc import Iterator
from select import select


class Lines:
    """The lines of a file descriptor, without their ends; what is no UTF-8 is replaced. Nothing else may read it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = b""
        self._at_end = False

    def __iter__(self) -> Iterator[str]:
        while self.waiting(block=True) and self._unread:
            line, _, self._unread = self._unread.partition(b"\n")
            yield line.decode("utf-8", "replace")

    def waiting(self, *, block: bool = False) -> bool:
        """Whether a line, or the end of them, can be read at once; with `block` it waits until that is so."""
        while not self._at_end and b"\n" not in self._unread:
            if not block and not select([self._descriptor], [], [], 0)[0]:
                return False
            more = os.read(self._descriptor, 1 << 16)
            self._unread += more
            self._at_end = not more
        return True
