"""What a request says: the own team exactly as it is, and what the own active Pokémon may do."""

from array import array
from typing import Any

from sparring.games.pokemon.columns import (
    MOVES,
    PP_SCALE,
    SLOTS,
    STAT_SCALE,
    TEAM,
    ActiveColumn,
    ActiveId,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOVE_IDS_START,
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
from sparring.games.pokemon.tracking.tables import parse_condition
from sparring.games.pokemon.tracking.view import View

_STATS = (
    ("atk", int(PokemonColumn.STAT_ATK)),
    ("def", int(PokemonColumn.STAT_DEF)),
    ("spa", int(PokemonColumn.STAT_SPA)),
    ("spd", int(PokemonColumn.STAT_SPD)),
    ("spe", int(PokemonColumn.STAT_SPE)),
)
_RARE = ("details", "baseAbility", "moves", "stats", "teraType")
_FIRST_ASKED, _END_ASKED = int(ActiveColumn.MUST_SWITCH), int(ActiveColumn.REVIVING) + 1
_NOTHING_ASKED = array("f", bytes(4 * (_END_ASKED - _FIRST_ASKED)))
_MOVE_WIDTH = len(MoveColumn)
_GIMMICKS = (
    ("trapped", int(ActiveColumn.TRAPPED)),
    ("maybeTrapped", int(ActiveColumn.MAYBE_TRAPPED)),
    ("canMegaEvo", int(ActiveColumn.CAN_MEGA)),
    ("canMegaEvoX", int(ActiveColumn.CAN_MEGA)),
    ("canMegaEvoY", int(ActiveColumn.CAN_MEGA)),
    ("canUltraBurst", int(ActiveColumn.CAN_MEGA)),
    ("canZMove", int(ActiveColumn.CAN_Z)),
    ("canDynamax", int(ActiveColumn.CAN_DYNAMAX)),
    ("canTerastallize", int(ActiveColumn.CAN_TERA)),
)
# Plain integers where most lines pass: members of an enum cost more to reach.
_A_COMMANDING = int(ActiveColumn.COMMANDING)
_A_MIMIC = int(ActiveColumn.MIMIC)
_A_MUST_SWITCH = int(ActiveColumn.MUST_SWITCH)
_A_REVIVING = int(ActiveColumn.REVIVING)
_A_TRANSFORMED = int(ActiveColumn.TRANSFORMED)
_AI_ABILITY = int(ActiveId.ABILITY)
_AI_SPECIES = int(ActiveId.SPECIES)
_F_FORCED = int(FieldColumn.FORCED)
_F_PREVIEW = int(FieldColumn.PREVIEW)
_M_DISABLED = int(MoveColumn.DISABLED)
_M_KNOWN = int(MoveColumn.KNOWN)
_M_MAX_PP = int(MoveColumn.MAX_PP)
_M_PP = int(MoveColumn.PP)
_P_ABILITY_KNOWN = int(PokemonColumn.ABILITY_KNOWN)
_P_ABSENT = int(PokemonColumn.ABSENT)
_P_ACTIVE = int(PokemonColumn.ACTIVE)
_P_FAINTED = int(PokemonColumn.FAINTED)
_P_ITEM_HELD = int(PokemonColumn.ITEM_HELD)
_P_ITEM_KNOWN = int(PokemonColumn.ITEM_KNOWN)
_P_KNOWN = int(PokemonColumn.KNOWN)
_P_MAX_HP = int(PokemonColumn.MAX_HP)
_P_SEEN = int(PokemonColumn.SEEN)
_P_SLEEP_TURNS = int(PokemonColumn.SLEEP_TURNS)
_P_TOXIC_TURNS = int(PokemonColumn.TOXIC_TURNS)
_PI_ABILITY = int(PokemonId.ABILITY)
_PI_ITEM = int(PokemonId.ITEM)
_PI_SPECIES = int(PokemonId.SPECIES)
_PI_TERA_TYPE = int(PokemonId.TERA_TYPE)
_S_TEAM_SIZE = int(SideColumn.TEAM_SIZE)


def apply_request(view: View, request: dict[str, Any]) -> None:
    """Writes a parsed `|request|` into the view. The lines that came with it must have been read before."""
    team: list[dict[str, Any]] = request["side"]["pokemon"][:TEAM]
    order = _order(view, team)
    preview = "teamPreview" in request
    wrong = [
        place
        for place, entry in enumerate(team[:SLOTS])
        if entry["active"] and view.active[place] != order[place] and not preview
    ]
    for place in wrong:
        if view.active[place] >= 0:
            _undo_disguise(view, place, order[place])
    for row, entry in zip(order, team, strict=True):
        if entry != view.entries[row]:
            _write_entry(view, row, entry)
    for place in wrong:
        _correct_place(view, place, order[place])
    if view.requests == 0:
        view.floats[SIDE_START[0] + _S_TEAM_SIZE] = len(team) / TEAM
        view.count_fainted(0, 0)
    view.requests += 1
    field = view.floats
    forced = request.get("forceSwitch")
    field[FIELD + _F_PREVIEW] = float(preview)
    field[FIELD + _F_FORCED] = float(forced is not None)
    if preview:
        return
    actives = request.get("active") or ()
    for place in range(SLOTS):
        start = PLACE_START[place]
        field[start + _FIRST_ASKED : start + _END_ASKED] = _NOTHING_ASKED
        if place >= len(team):
            continue
        entry = team[place]
        if not entry["active"]:
            continue
        if forced is not None and place < len(forced):
            field[start + _A_MUST_SWITCH] = float(forced[place])
        if not view.ids[PLACE_IDS_START[place]]:
            continue
        if "ability" in entry:
            view.ids[PLACE_IDS_START[place] + _AI_ABILITY] = view.tables.dex.abilities[entry["ability"]]
        field[start + _A_COMMANDING] = float(bool(entry.get("commanding")))
        field[start + _A_REVIVING] = float(bool(entry.get("reviving")))
        asked = actives[place] if place < len(actives) else None
        _write_moves(view, place, entry["moves"], asked)
        if asked:
            _write_asked(view, start, asked)
            view.locked[place] = (
                bool(asked.get("trapped")) and len(asked["moves"]) == 1 and "pp" not in asked["moves"][0]
            )


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
                if row not in view.team_order and view.floats[start + _P_KNOWN]:
                    view.floats[start + _P_ABSENT] = 1.0
    return view.team_order


def _match(view: View, names: list[str], team: list[dict[str, Any]]) -> list[int]:
    """Rows by name; where Pokémon share one, by what the last request said of them."""
    order: list[int] = []
    for name, entry in zip(names, team, strict=True):
        free = [row for row in range(TEAM) if row not in order]
        same = [row for row in free if view.names[row] == name]
        if not same:
            same = [row for row in free if not view.names[row]]
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
    floats, ids, dex = view.floats, view.ids, view.tables.dex
    start, numbers = POKEMON_START[row], POKEMON_IDS_START[row]
    condition = entry["condition"]
    view.set_condition(row, condition)
    fraction, most, _ = parse_condition(condition)
    if most:
        floats[start + _P_MAX_HP] = most / STAT_SCALE
    floats[start + _P_FAINTED] = float(fraction == 0.0)
    item = dex.items[entry["item"]]
    if ids[numbers + _PI_ITEM] != item or not floats[start + _P_ITEM_KNOWN]:
        if item:
            view.reveal_item(row, item)
        else:
            ids[numbers + _PI_ITEM] = 0
            floats[start + _P_ITEM_HELD] = 0.0
        floats[start + _P_ITEM_KNOWN] = 1.0
    if all(before.get(key) == entry.get(key) for key in _RARE):
        return
    if before.get("details") != entry["details"]:
        view.describe(row, entry["details"])
    if view.generation > 2:
        ids[numbers + _PI_ABILITY] = dex.abilities[entry["baseAbility"]]
        floats[start + _P_ABILITY_KNOWN] = 1.0
    if "teraType" in entry:
        ids[numbers + _PI_TERA_TYPE] = dex.types[entry["teraType"]]
    for stat, column in _STATS:
        floats[start + column] = entry["stats"][stat] / STAT_SCALE
    place = view.active.index(row) if row in view.active else -1
    borrowed = place >= 0 and (floats[PLACE_START[place] + _A_TRANSFORMED] or floats[PLACE_START[place] + _A_MIMIC])
    if place >= 0 and before.get("details") != entry["details"]:
        seen = PLACE_IDS_START[place]
        if ids[seen] and not borrowed and ids[seen + _AI_SPECIES] != ids[numbers + _PI_SPECIES]:
            show_identity(view, place)
    if not borrowed:
        for index, name in enumerate(entry["moves"][:MOVES]):
            move = view.tables.move(name)
            if ids[MOVE_IDS_START[row] + index] != move:
                view.write_move(row, index, move)


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
    view.floats[start + _P_SLEEP_TURNS] = slept
    view.floats[start + _P_TOXIC_TURNS] = poisoned


def _correct_place(view: View, place: int, row: int) -> None:
    """The own Pokémon at `place` is another than the lines showed: the own illusion. Effects stay, the name changes."""
    vacate(view, place)
    view.active[place] = row
    if view.floats[POKEMON_START[row] + _P_FAINTED]:
        return
    view.floats[POKEMON_START[row] + _P_ACTIVE] = 1.0
    view.floats[POKEMON_START[row] + _P_SEEN] = 1.0
    show_identity(view, place)
    show_moves(view, place)


def _write_moves(view: View, place: int, names: list[str], asked: dict[str, Any] | None) -> None:
    """The moves of the Pokémon at `place` in the order of its own list: a request for a locked move names only that."""
    floats, ids, tables = view.floats, view.ids, view.tables
    transformed = floats[PLACE_START[place] + _A_TRANSFORMED]
    row = view.active[place]
    at, own = PLACE_MOVES_START[place], MOVES_START[row]
    number_at, own_number = PLACE_MOVE_IDS_START[place], MOVE_IDS_START[row]
    listed = asked["moves"] if asked else None
    whole = listed is not None and len(listed) == len(names) and "pp" in listed[0]
    for index in range(len(names), MOVES):
        ids[number_at + index] = 0
    for index, name in enumerate(names[:MOVES]):
        number = tables.move(name)
        if ids[number_at] != number:
            if transformed:
                borrow_move(view, at, number)
            ids[number_at] = number
            floats[at + _M_KNOWN] = 1.0
        if listed is None:
            pass
        elif whole:
            move = listed[index]
            most = move["maxpp"]
            left = min(1.0, move["pp"] / most) if most else 0.0
            floats[at + _M_PP] = left
            floats[at + _M_MAX_PP] = most / PP_SCALE
            floats[at + _M_DISABLED] = 1.0 if move.get("disabled") else 0.0
            if not transformed:
                if ids[own_number] == number:
                    floats[own + _M_PP] = left
                    floats[own + _M_MAX_PP] = most / PP_SCALE
                elif view.generation == 1:  # what was mimicked shares the PP of Mimic
                    floats[own + _M_PP] = min(1.0, move["pp"] / (floats[own + _M_MAX_PP] * PP_SCALE))
        else:
            open_now = any(tables.move(move["id"]) == number for move in listed)
            floats[at + _M_DISABLED] = float(not open_now and listed[0]["id"] != "fight")
        at += _MOVE_WIDTH
        own += _MOVE_WIDTH
        number_at += 1
        own_number += 1


def _write_asked(view: View, start: int, asked: dict[str, Any]) -> None:
    for key, column in _GIMMICKS:
        if asked.get(key):
            view.floats[start + column] = 1.0
