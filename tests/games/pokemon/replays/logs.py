"""Short logs, as a spectator sees them, for tests."""

_HEADS = {
    "singles": (
        "|gametype|singles",
        "|player|p1|Ann|1|1500",
        "|player|p2|Bob|2|1600",
        "|teamsize|p1|3",
        "|teamsize|p2|3",
        "|gen|{gen}",
        "|tier|[Gen {gen}] Custom Game",
        "|start",
        "|switch|p1a: Mew|Mew|100/100",
        "|switch|p2a: Onix|Onix, M|100/100",
        "|turn|1",
    ),
    "doubles": (
        "|gametype|doubles",
        "|player|p1|Ann|1|1500",
        "|player|p2|Bob|2|1600",
        "|teamsize|p1|4",
        "|teamsize|p2|4",
        "|gen|{gen}",
        "|tier|[Gen {gen}] Doubles Custom Game",
        "|start",
        "|switch|p1a: Mew|Mew|100/100",
        "|switch|p1b: Gyarados|Gyarados, M|100/100",
        "|switch|p2a: Onix|Onix, M|100/100",
        "|switch|p2b: Jynx|Jynx, F|100/100",
        "|turn|1",
    ),
}


ATTACKS = ("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|move|p2a: Onix|Rock Slide|p1a: Mew")
"""A turn in which both sides show what they chose."""


DOUBLES = (
    *("|", "|-terastallize|p1a: Mew|Water", "|move|p1a: Mew|Surf|p2a: Onix|[spread] p2a,p2b", "|faint|p2a: Onix"),
    *("|", "|upkeep", "|", "|switch|p2a: Lapras|Lapras, M|100/100", "|turn|2"),
    *("|", "|swap|p1a: Mew|1|[from] move: Ally Switch", "|move|p1a: Gyarados|Waterfall|p2b: Jynx"),
)
"""Two turns of doubles: a faint, a replacement, places that are swapped."""


def battle(*lines: str, gen: int = 9, kind: str = "singles", end: tuple[str, ...] = ("|", "|win|Ann")) -> str:
    """A battle that begins with turn 1 (Mew against Onix) and goes on as `lines` say."""
    return "\n".join([*(line.format(gen=gen) for line in _HEADS[kind]), *lines, *end])
