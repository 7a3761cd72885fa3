"""What a request says: the own team exactly as it is, and what the own active Pokémon may do."""

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
from sparring.games.pokemon.tracking.tables import parse_condition
from sparring.games.pokemon.tracking.view import FIELD, View

_STATS = (
    ("atk", int(PokemonColumn.STAT_ATK)),
    ("def", int(PokemonColumn.STAT_DEF)),
    ("spa", int(PokemonColumn.STAT_SPA)),
    ("spd", int(PokemonColumn.STAT_SPD)),
    ("spe", int(PokemonColumn.STAT_SPE)),
)
_ASKED = range(ActiveColumn.MUST_SWITCH, ActiveColumn.REVIVING + 1)


def apply_request(view: View, request: dict[str, Any]) -> None:
    """Writes a parsed `|request|` into the view. The lines that came with it must have been read before."""
    team: list[dict[str, Any]] = request["side"]["pokemon"][:TEAM]
    order = _order(view, team)
    for row, entry in zip(order, team, strict=True):
        _write_entry(view, row, entry)
    if view.requests == 0:
        view.floats[view.side_columns(0) + SideColumn.TEAM_SIZE] = len(team) / TEAM
        view.count_fainted(0, 0)
    view.requests += 1
    field = view.floats
    forced = request.get("forceSwitch")
    field[FIELD + FieldColumn.PREVIEW] = float("teamPreview" in request)
    field[FIELD + FieldColumn.FORCED] = float(forced is not None)
    if "teamPreview" in request:
        return
    actives = request.get("active") or ()
    for place in range(SLOTS):
        start = view.place_columns(place)
        for column in _ASKED:
            field[start + column] = 0.0
        if place >= len(team):
            continue
        entry, row = team[place], order[place]
        if not entry["active"]:
            continue
        if forced is not None and place < len(forced):
            field[start + ActiveColumn.MUST_SWITCH] = float(forced[place])
        if view.active[place] != row:
            _correct_place(view, place, row)
        if not view.ids[view.place_ids(place)]:
            continue
        if "ability" in entry:
            view.ids[view.place_ids(place) + ActiveId.ABILITY] = view.tables.dex.abilities[entry["ability"]]
        field[start + ActiveColumn.COMMANDING] = float(bool(entry.get("commanding")))
        field[start + ActiveColumn.REVIVING] = float(bool(entry.get("reviving")))
        asked = actives[place] if place < len(actives) else None
        _write_moves(view, place, entry["moves"], asked)
        if asked:
            _write_asked(view, start, asked)


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
                start = view.pokemon(row)
                if row not in view.team_order and view.floats[start + PokemonColumn.KNOWN]:
                    view.floats[start + PokemonColumn.ABSENT] = 1.0
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
            facts = _facts(entry)
            same.sort(key=lambda row: sum(a == b for a, b in zip(view.entries[row], facts, strict=False)), reverse=True)
        order.append(same[0])
    return order


def _facts(entry: dict[str, Any]) -> tuple[object, ...]:
    return (
        entry["details"],
        entry["condition"],
        entry["item"],
        entry["baseAbility"],
        tuple(entry["moves"]),
        entry.get("teraType"),
        tuple(entry["stats"].values()),
    )


def _write_entry(view: View, row: int, entry: dict[str, Any]) -> None:
    """One own Pokémon; what cannot change between requests is written only when they differ."""
    facts = _facts(entry)
    before = view.entries[row]
    view.entries[row] = facts
    floats, ids, dex = view.floats, view.ids, view.tables.dex
    start, numbers = view.pokemon(row), view.pokemon_ids(row)
    condition = entry["condition"]
    view.set_condition(row, condition)
    fraction, most, _ = parse_condition(condition)
    if most:
        floats[start + PokemonColumn.MAX_HP] = most / STAT_SCALE
    floats[start + PokemonColumn.FAINTED] = float(fraction == 0.0)
    item = dex.items[entry["item"]]
    if ids[numbers + PokemonId.ITEM] != item or not floats[start + PokemonColumn.ITEM_KNOWN]:
        if item:
            view.reveal_item(row, item)
        else:
            ids[numbers + PokemonId.ITEM] = 0
            floats[start + PokemonColumn.ITEM_HELD] = 0.0
        floats[start + PokemonColumn.ITEM_KNOWN] = 1.0
    if before and before[0] == facts[0] and before[3:] == facts[3:]:
        return
    if not before or before[0] != facts[0]:
        view.describe(row, entry["details"])
    ids[numbers + PokemonId.ABILITY] = dex.abilities[entry["baseAbility"]]
    floats[start + PokemonColumn.ABILITY_KNOWN] = 1.0
    if "teraType" in entry:
        ids[numbers + PokemonId.TERA_TYPE] = dex.types[entry["teraType"]]
    for stat, column in _STATS:
        floats[start + column] = entry["stats"][stat] / STAT_SCALE
    place = view.active.index(row) if row in view.active else -1
    borrowed = place >= 0 and (
        floats[view.place_columns(place) + ActiveColumn.TRANSFORMED]
        or floats[view.place_columns(place) + ActiveColumn.MIMIC]
    )
    if not borrowed:
        for index, name in enumerate(entry["moves"][:MOVES]):
            move = view.tables.move(name)
            if ids[view.move_ids(row) + index] != move:
                view.write_move(row, index, move)


def _correct_place(view: View, place: int, row: int) -> None:
    """The own Pokémon at `place` is another than the lines showed: the own illusion. Effects stay, the name changes."""
    seeming = view.active[place]
    if seeming >= 0:
        view.floats[view.pokemon(seeming) + PokemonColumn.ACTIVE] = 0.0
    view.active[place] = row
    if view.floats[view.pokemon(row) + PokemonColumn.FAINTED]:
        return
    view.floats[view.pokemon(row) + PokemonColumn.ACTIVE] = 1.0
    view.floats[view.pokemon(row) + PokemonColumn.SEEN] = 1.0
    view.show_identity(place)
    view.show_moves(place)


def _write_moves(view: View, place: int, names: list[str], asked: dict[str, Any] | None) -> None:
    """The moves of the Pokémon at `place` in the order of its own list: a request for a locked move names only that."""
    floats, ids, tables = view.floats, view.ids, view.tables
    width = len(MoveColumn)
    start, numbers = view.place_moves(place), view.place_move_ids(place)
    borrowed = (
        floats[view.place_columns(place) + ActiveColumn.TRANSFORMED]
        or floats[view.place_columns(place) + ActiveColumn.MIMIC]
    )
    own = view.moves(view.active[place])
    listed = asked["moves"] if asked else None
    whole = listed is not None and len(listed) == len(names) and "pp" in listed[0]
    for index, name in enumerate(names[:MOVES]):
        at = start + index * width
        ids[numbers + index] = tables.move(name)
        floats[at + MoveColumn.KNOWN] = 1.0
        if whole and listed is not None:
            move = listed[index]
            most = move["maxpp"]
            floats[at + MoveColumn.PP] = move["pp"] / most if most else 0.0
            floats[at + MoveColumn.MAX_PP] = most / PP_SCALE
            floats[at + MoveColumn.DISABLED] = float(bool(move.get("disabled")))
            if not borrowed:
                floats[own + index * width + MoveColumn.PP] = floats[at + MoveColumn.PP]
                floats[own + index * width + MoveColumn.MAX_PP] = floats[at + MoveColumn.MAX_PP]
        elif listed is not None:
            open_now = any(tables.move(move["id"]) == ids[numbers + index] for move in listed)
            floats[at + MoveColumn.DISABLED] = float(not open_now and listed[0]["id"] != "fight")


def _write_asked(view: View, start: int, asked: dict[str, Any]) -> None:
    floats = view.floats
    floats[start + ActiveColumn.TRAPPED] = float(bool(asked.get("trapped")))
    floats[start + ActiveColumn.MAYBE_TRAPPED] = float(bool(asked.get("maybeTrapped")))
    mega = asked.get("canMegaEvo") or asked.get("canMegaEvoX") or asked.get("canMegaEvoY") or asked.get("canUltraBurst")
    floats[start + ActiveColumn.CAN_MEGA] = float(bool(mega))
    floats[start + ActiveColumn.CAN_Z] = float(bool(asked.get("canZMove")))
    floats[start + ActiveColumn.CAN_DYNAMAX] = float(bool(asked.get("canDynamax")))
    floats[start + ActiveColumn.CAN_TERA] = float(bool(asked.get("canTerastallize")))
