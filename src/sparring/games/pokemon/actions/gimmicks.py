"""The gimmicks of Pokémon battles, and which of them a format's action numbers have blocks for."""

GIMMICKS = ("mega", "megay", "zmove", "dynamax", "terastallize")
"""Every gimmick there is. `mega` also stands for ultra burst, `megay` for the second stone of Let's Go."""


def gimmicks_of(format_id: str) -> tuple[str, ...]:
    """The gimmicks a format's Pokémon can use, in the order of their action numbers.

    They follow from the generation, with the formats that mix them named apart.
    """
    generation = int(format_id[3]) if format_id[:3] == "gen" and format_id[3:4].isdigit() else 9
    if "letsgo" in format_id:
        return ("mega", "megay")
    if "champions" in format_id:
        return ("mega",)
    if "nationaldex" in format_id or "natdex" in format_id:
        return ("mega", "zmove", "dynamax") if generation == 8 else ("mega", "zmove", "terastallize")
    if "bdsp" in format_id:
        return ()
    by_generation = {6: ("mega",), 7: ("mega", "zmove"), 8: ("dynamax",), 9: ("terastallize",)}
    return by_generation.get(generation, ())
