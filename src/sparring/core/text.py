"""Words from outside (servers, files, other people) as a terminal may show them."""


def printable(text: str, most: int = 10_000) -> str:
    """`text` on one line, at most `most` characters, without those that could move the cursor or hide what is there."""
    words = " ".join(text[: 4 * most].split())
    shown = "".join(sign for sign in words if sign.isprintable())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
