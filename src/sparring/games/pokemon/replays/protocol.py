"""The lines of a log as Showdown writes them today, whichever year or program wrote them."""

_ACTS = frozenset(("switch", "drag", "replace", "swap", "move", "cant", "faint", "detailschange"))
"""Kinds of lines that tell of the battle, beside those that begin with `-`."""


def protocol_lines(log: str) -> list[list[str]]:
    """The lines, split at `|`; empty for what is plain text. Some programs write the empty lines without their bar."""
    spaced = "\n|\n" in log
    lines = [
        line.split("|") if line.startswith("|") else ["", ""] if not line and not spaced else []
        for line in log.rstrip("\n").split("\n")
    ]
    return lines if "\n|upkeep" in log else _with_upkeep(lines)


def _with_upkeep(lines: list[list[str]]) -> list[list[str]]:
    """`lines` with those that tell the end of a turn, which logs of early years lack."""
    whole: list[list[str]] = []
    begun: int | None = None
    for parts in lines:
        if parts[1:2] == ["turn"]:
            if begun is not None:
                whole.insert(_end_of_turn(whole, begun), ["", "upkeep"])
            begun = len(whole)
        whole.append(parts)
    return whole


def _end_of_turn(lines: list[list[str]], begun: int) -> int:
    """Where the turn that begins at line `begun` was over: before the replacements of those who fainted in it."""
    kinds = [parts[1] if len(parts) > 1 else None for parts in lines[begun:]]
    fainted = kinds.index("faint") if "faint" in kinds else len(kinds)
    end, follows = len(kinds), ""
    for at in range(len(kinds) - 1, fainted, -1):
        kind = kinds[at]
        if kind == "":
            if follows != "switch":
                break
            end, follows = at, ""
        elif kind is not None and (kind.startswith("-") or kind in _ACTS):
            follows = kind
    return begun + end
