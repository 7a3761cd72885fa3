"""Words from outside (servers, files, other people) as a terminal may show them."""


def printable(text: str, most: int = 10_000) -> str:
    """`text` on one line, at most `most` characters, without those that could move the cursor or hide what is there."""
    return _visible(" ".join(text[: 4 * most].split()), most)


def printable_lines(text: str, most: int = 10_000) -> str:
    """As `printable`, but lines stay lines and keep their indentation; each is cut at `most` characters."""
    return "\n".join(_visible(line.expandtabs(4), most) for line in text.split("\n"))


def _visible(line: str, most: int) -> str:
    shown = "".join(sign for sign in line[: 4 * most] if sign.isprintable())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
