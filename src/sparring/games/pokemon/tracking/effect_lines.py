"""Lines about what lasts on a Pokémon: volatile effects, and what they do to moves, types and abilities."""

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, SLOTS
from sparring.games.pokemon.tracking.effects import (
    BINDING,
    COUNTED,
    ELAPSED,
    SIDE_GUARDS,
    SIDE_SINGLE_TURN,
    SINGLE_MOVE,
    SINGLE_TURN,
    SINGLE_TURN_UNSEEN,
    STALLING,
    VOLATILES,
)
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOVE_WIDTH,
    MOVES_START,
    PLACE_IDS_START,
    PLACE_MOVE_IDS_START,
    PLACE_MOVES_START,
    PLACE_START,
    SIDE_START,
    TURN,
)
from sparring.games.pokemon.tracking.move_lines import stall, write_borrowed
from sparring.games.pokemon.tracking.places import set_aims, show_types
from sparring.games.pokemon.tracking.sources import Handler, reveal, tags
from sparring.games.pokemon.tracking.tables import effect_id
from sparring.games.pokemon.tracking.view import View

_PARADOX = range(c.ACTIVE_PARADOX_ATK, c.ACTIVE_PARADOX_SPE + 1)
_FUTURE = {"futuresight", "doomdesire"}
_FUTURE_TURNS = 3
_PERISH_TURNS = {f"perish{turns}": turns for turns in range(4)}


def on_start(view: View, parts: list[str]) -> None:
    """`|-start|p1a: Rex|move: Taunt`."""
    place = view.standing(parts[2])
    if place < 0:
        return
    effect = effect_id(parts[3])
    start = PLACE_START[place]
    source = other = ""
    if len(parts) > 4:
        source, other = tags(parts, 4)
        reveal(view, source, view.row(other or parts[2]))
    column = VOLATILES.get(effect)
    if column is not None:
        _start_volatile(view, place, column, parts)
    elif effect in COUNTED:
        counted, value = COUNTED[effect]
        view.floats[start + counted] = value
    elif effect.startswith("perish"):
        turns = _PERISH_TURNS[effect]
        view.floats[start + c.ACTIVE_PERISH] = 1.0
        view.floats[start + c.ACTIVE_PERISH_TURNS] = turns * TURN
    elif effect == "typechange":
        _change_types(view, place, parts[4], other)
    elif effect == "typeadd":
        view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_TYPE_3] = view.tables.dex.types[parts[4]]
    elif effect in _FUTURE:
        _foresee(view, place)
    else:
        view.unknown[f"-start: {effect}"] += 1


def _start_volatile(view: View, place: int, column: int, parts: list[str]) -> None:
    start, ids = PLACE_START[place], PLACE_IDS_START[place]
    before = view.floats[start + column]
    view.floats[start + column] = 1.0
    elapsed = ELAPSED.get(column)
    if elapsed is not None and not before:
        view.start_timer(start + elapsed, 0, 1)
    if column == c.ACTIVE_DISABLE:
        view.ids[ids + c.ACTIVE_ID_DISABLED_MOVE] = view.tables.move(parts[4])
    elif column == c.ACTIVE_ENCORE:
        view.ids[ids + c.ACTIVE_ID_ENCORED_MOVE] = view.ids[ids + c.ACTIVE_ID_LAST_MOVE]
    elif column == c.ACTIVE_CHI_STRIKE:
        view.floats[start + column] = min(1.0, before + 1 / 3)
    elif column == c.ACTIVE_MIMIC:
        _mimic(view, place, parts[4])
    elif column == c.ACTIVE_DYNAMAXED:
        view.start_timer(start + c.ACTIVE_DYNAMAX_TURNS, 3, -1)
        view.floats[SIDE_START[place // SLOTS] + c.SIDE_DYNAMAX_USED] = 1.0


def _mimic(view: View, place: int, name: str) -> None:
    """Mimic's place in the list holds another move until its user leaves."""
    view.floats[PLACE_START[place] + c.ACTIVE_MIMIC] = 1.0
    start = PLACE_MOVE_IDS_START[place]
    mimic = view.tables.dex.moves["mimic"]
    move = view.tables.move(name)
    most = view.tables.max_pp[move]
    for index in range(MOVES):
        if view.ids[start + index] == mimic:
            at = PLACE_MOVES_START[place] + index * MOVE_WIDTH
            left = view.pp_left(at)
            if view.generation > 1:
                left = min(5, view.tables.base_pp[move])
            if view.generation > 4:
                left = most = view.tables.base_pp[move]
            view.ids[start + index] = move
            write_borrowed(view, at, move, left, most)


def _change_types(view: View, place: int, types: str, other: str) -> None:
    ids = PLACE_IDS_START[place]
    if types.startswith("[from]"):  # Reflect Type names the one whose types are taken
        seen = view.standing(other)
        if seen >= 0:
            for number in (c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2, c.ACTIVE_ID_TYPE_3):
                view.ids[ids + number] = view.ids[PLACE_IDS_START[seen] + number]
    else:
        names = types.split("/")
        numbers = [view.tables.dex.types[name] for name in names][:3]
        for index, type_number in enumerate([*numbers, 0, 0][:3]):
            view.ids[ids + c.ACTIVE_ID_TYPE_1 + index] = type_number
    view.floats[PLACE_START[place] + c.ACTIVE_TYPES_CHANGED] = 1.0


def _foresee(view: View, place: int) -> None:
    """Future Sight of the Pokémon at `place` will strike the place it was aimed at."""
    aimed = view.target if view.target >= 0 and view.target // SLOTS != place // SLOTS else (1 - place // SLOTS) * SLOTS
    flag, turns = _future_columns(view, aimed)
    view.floats[flag] = 1.0
    view.start_timer(turns, _FUTURE_TURNS, -1)


def _future_columns(view: View, place: int) -> tuple[int, int]:
    """Flag and countdown of what will strike `place`."""
    start = SIDE_START[place // SLOTS]
    right = place % SLOTS
    return (
        start + (c.SIDE_FUTURE_SIGHT_RIGHT if right else c.SIDE_FUTURE_SIGHT_LEFT),
        start + (c.SIDE_FUTURE_SIGHT_RIGHT_TURNS if right else c.SIDE_FUTURE_SIGHT_LEFT_TURNS),
    )


def on_end(view: View, parts: list[str]) -> None:
    """`|-end|p1a: Rex|move: Taunt`."""
    effect = effect_id(parts[3])
    if effect in _FUTURE:
        flag, turns = _future_columns(view, view.place(parts[2]))
        view.floats[flag] = 0.0
        view.stop_timer(turns)
        view.striking = True
        return
    if effect == "neutralizinggas":
        view.floats[FIELD + c.FIELD_NEUTRALIZING_GAS] = 0.0
        return
    place = view.standing(parts[2])
    if place < 0:
        return
    start, ids = PLACE_START[place], PLACE_IDS_START[place]
    column = VOLATILES.get(effect)
    if "[partiallytrapped]" in parts or effect in BINDING:
        column = c.ACTIVE_OCTOLOCK if effect == "octolock" else c.ACTIVE_BOUND
    if column is not None:
        view.floats[start + column] = 0.0
        elapsed = ELAPSED.get(column)
        if elapsed is not None:
            view.stop_timer(start + elapsed)
        if column == c.ACTIVE_DISABLE:
            view.ids[ids + c.ACTIVE_ID_DISABLED_MOVE] = 0
        elif column == c.ACTIVE_ENCORE:
            view.ids[ids + c.ACTIVE_ID_ENCORED_MOVE] = 0
        elif column == c.ACTIVE_DYNAMAXED:
            view.stop_timer(start + c.ACTIVE_DYNAMAX_TURNS)
    elif effect in ("protosynthesis", "quarkdrive"):
        for paradox in _PARADOX:
            view.floats[start + paradox] = 0.0
    elif effect.startswith("fallen"):
        view.floats[start + c.ACTIVE_FALLEN] = 0.0
    elif effect == "typechange":
        show_types(view, place)
    elif effect.startswith("perish"):
        view.floats[start + c.ACTIVE_PERISH] = 0.0
        view.floats[start + c.ACTIVE_PERISH_TURNS] = 0.0
    elif effect not in ("illusion", "typeadd"):
        view.unknown[f"-end: {effect}"] += 1


def on_singleturn(view: View, parts: list[str]) -> None:
    """`|-singleturn|p1a: Rex|Protect`."""
    place = view.standing(parts[2])
    if place < 0:
        return
    effect = effect_id(parts[3])
    if effect in SINGLE_TURN:
        index = PLACE_START[place] + SINGLE_TURN[effect]
    elif effect in SIDE_SINGLE_TURN:
        index = SIDE_START[place // SLOTS] + SIDE_SINGLE_TURN[effect]
    else:
        if effect not in SINGLE_TURN_UNSEEN:
            view.unknown[f"-singleturn: {effect}"] += 1
        return
    view.floats[index] = 1.0
    view.passing_flags[index] = 1
    if effect in STALLING or (effect in SIDE_GUARDS and view.generation == 5):
        stall(view, place)


def on_singlemove(view: View, parts: list[str]) -> None:
    """`|-singlemove|p1a: Rex|Destiny Bond`."""
    place = view.standing(parts[2])
    column = SINGLE_MOVE.get(effect_id(parts[3]))
    if column is None:
        view.unknown[f"-singlemove: {effect_id(parts[3])}"] += 1
    elif place >= 0:
        view.floats[PLACE_START[place] + column] = 1.0


def on_activate(view: View, parts: list[str]) -> None:
    """`|-activate|p1a: Rex|move: Wrap|[of] p2a: Ann`: mostly news; some bind, drain PP or show an ability."""
    text = parts[3] if len(parts) > 3 else ""
    place = view.standing(parts[2]) if parts[2] else -1
    if place < 0:
        return
    effect = effect_id(text)
    if text.startswith("ability: "):
        if effect == "dancer":
            view.dancing = place
        elif effect == "commander":
            view.floats[PLACE_START[place] + c.ACTIVE_COMMANDING] = 1.0
        _activate_ability(view, place, effect, parts)
        return
    if text.startswith("item: "):
        _activate_item(view, place, effect, parts)
        return
    start = PLACE_START[place]
    if effect == "feint" or "[broken]" in parts:
        _break_protection(view, place)
    elif effect in BINDING:
        view.floats[start + c.ACTIVE_BOUND] = 1.0
        view.start_timer(start + c.ACTIVE_BOUND_TURNS, 0, 1)
    elif effect == "trapped":
        view.floats[start + c.ACTIVE_BLOCKED] = 1.0
        view.blocked_by[place] = view.target if view.mover == place else view.mover
    elif effect in ("lockon", "mindreader"):
        _, other = tags(parts, 4)
        aimed = view.standing(other)
        if aimed >= 0:
            set_aims(view, view.aims | {place: (aimed, 2)})
    elif effect == "mimic":
        _mimic(view, place, parts[4])
    elif effect == "skillswap":
        _swap_abilities(view, place, parts)
    elif effect in ("spite", "eeriespell", "gmaxdepletion") and len(parts) > 5:
        _drain(view, place, view.tables.move(parts[4]), int(parts[5]))
    elif effect == "grudge" and len(parts) > 4:
        _drain(view, place, view.tables.move(parts[4]), 64)


def _break_protection(view: View, place: int) -> None:
    """A move has lifted what protects the Pokémon at `place`: its next protecting move counts as the first."""
    view.floats[PLACE_START[place] + c.ACTIVE_PROTECTED] = 0.0
    view.floats[SIDE_START[place // SLOTS] + c.SIDE_SIDE_PROTECTED] = 0.0
    if view.generation > 5:
        view.floats[PLACE_START[place] + c.ACTIVE_PROTECT_TURNS] = 0.0


def _activate_ability(view: View, place: int, effect: str, parts: list[str]) -> None:
    _, other = tags(parts, 4)
    ability = view.tables.dex.abilities[effect]
    view.reveal_ability(view.active[place], ability)
    if effect in ("mummy", "lingeringaroma", "wanderingspirit"):
        touched = view.standing(other or (parts[4] if len(parts) > 4 else ""))
        named = next((part[10:] for part in parts[4:] if part.startswith("[ability] ")), "")
        if not named and len(parts) > 4 and view.place(parts[4]) < 0:
            named = parts[4]
        if touched >= 0:
            view.reveal_ability(view.active[touched], view.tables.dex.abilities[named])
            view.change_ability(touched, ability)
            if effect == "wanderingspirit":
                view.change_ability(place, view.tables.dex.abilities[named])
    elif effect == "symbiosis":
        view.lose_item(view.active[place], view.tables.dex.items[parts[4]])
        view.reveal_item(view.row(other), view.tables.dex.items[parts[4]])


def _activate_item(view: View, place: int, effect: str, parts: list[str]) -> None:
    item = view.tables.dex.items[effect]
    if "[consumed]" in parts:
        view.lose_item(view.active[place], item)
    else:
        view.reveal_item(view.active[place], item)
    if effect in ("leppaberry", "mysteryberry") and len(parts) > 4:
        _drain(view, place, view.tables.move(parts[4]), -10 if effect == "leppaberry" else -5)


def _swap_abilities(view: View, place: int, parts: list[str]) -> None:
    """`|-activate|p1a: Rex|Skill Swap|TARGET'S|USER'S|[of] p2a: Ann`; names are left out between allies."""
    _, other = tags(parts, 4)
    partner = view.standing(other)
    if partner < 0:
        return
    abilities = view.tables.dex.abilities
    named = [part for part in parts[4:6] if part and not part.startswith("[")]
    ours, theirs = PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY, PLACE_IDS_START[partner] + c.ACTIVE_ID_ABILITY
    if len(named) == 2:
        taken, given = (abilities[name.removeprefix("ability: ")] for name in named)
        view.reveal_ability(view.active[partner], taken)
        view.reveal_ability(view.active[place], given)
    else:
        taken, given = view.ids[theirs], view.ids[ours]
    view.change_ability(place, taken)
    view.change_ability(partner, given)


def _drain(view: View, place: int, move: int, amount: int) -> None:
    """Takes PP of a move from the Pokémon at `place` (gives, if negative)."""
    start = PLACE_MOVE_IDS_START[place]
    for index in range(MOVES):
        if view.ids[start + index] == move:
            view.spend_pp(PLACE_MOVES_START[place] + index * MOVE_WIDTH, amount)
    if not view.floats[PLACE_START[place] + c.ACTIVE_TRANSFORMED]:
        row = view.active[place]
        index = view.learn_move(row, move)
        if index >= 0:
            view.spend_pp(MOVES_START[row] + index * MOVE_WIDTH, amount)


HANDLERS: dict[str, Handler] = {
    "-start": on_start,
    "-end": on_end,
    "-singleturn": on_singleturn,
    "-singlemove": on_singlemove,
    "-activate": on_activate,
}
"""Handlers by kind of line."""
