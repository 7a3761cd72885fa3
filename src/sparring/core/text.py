"""Text from outside (servers, files, other people) made safe for a terminal."""


def printable(text: str, most: int = 10_000) -> str:
    """`text` on one line of at most `most` characters, without control characters that move the cursor or hide text."""
    return _visible(" ".join(text[: 4 * most].split()), most)


def printable_lines(text: str, most: int = 10_000) -> str:
    """As `printable`, but line by line, with indentation; each line is cut at `most` characters."""
    return "\n".join(_visible(line.expandtabs(4), most) for line in text.split("\n"))


def _visible(line: str, most: int) -> str:
    shown = "".join(sign for sign in line[: 4 * most] if sign.isprintable())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
