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
from sparring.games.pokemon.tracking.tables import FAINTED, OwnMoves
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
_ROW_LISTS = tuple(slice(start, start + MOVES) for start in MOVE_IDS_START)
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
    offer, floats = view.offer, view.floats
    actives, forced = request.get("active") or (), request.get("forceSwitch") or ()
    preview = "teamPreview" in request
    offer[:] = _NO_OFFER
    floats[FIELD + c.FIELD_PREVIEW] = 1.0 if preview else 0.0
    floats[FIELD + c.FIELD_FORCED] = 1.0 if forced else 0.0
    kind = o.TURN if actives else o.FORCED if forced else o.PREVIEW if preview else o.NOTHING
    if kind != o.NOTHING:
        offer[o.KIND] = kind
        offer[o.SIZE] = len(order)
        places = len(actives or forced)
        for position, row in enumerate(order):
            offer[o.POSITION + row] = position + 1
            if team[position]["condition"] == FAINTED:
                offer[o.FAINTED + row] = 1
            elif position >= places:
                offer[o.ENTERS + row] = 1
    if preview:
        return
    for place in range(SLOTS):
        floats[_ASKED[place]] = _NOTHING_ASKED
        if place >= len(team):
            continue
        entry, at = team[place], o.PLACE_AT[place]
        asked = actives[place] if place < len(actives) else None
        if place < len(forced) and forced[place]:
            offer[at + o.MUST_SWITCH] = 1
            offer[at + o.REVIVING] = 1 if entry.get("reviving") else 0
            if entry["active"]:
                floats[PLACE_START[place] + c.ACTIVE_MUST_SWITCH] = 1.0
        elif asked and entry["condition"] != FAINTED and not entry.get("commanding"):
            _offer_place(offer, at, asked, entry["moves"])
        if entry["active"] and view.ids[PLACE_IDS_START[place]]:
            _write_place(view, place, order[place], entry, asked)


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
    if len(asked) > 1:
        _offer_options(offer, at, asked, locked)


def _offer_options(offer: bytearray, at: int, asked: Asked, locked: bool) -> None:
    """Trapping, and the gimmicks that may be used now."""
    for key, value in asked.items():
        if not value:
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
    aims_of = o.AIMS_OF
    for move in moves[:MOVES]:
        if move and not move.get("disabled"):
            offer[at] = aims_of.get(move.get("target"), o.AIM_NONE)  # type: ignore[arg-type]
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
    floats, start = view.floats, PLACE_START[place]
    if "ability" in entry:
        view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY] = view.tables.dex.abilities[entry["ability"]]
    if entry.get("commanding"):
        floats[start + c.ACTIVE_COMMANDING] = 1.0
    if entry.get("reviving"):
        floats[start + c.ACTIVE_REVIVING] = 1.0
    known: OwnMoves | None = view.sets[row]
    if known is None or known.moves is not entry["moves"]:  # by Transform or Mimic it has others
        known = OwnMoves(view.tables, entry["moves"])
    if view.ids[_LISTS[place]] != known.listed:
        _show_list(view, place, known.numbers)
    if not asked:
        return
    moves = asked["moves"]
    locked = "pp" not in moves[0]
    if view.generation == 1 and moves[0]["id"] != "recharge":  # a flinch, which no line tells, spares it the rest
        floats[start + c.ACTIVE_RECHARGING] = 0.0
    if not locked and len(moves) == len(known.numbers):
        _write_pp(view, place, known, moves)
    else:  # a request for a locked move names only that
        named = {view.tables.move(move["id"]) for move in moves}
        fight = moves[0]["id"] == "fight"
        for index, number in enumerate(known.numbers):
            at = PLACE_MOVES_START[place] + index * MOVE_WIDTH
            floats[at + c.MOVE_DISABLED] = float(number not in named and not fight)
    if len(asked) > 1:
        for key, value in asked.items():
            if value and key in _OPTIONS:
                floats[start + _OPTIONS[key]] = 1.0
    view.locked[place] = locked and len(moves) == 1 and bool(asked.get("trapped"))


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


def _write_pp(view: View, place: int, known: OwnMoves, moves: list[dict[str, Any]]) -> None:
    """PP of all moves and which are disabled, of the place and, if they are its own, of the Pokémon there."""
    floats, row = view.floats, view.active[place]
    at, own = PLACE_MOVES_START[place], MOVES_START[row]
    borrowed = view.ids[_ROW_LISTS[row]] != known.listed
    if borrowed and not floats[PLACE_START[place] + c.ACTIVE_TRANSFORMED]:
        _write_pp_of_mimic(view, row, known, moves)
    borrowed = borrowed or bool(floats[PLACE_START[place] + c.ACTIVE_TRANSFORMED])
    for move in moves:
        most, left = move["maxpp"], move["pp"]
        share = most / PP_SCALE
        left = left / most if left < most else 1.0 if most else 0.0
        floats[at + c.MOVE_PP] = left
        floats[at + c.MOVE_MAX_PP] = share
        floats[at + c.MOVE_DISABLED] = 1.0 if move.get("disabled") else 0.0
        if not borrowed:
            floats[own + c.MOVE_PP] = left
            floats[own + c.MOVE_MAX_PP] = share
        at += MOVE_WIDTH
        own += MOVE_WIDTH


def _write_pp_of_mimic(view: View, row: int, known: OwnMoves, moves: list[dict[str, Any]]) -> None:
    """PP of the own list of a Pokémon that has a move by Mimic among the others."""
    floats, own, own_number = view.floats, MOVES_START[row], MOVE_IDS_START[row]
    for number, move in zip(known.numbers, moves, strict=True):
        most = move["maxpp"]
        if view.ids[own_number] == number:
            floats[own + c.MOVE_PP] = min(1.0, move["pp"] / most) if most else 0.0
            floats[own + c.MOVE_MAX_PP] = most / PP_SCALE
        elif view.generation == 1:  # what was mimicked shares the PP of Mimic
            floats[own + c.MOVE_PP] = min(1.0, move["pp"] / (floats[own + c.MOVE_MAX_PP] * PP_SCALE))
        own += MOVE_WIDTH
        own_number += 1
