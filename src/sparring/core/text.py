"""Text from outside (servers, files, other people) made safe for a terminal, and lines that fit one."""

import textwrap


def printable(text: str, most: int = 10_000) -> str:
    """`text` on one line of at most `most` characters, without control characters that move the cursor or hide text."""
    return _visible(" ".join(text[: 4 * most].split()), most)


def printable_lines(text: str, most: int = 10_000) -> str:
    """As `printable`, but line by line, with indentation; each line is cut at `most` characters."""
    return "\n".join(_visible(line.expandtabs(4), most) for line in text.split("\n"))


def wrapped(text: str, columns: int) -> str:
    """`text` with lines of at most `columns`, broken between words; a longer word, such as an address, stays whole."""
    lines = (
        textwrap.wrap(line, columns, break_long_words=False, break_on_hyphens=False, replace_whitespace=False) or [""]
        for line in text.split("\n")
    )
    return "\n".join(part for parts in lines for part in parts)


def _visible(line: str, most: int) -> str:
    shown = "".join(sign for sign in line[: 4 * most] if sign.isprintable())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
