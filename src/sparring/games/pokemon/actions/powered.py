"""Max moves and Z-moves: what a Pokémon's own move is called when dynamax or a crystal changes it, and the way back."""

from functools import cache

from sparring.games.pokemon.dex import Dex, load_dex
from sparring.games.pokemon.formats import to_id

_STATUS = "Status"


def max_move(dex: Dex, move: str, species: str = "") -> str:
    """The id of the max move that `move` becomes; a species in its G-Max forme has one of its own."""
    own = dex.raw["moves"][move]
    if own["category"] == _STATUS:
        return "maxguard"
    kind = own["type"]
    if species.endswith("gmax"):
        return _max_moves(dex.generation).get((species.removesuffix("gmax"), kind)) or max_move(dex, move)
    return _max_moves(dex.generation).get(("", kind), move)


def z_move(dex: Dex, move: str, item: str) -> str:
    """What people call the Z-move that crystal `item` makes of move `move`."""
    own, crystal = dex.raw["moves"][move], dex.raw["items"].get(item, {})
    if own["category"] == _STATUS:
        return f"Z-{own['name']}"
    for other in dex.raw["moves"].values():
        if other.get("isZ") == item and crystal.get("zMoveFrom", own["name"]) == own["name"]:
            return str(other["name"])
    return f"Z-{own['name']}"


def shows_as(dex: Dex, move: str, shown: str) -> bool:
    """Whether move `move` of a Pokémon's list may be the move that an order or a log calls `shown`, both as ids."""
    if move == shown or (move.startswith("hiddenpower") and shown.startswith("hiddenpower")):
        return True
    moves = dex.raw["moves"]
    own, other = moves.get(move), moves.get(shown)
    if own is None:
        return False
    if other is None:
        return shown in (f"z{move}", move.rstrip("0123456789"))
    status = own["category"] == _STATUS
    if other.get("isMax"):
        return bool(status if shown == "maxguard" else not status and own["type"] == other["type"])
    if other.get("isZ"):
        source = dex.raw["items"].get(other["isZ"], {}).get("zMoveFrom")
        if source is not None:
            return to_id(source) == move
        return bool(not status and own["type"] == other["type"])
    return False


def shows_as_changed(dex: Dex, move: str, shown: str) -> bool:
    """As `shows_as`, of a max move or Z-move whose type something has changed."""
    moves = dex.raw["moves"]
    other = moves.get(shown, {})
    damages = move in moves and moves[move]["category"] != _STATUS
    return bool(damages and (other.get("isMax") or other.get("isZ")) and shown != "maxguard")


@cache
def _max_moves(generation: int) -> dict[tuple[str, str], str]:
    """Ids of max moves by (species id, type); species "" for those that all have."""
    return {
        (to_id(move["isMax"]) if isinstance(move["isMax"], str) else "", move["type"]): id
        for id, move in load_dex(generation).raw["moves"].items()
        if move.get("isMax") and id != "maxguard"
    }
