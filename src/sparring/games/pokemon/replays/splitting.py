"""JSON of any size, cut into the entries of its outermost list or object, of which one at a time is in memory."""

import re
from collections.abc import Iterator
from typing import Any

_CHUNK = 1 << 20
_MARK = re.compile(rb'["\[\]{},]')
_OPENING, _CLOSING, _QUOTE, _COMMA = b"[{", b"]}", ord('"'), ord(",")


def split_json(stream: Any, position: int, *, most: int) -> Iterator[tuple[bytes | None, int]]:
    """The entries that `stream` holds from `position`, the first byte after the opening bracket or after a comma.

    Each comes as it is written (`"key": value` in an object), None if it is longer than `most` bytes, with the position
    of the next. Raises `ValueError` if the JSON ends too early.
    """
    entry, depth, quoted, left = bytearray(), 1, False, b""
    while chunk := stream.read(_CHUNK):
        chunk = left + chunk
        left, at, begin, end = b"", 0, 0, len(chunk)
        while at < end:
            if quoted:
                quote = chunk.find(b'"', at)
                if quote < 0:
                    if _escapes(chunk, end):  # what the last byte escapes comes with the next chunk
                        left, end = chunk[-1:], end - 1
                    break
                quoted, at = _escapes(chunk, quote), quote + 1
                continue
            mark = _MARK.search(chunk, at)
            if mark is None:
                break
            kind, at = chunk[mark.start()], mark.end()
            if kind == _QUOTE:
                quoted = True
            elif kind in _OPENING:
                depth += 1
            elif kind in _CLOSING:
                depth -= 1
            elif depth > 1:
                continue
            if depth == 0 or (depth == 1 and kind == _COMMA):
                entry += chunk[begin : mark.start()]
                if entry.strip():
                    yield (bytes(entry) if len(entry) <= most else None), position + (at if depth else mark.start())
                entry.clear()
                begin = at
                if depth == 0:
                    return
        entry += chunk[begin:end]
        del entry[most + 1 :]
        position += end
    raise ValueError("it ends too early")


def _escapes(text: bytes, at: int) -> bool:
    """Whether what stands at `at` in a string is escaped: by an odd number of backslashes before it."""
    begin = at
    while begin and text[begin - 1] == ord("\\"):
        begin -= 1
    return (at - begin) % 2 == 1
