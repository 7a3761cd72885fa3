"""What a request says: the own team exactly as it is, and what the own active Pokémon may do."""

from array import array
from typing import Any

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, PP_SCALE, SLOTS, STAT_SCALE, TEAM
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOVE_IDS_START,
    MOVE_WIDTH,
    MOVES_START,
    PLACE_IDS_START,
    PLACE_MOVE_IDS_START,
    PLACE_MOVES_START,
    PLACE_START,
    POKEMON_IDS_START,
    POKEMON_START,
    SIDE_START,
)
from sparring.games.pokemon.tracking.move_lines import borrow_move
from sparring.games.pokemon.tracking.places import recall, show_identity, show_moves, vacate
from sparring.games.pokemon.tracking.tables import STATS, OwnSet, parse_condition
from sparring.games.pokemon.tracking.view import View

_RARE = ("details", "baseAbility", "moves", "stats", "teraType")
_ASKED_WIDTH = c.ACTIVE_REVIVING + 1 - c.ACTIVE_MUST_SWITCH
_ASKED = tuple(
    slice(start + c.ACTIVE_MUST_SWITCH, start + c.ACTIVE_MUST_SWITCH + _ASKED_WIDTH) for start in PLACE_START
)
_NOTHING_ASKED = array("f", bytes(4 * _ASKED_WIDTH))
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


def apply_request(view: View, request: dict[str, Any]) -> None:
    """Writes a parsed `|request|` into the view. The lines that came with it must have been read before."""
    team: list[dict[str, Any]] = request["side"]["pokemon"][:TEAM]
    order, entries = _order(view, team), view.entries
    preview = "teamPreview" in request
    wrong = () if preview else _disguised(view, team, order)
    for place in wrong:
        if view.active[place] >= 0:
            _undo_disguise(view, place, order[place])
    for row, entry in zip(order, team, strict=True):
        if entry is not entries[row] and entry != entries[row]:
            _write_entry(view, row, entry)
    for place in wrong:
        _correct_place(view, place, order[place])
    if view.requests == 0:
        view.floats[SIDE_START[0] + c.SIDE_TEAM_SIZE] = len(team) / TEAM
        view.count_fainted(0, 0)
    view.requests += 1
    forced = request.get("forceSwitch")
    view.floats[FIELD + c.FIELD_PREVIEW] = float(preview)
    view.floats[FIELD + c.FIELD_FORCED] = float(forced is not None)
    if not preview:
        actives = request.get("active") or ()
        for place in range(SLOTS):
            view.floats[_ASKED[place]] = _NOTHING_ASKED
            if place < len(team) and team[place]["active"]:
                if forced is not None and place < len(forced):
                    view.floats[PLACE_START[place] + c.ACTIVE_MUST_SWITCH] = float(forced[place])
                if view.ids[PLACE_IDS_START[place]]:
                    asked = actives[place] if place < len(actives) else None
                    _write_place(view, place, team[place], _numbers(view, order[place], team[place]["moves"]), asked)


def _disguised(view: View, team: list[dict[str, Any]], order: list[int]) -> list[int]:
    """Own places at which the lines showed another Pokémon than the one that stands there."""
    active, places = view.active, range(min(SLOTS, len(team)))
    return [place for place in places if active[place] != order[place] and team[place]["active"]]


def _order(view: View, team: list[dict[str, Any]]) -> list[int]:
    """The row of each Pokémon of the request, whose order changes with every switch."""
    names = [entry["ident"][4:] for entry in team]
    if view.requests == 0 and (view.turn <= 1 or not any(view.names[:TEAM])):
        view.rows_by_name[0].clear()
        for row, name in enumerate(names):
            view.name_row(row, name)
        view.team_order = list(range(len(team)))
    elif [view.names[row] for row in view.team_order] != names or view.shared_names:
        view.team_order = _match(view, names, team)
        if len(team) < TEAM:
            for row in range(TEAM):
                start = POKEMON_START[row]
                if row not in view.team_order and view.floats[start + c.POKEMON_KNOWN]:
                    view.floats[start + c.POKEMON_ABSENT] = 1.0
    return view.team_order


def _match(view: View, names: list[str], team: list[dict[str, Any]]) -> list[int]:
    """Rows by name; where Pokémon share one, by what the last request said of them."""
    if not view.shared_names:
        rows = [view.rows_by_name[0].get(name, 0) for name in names]
        if [view.names[row] for row in rows] == names:
            return rows
    order: list[int] = []
    for name, entry in zip(names, team, strict=True):
        free = [row for row in range(TEAM) if row not in order]
        same = [row for row in free if view.names[row] == name]
        if not same:
            same = [
                row for row in free if not view.names[row]
            ] or free  # a name that comes too late takes another's place
            view.name_row(same[0], name)
        if len(same) > 1:
            same.sort(key=lambda row: _likeness(view.entries[row], entry), reverse=True)
        order.append(same[0])
    return order


def _likeness(before: dict[str, Any], entry: dict[str, Any]) -> int:
    """How much of a request's entry is as it was."""
    return sum(before.get(key) == value for key, value in entry.items())


def _write_entry(view: View, row: int, entry: dict[str, Any]) -> None:
    """One own Pokémon; what cannot change between requests is written only when they differ."""
    before = view.entries[row]
    view.entries[row] = entry
    floats, ids = view.floats, view.ids
    start, numbers = POKEMON_START[row], POKEMON_IDS_START[row]
    fraction, most, status = parse_condition(entry["condition"])
    floats[start + c.POKEMON_HP] = fraction
    floats[start + c.POKEMON_FAINTED] = 0.0 if fraction else 1.0
    if ids[numbers + c.POKEMON_ID_STATUS] != status:
        view.set_status(row, status)
    if most:
        floats[start + c.POKEMON_MAX_HP] = most / STAT_SCALE
    item = view.tables.dex.items[entry["item"]]
    if ids[numbers + c.POKEMON_ID_ITEM] != item or not floats[start + c.POKEMON_ITEM_KNOWN]:
        if item:
            view.reveal_item(row, item)
        else:
            ids[numbers + c.POKEMON_ID_ITEM] = 0
            floats[start + c.POKEMON_ITEM_HELD] = 0.0
        floats[start + c.POKEMON_ITEM_KNOWN] = 1.0
    for key in _RARE:
        old, new = before.get(key), entry.get(key)
        if old is not new and old != new:
            _write_set(view, row, entry, before.get("details") != entry["details"])
            return


def _write_set(view: View, row: int, entry: dict[str, Any], new_details: bool) -> None:
    """What an own Pokémon is: species, ability, tera type, stats and moves."""
    floats, ids = view.floats, view.ids
    start, numbers = POKEMON_START[row], POKEMON_IDS_START[row]
    known = view.sets[row]
    if known is None or not known.tells(entry):
        known = view.sets[row] = OwnSet(view.tables, entry)
    if new_details:
        view.describe(row, entry["details"])
    if view.generation > 2:
        ids[numbers + c.POKEMON_ID_ABILITY] = known.ability
        floats[start + c.POKEMON_ABILITY_KNOWN] = 1.0
    if known.tera_type is not None:
        ids[numbers + c.POKEMON_ID_TERA_TYPE] = known.tera
    floats[start + c.POKEMON_STAT_ATK : start + c.POKEMON_STAT_ATK + len(STATS)] = known.stat_columns
    if row in view.active:
        place = view.active.index(row)
        at, seen = PLACE_START[place], PLACE_IDS_START[place]
        if floats[at + c.ACTIVE_TRANSFORMED] or floats[at + c.ACTIVE_MIMIC]:
            return  # its moves are borrowed
        if new_details and ids[seen] and ids[seen + c.ACTIVE_ID_SPECIES] != ids[numbers + c.POKEMON_ID_SPECIES]:
            show_identity(view, place)
    first = MOVE_IDS_START[row]
    for index, move in enumerate(known.numbers):
        if ids[first + index] != move:
            view.write_move(row, index, move)


def _numbers(view: View, row: int, names: list[str]) -> tuple[int, ...]:
    """The numbers of a Pokémon's moves, worked out anew only if the list is not the one they were learnt from."""
    known = view.sets[row]
    if known is not None and known.moves is names:
        return known.numbers
    return tuple(view.tables.move(name) for name in names[:MOVES])


def _undo_disguise(view: View, place: int, row: int) -> None:
    """Lines have written to the Pokémon shown at `place` what was `row`'s: its status and how long it has lasted."""
    shown = view.active[place]
    view.entries[shown] = {}
    if view.active.count(shown) > 1:  # beside its model: whose the lines were is not told
        return
    status, slept, poisoned = view.status_turns(shown)
    recall(view, place, shown)
    for holder, sign in ((shown, -1), (row, 1)):
        before, asleep, ill = view.status_turns(holder)
        if before == status:
            slept, poisoned = slept + sign * asleep, poisoned + sign * ill
    view.set_status(row, status)
    start = POKEMON_START[row]
    view.floats[start + c.POKEMON_SLEEP_TURNS] = slept
    view.floats[start + c.POKEMON_TOXIC_TURNS] = poisoned


def _correct_place(view: View, place: int, row: int) -> None:
    """The own Pokémon at `place` is another than the lines showed: the own illusion. Effects stay, the name changes."""
    vacate(view, place)
    view.active[place] = row
    if view.floats[POKEMON_START[row] + c.POKEMON_FAINTED]:
        return
    view.floats[POKEMON_START[row] + c.POKEMON_ACTIVE] = 1.0
    view.floats[POKEMON_START[row] + c.POKEMON_SEEN] = 1.0
    show_identity(view, place)
    show_moves(view, place)


def _write_place(
    view: View, place: int, entry: dict[str, Any], numbers: tuple[int, ...], asked: dict[str, Any] | None
) -> None:
    """What the own Pokémon at `place` is now and may do."""
    floats, ids, start = view.floats, view.ids, PLACE_START[place]
    if "ability" in entry:
        ids[PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY] = view.tables.dex.abilities[entry["ability"]]
    if entry.get("commanding"):
        floats[start + c.ACTIVE_COMMANDING] = 1.0
    if entry.get("reviving"):
        floats[start + c.ACTIVE_REVIVING] = 1.0
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
