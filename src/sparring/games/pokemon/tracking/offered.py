"""What a request offers: the own active Pokémon as they are now and what they may do, and the side's offer.

The same facts go to the observation, which shows a network what it may do, and to the offer, from which mask and
choices are made.
"""

from array import array
from typing import Any

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import offer as o
from sparring.games.pokemon.actions.gimmicks import GIMMICKS
from sparring.games.pokemon.columns import MOVES, PP_SCALE, SLOTS
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOVE_IDS_START,
    MOVE_WIDTH,
    MOVES_START,
    PLACE_IDS_START,
    PLACE_MOVE_IDS_START,
    PLACE_MOVES_START,
    PLACE_START,
)
from sparring.games.pokemon.tracking.move_lines import borrow_move
from sparring.games.pokemon.tracking.own_team import Entry
from sparring.games.pokemon.tracking.view import View

Asked = dict[str, Any]
"""One entry of `request["active"]`."""

_NO_OFFER = bytes(o.WIDTH)
_ASKED_WIDTH = c.ACTIVE_REVIVING + 1 - c.ACTIVE_MUST_SWITCH
_ASKED = tuple(
    slice(start + c.ACTIVE_MUST_SWITCH, start + c.ACTIVE_MUST_SWITCH + _ASKED_WIDTH) for start in PLACE_START
)
_NOTHING_ASKED = array("f", bytes(4 * _ASKED_WIDTH))
_LISTS = tuple(slice(start, start + MOVES) for start in PLACE_MOVE_IDS_START)
_OPTIONS = {
    "trapped": c.ACTIVE_TRAPPED,
    "maybeTrapped": c.ACTIVE_MAYBE_TRAPPED,
    "canMegaEvo": c.ACTIVE_CAN_MEGA,
    "canMegaEvoX": c.ACTIVE_CAN_MEGA,
    "canMegaEvoY": c.ACTIVE_CAN_MEGA,
    "canUltraBurst": c.ACTIVE_CAN_MEGA,
    "canZMove": c.ACTIVE_CAN_Z,
    "canDynamax": c.ACTIVE_CAN_DYNAMAX,
    "canTerastallize": c.ACTIVE_CAN_TERA,
}
_BLOCKS = {name: (1 + number) * MOVES for number, name in enumerate(GIMMICKS)}
_LIKE_PLAIN = {
    "canMegaEvo": _BLOCKS["mega"],
    "canMegaEvoX": _BLOCKS["mega"],
    "canUltraBurst": _BLOCKS["mega"],
    "canMegaEvoY": _BLOCKS["megay"],
    "canTerastallize": _BLOCKS["terastallize"],
}
"""Gimmicks that leave the moves as they are, to where their block of aims starts."""
_MEGA_WORDS = {
    "canMegaEvo": o.MEGA_WORDS.index("mega"),
    "canMegaEvoX": o.MEGA_WORDS.index("megax"),
    "canUltraBurst": o.MEGA_WORDS.index("ultra"),
}
_OUTSIDE = {"recharge": o.RECHARGE, "struggle": o.STRUGGLE, "fight": o.FIGHT}


def write_offer(view: View, request: dict[str, Any], team: list[Entry], order: list[int]) -> None:
    """Writes what the side may do; `order` is the row of each Pokémon of `team`, whose rows must be up to date."""
    offer, floats, ids = view.offer, view.floats, view.ids
    actives, forced = request.get("active") or (), request.get("forceSwitch") or ()
    preview = "teamPreview" in request
    offer[:] = _NO_OFFER
    floats[FIELD + c.FIELD_PREVIEW] = float(preview)
    floats[FIELD + c.FIELD_FORCED] = float(bool(forced))
    offer[o.KIND] = o.TURN if actives else o.FORCED if forced else o.PREVIEW if preview else o.NOTHING
    if offer[o.KIND] != o.NOTHING:
        _write_positions(offer, team, order, len(actives or forced))
    if preview:
        return
    for place in range(SLOTS):
        floats[_ASKED[place]] = _NOTHING_ASKED
        if place >= len(team):
            continue
        entry = team[place]
        asked = actives[place] if place < len(actives) else None
        if place < len(forced):
            must = forced[place]
            offer[o.PLACE_AT[place] + o.MUST_SWITCH] = bool(must)
            offer[o.PLACE_AT[place] + o.REVIVING] = bool(entry.get("reviving"))
            if entry["active"]:
                floats[PLACE_START[place] + c.ACTIVE_MUST_SWITCH] = float(must)
        elif asked and not offer[o.FAINTED + order[place]] and not entry.get("commanding"):
            _offer_place(offer, o.PLACE_AT[place], asked, entry["moves"])
        if entry["active"] and ids[PLACE_IDS_START[place]]:
            _write_place(view, place, order[place], entry, asked)


def _write_positions(offer: bytearray, team: list[Entry], order: list[int], places: int) -> None:
    """Where each Pokémon of the team is in Showdown's list, and who may come in."""
    offer[o.SIZE] = len(order)
    for position, (row, entry) in enumerate(zip(order, team, strict=True), 1):
        offer[o.POSITION + row] = position
        if entry["condition"].endswith(" fnt"):
            offer[o.FAINTED + row] = 1
        elif position > places:
            offer[o.ENTERS + row] = 1


# The offer of one place.


def _offer_place(offer: bytearray, at: int, asked: Asked, own: list[str]) -> None:
    """What the Pokémon of a place, which starts at `at`, may do; `own` are the ids of its moves."""
    offer[at + o.ACTS] = 1
    moves = asked["moves"]
    locked = len(moves) == 1 and "pp" not in moves[0]
    if locked:
        place = _locked_place(moves[0]["id"], own)
        offer[at + o.LOCKED] = 1 + place if place >= 0 else _OUTSIDE.get(moves[0]["id"], o.CALLED)
        offer[at + o.AIMS + max(place, 0)] = o.AIMS_OF.get(moves[0].get("target"), o.AIM_NONE)
    else:
        max_moves = asked.get("maxMoves")
        if max_moves and not asked.get("canDynamax"):  # dynamaxed: every plain move is its max move
            moves = max_moves["maxMoves"]
        _offer_moves(offer, at + o.AIMS, moves)
    for key, value in asked.items():
        if not value or key == "moves":
            continue
        if key == "trapped":
            offer[at + o.TRAPPED] = 1
        elif key == "maybeTrapped":
            offer[at + o.MAYBE_TRAPPED] = 1
        elif locked:
            continue
        elif key in _LIKE_PLAIN:
            block, aims = at + o.AIMS + _LIKE_PLAIN[key], at + o.AIMS
            offer[block : block + MOVES] = offer[aims : aims + MOVES]
            word = _MEGA_WORDS.get(key, 0)
            if word and not 0 < offer[at + o.MEGA] < word:
                offer[at + o.MEGA] = word
        elif key == "canDynamax":
            _offer_moves(offer, at + o.AIMS + _BLOCKS["dynamax"], asked["maxMoves"]["maxMoves"])
        elif key == "canZMove":
            _offer_moves(offer, at + o.AIMS + _BLOCKS["zmove"], value)


def _offer_moves(offer: bytearray, at: int, moves: list[dict[str, Any] | None]) -> None:
    """The aims of a list of moves, none for one that is disabled or not there."""
    for move in moves[:MOVES]:
        if move and not move.get("disabled"):
            offer[at] = o.AIMS_OF.get(move.get("target"), o.AIM_NONE)  # type: ignore[arg-type]
        at += 1


def _locked_place(move: str, own: list[str]) -> int:
    """The place a forced move has in the Pokémon's list; -1 for recharge, Struggle, Fight and moves it called."""
    for place, name in enumerate(own[:MOVES]):
        if name == move or (name.startswith(move) and move in ("hiddenpower", "return", "frustration")):
            return place
    return -1


# The place in the observation.


def _write_place(view: View, place: int, row: int, entry: Entry, asked: Asked | None) -> None:
    """What the own Pokémon at `place` is now and may do."""
    floats, ids, start = view.floats, view.ids, PLACE_START[place]
    ability = entry.get("ability")
    if ability is not None:
        ids[PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY] = view.tables.dex.abilities[ability]
    if entry.get("commanding"):
        floats[start + c.ACTIVE_COMMANDING] = 1.0
    if entry.get("reviving"):
        floats[start + c.ACTIVE_REVIVING] = 1.0
    known = view.sets[row]
    if known is not None and known.moves is entry["moves"]:
        numbers, listed_now = known.numbers, known.listed
    else:
        numbers = tuple(view.tables.move(name) for name in entry["moves"][:MOVES])
        listed_now = None
    if ids[_LISTS[place]] != listed_now:
        _show_list(view, place, numbers)
    if not asked:
        return
    listed = asked["moves"]
    locked = "pp" not in listed[0]
    if not locked and len(listed) == len(numbers):
        _write_pp(view, place, numbers, listed)
    else:  # a request for a locked move names only that
        named = {view.tables.move(move["id"]) for move in listed}
        fight = listed[0]["id"] == "fight"
        for index, number in enumerate(numbers):
            at = PLACE_MOVES_START[place] + index * MOVE_WIDTH
            floats[at + c.MOVE_DISABLED] = float(number not in named and not fight)
    for key, value in asked.items():
        if value and key in _OPTIONS:
            floats[start + _OPTIONS[key]] = 1.0
    view.locked[place] = locked and len(listed) == 1 and bool(asked.get("trapped"))


def _show_list(view: View, place: int, numbers: tuple[int, ...]) -> None:
    """The moves of the Pokémon at `place`, in the order of its own list."""
    floats, ids, first = view.floats, view.ids, PLACE_MOVE_IDS_START[place]
    for index in range(len(numbers), MOVES):
        ids[first + index] = 0
    for index, number in enumerate(numbers):
        if ids[first + index] != number:
            at = PLACE_MOVES_START[place] + index * MOVE_WIDTH
            if floats[PLACE_START[place] + c.ACTIVE_TRANSFORMED]:
                borrow_move(view, at, number)
            ids[first + index] = number
            floats[at + c.MOVE_KNOWN] = 1.0


def _write_pp(view: View, place: int, numbers: tuple[int, ...], listed: list[dict[str, Any]]) -> None:
    """PP of all moves and which are disabled, of the place and, if they are its own, of the Pokémon there."""
    floats, ids, row = view.floats, view.ids, view.active[place]
    at, own, own_number = PLACE_MOVES_START[place], MOVES_START[row], MOVE_IDS_START[row]
    transformed = floats[PLACE_START[place] + c.ACTIVE_TRANSFORMED]
    for number, move in zip(numbers, listed, strict=True):
        most = move["maxpp"]
        share = most / PP_SCALE
        left = min(1.0, move["pp"] / most) if most else 0.0
        floats[at + c.MOVE_PP] = left
        floats[at + c.MOVE_MAX_PP] = share
        floats[at + c.MOVE_DISABLED] = 1.0 if move.get("disabled") else 0.0
        if not transformed:
            if ids[own_number] == number:
                floats[own + c.MOVE_PP] = left
                floats[own + c.MOVE_MAX_PP] = share
            elif view.generation == 1:  # what was mimicked shares the PP of Mimic
                floats[own + c.MOVE_PP] = min(1.0, move["pp"] / (floats[own + c.MOVE_MAX_PP] * PP_SCALE))
        at += MOVE_WIDTH
        own += MOVE_WIDTH
        own_number += 1
