"""The own team as a request tells it: which Pokémon is in which row, and what each one is."""

from collections.abc import Sequence
from typing import Any

from sparring.core import InputError
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import SLOTS, STAT_SCALE, TEAM
from sparring.games.pokemon.tracking.layout import (
    MOVE_IDS_START,
    PLACE_IDS_START,
    PLACE_START,
    POKEMON_IDS_START,
    POKEMON_START,
)
from sparring.games.pokemon.tracking.places import recall, show_identity, show_moves, vacate
from sparring.games.pokemon.tracking.tables import STATS, OwnSet, parse_condition
from sparring.games.pokemon.tracking.view import View

Entry = dict[str, Any]
"""One Pokémon of `request["side"]["pokemon"]`."""


def write_team(view: View, team: list[Entry], *, preview: bool) -> list[int]:
    """Writes the own team and returns the row of each Pokémon in the request's order, which every switch changes."""
    order, entries, conditions = _order(view, team), view.entries, view.conditions
    wrong = () if preview else _disguised(view, team, order)
    for place in wrong:
        if view.active[place] >= 0:
            _undo_disguise(view, place, order[place])
    for row, entry in zip(order, team, strict=True):
        before = entries[row]
        if entry["condition"] != conditions[row] or (entry is not before and entry != before):
            _write_entry(view, row, entry, before)
    for place in wrong:
        _correct_place(view, place, order[place])
    return order


def _disguised(view: View, team: list[Entry], order: list[int]) -> Sequence[int]:
    """Own places at which the lines showed another Pokémon than the one that stands there."""
    active = view.active
    if active[0] == order[0] and (len(team) == 1 or active[1] == order[1] or not team[1]["active"]):
        return ()
    places = range(min(SLOTS, len(team)))
    return [place for place in places if active[place] != order[place] and team[place]["active"]]


def _order(view: View, team: list[Entry]) -> list[int]:
    """The row of each Pokémon of the request."""
    rows = view.own_rows
    if rows and len(team) == len(rows):
        try:
            return [rows[entry["ident"]] for entry in team]
        except KeyError:
            pass
    if len(team) > TEAM:
        raise InputError(f"a team of {len(team)} Pokémon; at most {TEAM} can be played")
    idents = [entry["ident"] for entry in team]
    names = [ident[4:] for ident in idents]
    if view.requests == 0 and (view.turn <= 1 or not any(view.names[:TEAM])):
        view.rows_by_name[0].clear()
        for row, name in enumerate(names):
            view.name_row(row, name)
        order = list(range(len(team)))
    else:
        order = _match(view, names, team)
        if len(team) < TEAM:
            for row in range(TEAM):
                start = POKEMON_START[row]
                if row not in order and view.floats[start + c.POKEMON_KNOWN]:
                    view.floats[start + c.POKEMON_ABSENT] = 1.0
    view.own_rows = {} if view.shared_names else dict(zip(idents, order, strict=True))
    return order


def _match(view: View, names: list[str], team: list[Entry]) -> list[int]:
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


def _likeness(before: Entry, entry: Entry) -> int:
    """How much of a request's entry is as it was."""
    return sum(before.get(key) == value for key, value in entry.items())


def _write_entry(view: View, row: int, entry: Entry, before: Entry) -> None:
    """One own Pokémon; of what seldom changes between requests only what did."""
    condition = entry["condition"]
    view.entries[row] = entry
    _write_condition(view, row, condition)  # a line that told the same did not write the maximum
    view.conditions[row] = condition
    _write_item(view, row, entry["item"])
    if not before or entry["details"] != before["details"] or not _same_set(before, entry):
        _write_set(view, row, entry, not before or before["details"] != entry["details"])


def _same_set(before: Entry, entry: Entry) -> bool:
    """Whether two entries have the same stats, moves, ability and tera type; mostly they are the very same objects."""
    for key in ("stats", "moves", "baseAbility"):
        if before[key] is not entry[key] and before[key] != entry[key]:
            return False
    return bool(before.get("teraType") == entry.get("teraType"))


def _write_condition(view: View, row: int, condition: str) -> None:
    """HP and status of an own Pokémon."""
    floats, start = view.floats, POKEMON_START[row]
    fraction, most, status = parse_condition(condition)
    floats[start + c.POKEMON_HP] = fraction
    floats[start + c.POKEMON_FAINTED] = 0.0 if fraction else 1.0
    if view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS] != status:
        view.set_status(row, status)
    if most:
        floats[start + c.POKEMON_MAX_HP] = most / STAT_SCALE


def _write_item(view: View, row: int, name: str) -> None:
    """What an own Pokémon holds."""
    floats, ids, start = view.floats, view.ids, POKEMON_START[row]
    item = view.tables.dex.items[name]
    if ids[POKEMON_IDS_START[row] + c.POKEMON_ID_ITEM] != item or not floats[start + c.POKEMON_ITEM_KNOWN]:
        if item:
            view.reveal_item(row, item)
        else:
            ids[POKEMON_IDS_START[row] + c.POKEMON_ID_ITEM] = 0
            floats[start + c.POKEMON_ITEM_HELD] = 0.0
        floats[start + c.POKEMON_ITEM_KNOWN] = 1.0


def _write_set(view: View, row: int, entry: Entry, new_details: bool) -> None:
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
