"""What one active Pokémon is offered: each of its four moves, plain or with a gimmick, and whom it may aim at.

The request is the only source. Move j is the j-th of the Pokémon's current move list, which Showdown keeps in
the order of the team sheet; a Pokémon that has transformed or used Mimic has other moves in the same places.
"""

from collections.abc import Mapping, Sequence
from typing import Any

MOVES = 4
"""Most moves a Pokémon can choose from."""

GIMMICKS = ("mega", "megay", "zmove", "dynamax", "terastallize")
"""Every gimmick there is. `mega` also stands for ultra burst, `megay` for the second stone of Let's Go."""

_FLAGS = {
    "mega": ("canMegaEvo", "canMegaEvoX", "canUltraBurst"),
    "megay": ("canMegaEvoY",),
    "terastallize": ("canTerastallize",),
}
_NONE: list[str | None] = [None] * MOVES
_MEGA_WORDS = (("canMegaEvo", "mega"), ("canMegaEvoX", "megax"), ("canUltraBurst", "ultra"))


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


def offered(active: Mapping[str, Any], own: Sequence[str], gimmicks: Sequence[str]) -> list[str | None]:
    """The target type of every order that may be chosen, None for the rest: `[(1 + gimmicks) * MOVES]`, plain first.

    `active` is the Pokémon's entry of `request["active"]`, `own` the move ids of its entry in the side. A move
    that takes no target has the target type Showdown gives it, or "" when a locked request says none.
    """
    moves = active["moves"]
    targets: list[str | None]
    if len(moves) == 1 and "pp" not in moves[0]:
        targets = [None] * (MOVES + MOVES * len(gimmicks))
        targets[locked_place(moves[0]["id"], own)] = moves[0].get("target", "")
        return targets
    max_moves = active.get("maxMoves")
    if max_moves and not active.get("canDynamax"):  # dynamaxed: every plain move is its max move
        moves = max_moves["maxMoves"]
    plain = targets = _targets(moves)
    for gimmick in gimmicks:
        if gimmick == "dynamax":
            targets = targets + (_targets(active["maxMoves"]["maxMoves"]) if active.get("canDynamax") else _NONE)
        elif gimmick == "zmove":
            targets = targets + _targets(active.get("canZMove") or ())
        else:
            targets = targets + (plain if any(active.get(flag) for flag in _FLAGS[gimmick]) else _NONE)
    return targets


def _targets(moves: Sequence[Mapping[str, Any] | None]) -> list[str | None]:
    """The target types of a list of moves, None for one that is disabled or not there: `[MOVES]`."""
    targets = [None if not move or move.get("disabled") else move.get("target", "") for move in moves[:MOVES]]
    return targets if len(targets) == MOVES else targets + _NONE[len(targets) :]


def is_locked(active: Mapping[str, Any]) -> bool:
    """Whether the request offers one order only: a locked move, recharge, Struggle, or gen 1's Fight button."""
    moves = active["moves"]
    return len(moves) == 1 and "pp" not in moves[0]


def locked_place(move: str, own: Sequence[str]) -> int:
    """The place a forced move has in the Pokémon's list; 0 for recharge, Struggle, Fight and moves it called."""
    for place, name in enumerate(own[:MOVES]):
        if name == move or (name.startswith(move) and move in ("hiddenpower", "return", "frustration")):
            return place
    return 0


def gimmick_word(active: Mapping[str, Any], gimmick: str) -> str:
    """The word Showdown's choice wants for `gimmick`: what "mega" stands for depends on the Pokémon."""
    if gimmick != "mega":
        return gimmick
    return next(word for flag, word in _MEGA_WORDS if active.get(flag))
