"""Lines about what lasts on a side or the whole field, and the turns it all takes."""

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import ACTIVES
from sparring.games.pokemon.tracking.effects import (
    EXTENDED,
    ROOMS,
    SIDE_LAYERS,
    SIDE_TIMED,
    SWAPPED_BY_COURT_CHANGE,
    TERRAINS,
    WEATHERS,
)
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    PLACE_IDS_START,
    PLACE_START,
    POKEMON_IDS_START,
    POKEMON_START,
    SIDE_START,
    TURN,
)
from sparring.games.pokemon.tracking.places import set_aims
from sparring.games.pokemon.tracking.sources import Handler, reveal, tags
from sparring.games.pokemon.tracking.tables import effect_id
from sparring.games.pokemon.tracking.view import View

_STRIKES = {
    SIDE_START[side] + column
    for side in (0, 1)
    for column in (c.SIDE_FUTURE_SIGHT_LEFT_TURNS, c.SIDE_FUTURE_SIGHT_RIGHT_TURNS)
}
_TURNS_ON_THE_FIELD = tuple(
    (PLACE_IDS_START[place] + c.ACTIVE_ID_POKEMON, PLACE_START[place] + c.ACTIVE_ACTIVE_TURNS)
    for place in range(ACTIVES)
)
_LAST_TURN = 100_000


# A side.


def on_sidestart(view: View, parts: list[str]) -> None:
    """`|-sidestart|p1: Player|move: Stealth Rock`."""
    side = view.sides.get(parts[2][:2])
    effect = effect_id(parts[3])
    if side is None:
        return
    start = SIDE_START[side]
    layered = SIDE_LAYERS.get(effect)
    if layered is not None:
        column, most = layered
        view.floats[start + column] = min(1.0, view.floats[start + column] + 1 / most)
        return
    timed = SIDE_TIMED.get(effect)
    if timed is None:
        view.unknown[f"-sidestart: {effect}"] += 1
        return
    flag, turns, span, item = timed
    if effect == "tailwind" and view.generation < 5:
        span = 3
    view.floats[start + flag] = 1.0
    _count_down(view, start + turns, span, item, view.mover)


def _count_down(view: View, column: int, span: int, item: str, setter: int) -> None:
    """Starts a countdown of `span` turns, EXTENDED if the setter at that place is known to hold `item`."""
    held = known = 0.0
    uncounted = int(view.striking)  # what starts while a turn ends is not counted at that end
    if item and setter >= 0 and view.active[setter] >= 0:
        row = view.active[setter]
        known = view.floats[POKEMON_START[row] + c.POKEMON_ITEM_KNOWN]
        held = view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_ITEM] == view.tables.dex.items[item]
    if item and held:
        view.start_timer(column, EXTENDED + uncounted, -1)
    else:
        view.start_timer(column, span + uncounted, -1, longer=0.0 if known or not item else EXTENDED - span)


def on_sideend(view: View, parts: list[str]) -> None:
    """`|-sideend|p1: Player|Reflect`."""
    side = view.sides.get(parts[2][:2])
    effect = effect_id(parts[3])
    if side is None:
        return
    start = SIDE_START[side]
    if effect in SIDE_LAYERS:
        view.floats[start + SIDE_LAYERS[effect][0]] = 0.0
    elif effect in SIDE_TIMED:
        view.floats[start + SIDE_TIMED[effect][0]] = 0.0
        view.stop_timer(start + SIDE_TIMED[effect][1])
    else:
        view.unknown[f"-sideend: {effect}"] += 1


def on_swapsideconditions(view: View, parts: list[str]) -> None:
    """`|-swapsideconditions`: Court Change."""
    ours, theirs = SIDE_START[0], SIDE_START[1]
    for column in dict.fromkeys(SWAPPED_BY_COURT_CHANGE):
        one, other = ours + column, theirs + column
        view.floats[one], view.floats[other] = view.floats[other], view.floats[one]
        for table in (view.timers, view.longer):
            first, second = table.pop(one, None), table.pop(other, None)
            if second is not None:
                table[one] = second
            if first is not None:
                table[other] = first


# The field.


def on_weather(view: View, parts: list[str]) -> None:
    """`|-weather|RainDance|[from] ability: Drizzle|[of] p1a: Rex`, every turn with `[upkeep]`, `none` at its end."""
    if len(parts) > 3 and parts[3] == "[upkeep]":
        return
    for index in range(FIELD + c.FIELD_SUN, FIELD + c.FIELD_STRONG_WINDS + 1):
        view.floats[index] = 0.0
    turns = FIELD + c.FIELD_WEATHER_TURNS
    view.stop_timer(turns)
    effect = effect_id(parts[2])
    if effect == "none":
        return
    weather = WEATHERS.get(effect)
    if weather is None:
        view.unknown[f"-weather: {effect}"] += 1
        return
    column, span, item = weather
    view.floats[FIELD + column] = 1.0
    source, other = tags(parts, 3)
    by_ability = source.startswith("ability: ")
    reveal(view, source, view.row(other))
    if span and not (by_ability and view.generation < 6):
        _count_down(view, turns, span, item, view.place(other) if other else view.mover)


def on_fieldstart(view: View, parts: list[str]) -> None:
    """`|-fieldstart|move: Trick Room|[of] p1a: Rex`."""
    effect = effect_id(parts[2])
    source, other = tags(parts, 3)
    reveal(view, source, view.row(other))
    if effect in TERRAINS:
        for column in TERRAINS.values():
            view.floats[FIELD + column] = 0.0
        view.floats[FIELD + TERRAINS[effect]] = 1.0
        setter = view.place(other) if other else view.mover
        _count_down(view, FIELD + c.FIELD_TERRAIN_TURNS, 5, "terrainextender", setter)
    elif effect in ROOMS:
        flag, turns = ROOMS[effect]
        view.floats[FIELD + flag] = 1.0
        view.start_timer(FIELD + turns, 5, -1)
    else:
        view.unknown[f"-fieldstart: {effect}"] += 1


def on_fieldend(view: View, parts: list[str]) -> None:
    """`|-fieldend|move: Trick Room`."""
    effect = effect_id(parts[2])
    if effect in TERRAINS:
        view.floats[FIELD + TERRAINS[effect]] = 0.0
        view.stop_timer(FIELD + c.FIELD_TERRAIN_TURNS)
    elif effect in ROOMS:
        flag, turns = ROOMS[effect]
        view.floats[FIELD + flag] = 0.0
        view.stop_timer(FIELD + turns)
    else:
        view.unknown[f"-fieldend: {effect}"] += 1


def on_fieldactivate(view: View, parts: list[str]) -> None:
    """`|-fieldactivate|move: Perish Song`: news, but for Fairy Lock, which holds everyone through the next turn."""
    if effect_id(parts[2]) == "fairylock":
        view.floats[FIELD + c.FIELD_FAIRY_LOCK] = 1.0
        view.timers[FIELD + c.FIELD_FAIRY_LOCK] = -0.5


# Time.


def on_upkeep(view: View, parts: list[str]) -> None:
    """`|upkeep`: the turn's end has been worked out, and everything that lasts has come one turn further."""
    floats, ids = view.floats, view.ids
    view.striking = False
    if view.timers:
        _run_timers(view)
    if view.passing_flags:
        for index, turns in list(view.passing_flags.items()):
            if turns > 1:
                view.passing_flags[index] = turns - 1
            else:
                floats[index] = 0.0
                del view.passing_flags[index]
    if view.aims:
        set_aims(view, {aimer: (aimed, turns - 1) for aimer, (aimed, turns) in view.aims.items() if turns > 1})
    for row in view.active:
        if row >= 0 and ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS] == c.STATUS_TOXIC:
            index = POKEMON_START[row] + c.POKEMON_TOXIC_TURNS
            floats[index] = min(15 * TURN, floats[index] + TURN)


def _run_timers(view: View) -> None:
    floats = view.floats
    for column, step in list(view.timers.items()):
        value = max(0.0, floats[column] + step)
        if value < TURN / 2 and step < 0:
            value = view.longer.pop(column, 0.0)
            if not value:
                del view.timers[column]
                if column in _STRIKES:  # struck, or nobody stood there
                    floats[column - 1] = 0.0
        floats[column] = min(1.0, value)


def on_turn(view: View, parts: list[str]) -> None:
    """`|turn|7`."""
    turn = int(parts[2])
    if not 0 <= turn <= _LAST_TURN:
        raise ValueError(f"turn {turn}")
    view.turn = turn
    view.floats[FIELD + c.FIELD_TURN] = min(1.0, view.turn / 100)
    view.passing = -1
    view.desynced = False
    ids, floats = view.ids, view.floats
    for standing, turns in _TURNS_ON_THE_FIELD:
        if ids[standing] and floats[turns] < 1.0:
            floats[turns] += TURN


def on_gametype(view: View, parts: list[str]) -> None:
    """`|gametype|doubles`."""
    view.floats[FIELD + c.FIELD_DOUBLES] = float(parts[2] == "doubles")


def on_win(view: View, parts: list[str]) -> None:
    """`|win|Player`, and `tie`."""
    view.ended = True
    view.winner = parts[2] if parts[1] == "win" else None


HANDLERS: dict[str, Handler] = {
    "-sidestart": on_sidestart,
    "-sideend": on_sideend,
    "-swapsideconditions": on_swapsideconditions,
    "-weather": on_weather,
    "-fieldstart": on_fieldstart,
    "-fieldend": on_fieldend,
    "-fieldactivate": on_fieldactivate,
    "upkeep": on_upkeep,
    "turn": on_turn,
    "gametype": on_gametype,
    "win": on_win,
    "tie": on_win,
}
"""Handlers by kind of line."""
