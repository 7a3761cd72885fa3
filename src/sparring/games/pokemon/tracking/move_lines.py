"""Lines about moves: which a Pokémon has shown, what they cost, what they leave waiting."""

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, PP_SCALE, SLOTS
from sparring.games.pokemon.dex import TARGETS
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOST_TURNS,
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
    TURN,
)
from sparring.games.pokemon.tracking.places import act
from sparring.games.pokemon.tracking.sources import Handler, reveal, tags
from sparring.games.pokemon.tracking.tables import effect_id
from sparring.games.pokemon.tracking.view import View

_SPREAD = frozenset(TARGETS.index(name) for name in ("allAdjacent", "allAdjacentFoes", "all"))
_EVERYONE = TARGETS.index("all")
_NO_PRESSURE = frozenset(
    TARGETS.index(name) for name in ("self", "allies", "allySide", "allyTeam", "foeSide", "adjacentAlly")
)
_ABILITY = tuple(start + c.ACTIVE_ID_ABILITY for start in PLACE_IDS_START)
_RECHARGING = tuple(start + c.ACTIVE_RECHARGING for start in PLACE_START)
_TURNED_BACK = frozenset({"ability: Magic Bounce", "move: Magic Coat", "move: Snatch"})
"""What makes a Pokémon use a foe's move on the foe's turn to act, not on its own."""
_DESYNC = "In Gen 1, if both players would see the same Pokémon using different moves"
"""How the hint starts that the next move is not the one that its Pokémon was told, be it another Pokémon's."""


def on_move(view: View, parts: list[str]) -> None:
    """`|move|p1a: Rex|Crunch|p2a: Ann|[from] move: Sleep Talk`."""
    place = view.standing(parts[2])
    if place < 0:
        return
    desynced, view.desynced = view.desynced, False
    view.mover = place
    view.promised = -1
    view.stolen = 0
    view.target = view.place(parts[4]) if len(parts) > 4 else -1
    tables, ids, at = view.tables, view.ids, PLACE_IDS_START[place]
    name = parts[3]
    move = view.used = tables.move(name)
    source = ""
    if len(parts) > 5:
        source, _ = tags(parts, 5)
        if source.startswith("ability: "):
            reveal(view, source, view.active[place])
    if view.dancing == place and not source:  # its dance fails, and the line does not say whose it was
        source = "ability: Dancer"
    view.dancing = -1
    locked = not source.startswith("ability: ") and (
        view.locked[place] or source == "lockedmove" or ids[at + c.ACTIVE_ID_PREPARED_MOVE] == move
    )
    if source not in _TURNED_BACK:
        act(view, place)
    if move in tables.side_guards and view.generation > 5 and "[still]" not in parts:
        stall(view, place)
    if view.generation == 1 and move in tables.binding:  # whether it hits or not
        view.floats[_RECHARGING[place ^ SLOTS]] = 0.0
    if source and not locked and tables.move(effect_id(source)) != move:
        _call(view, place, move, source, parts)
        return
    ids[at + c.ACTIVE_ID_LAST_MOVE] = move
    if move in tables.slot_effects:
        _promise(view, place, move)
    elif move in tables.passing:
        view.passing = place
        view.shedding = name == "Shed Tail"
    called = source == "lockedmove" and _listed(view, PLACE_MOVE_IDS_START[place], move) < 0  # Copycat's rampage
    if move not in tables.borrowed and not called and not desynced:
        if view.generation == 1:
            locked = _spent_otherwise_in_generation_1(view, place, move, source)
        caught = bool(source) and view.generation == 4  # there Pursuit pays nothing to the Pressure of who leaves
        pressed = 0 if caught else _pressure(view, place, move, parts)
        _learn(view, place, move, 0 if locked else 1 + pressed)


def stall(view: View, place: int) -> None:
    """The Pokémon at `place` has protected itself: doing so again, by the end of the next turn, works less often."""
    count = PLACE_START[place] + c.ACTIVE_PROTECT_TURNS
    view.floats[count] = min(MOST_TURNS, view.floats[count] + TURN)
    view.passing_flags[count] = 2


def _promise(view: View, place: int, move: int) -> None:
    """Wish heals whoever is at `place` next turn, Healing Wish and Lunar Dance whoever comes there next."""
    side = SIDE_START[place // SLOTS]
    if move == view.tables.dex.moves["wish"]:
        wish = side + c.SIDE_WISH_LEFT + place % SLOTS
        if not view.floats[wish]:
            view.floats[wish] = 1.0
            view.timers[wish] = -0.5
    else:
        view.promised = place


def _call(view: View, place: int, move: int, source: str, parts: list[str]) -> None:
    """A move that another one (or an ability) called. Pressure makes the calling move pay."""
    if effect_id(source) == "sleeptalk":
        _learn(view, place, move, 0)
    caller = 0 if source.startswith(("ability: ", "item: ")) else view.tables.move(effect_id(source))
    if caller:
        extra = _pressure(view, place, move, parts)
        if extra:
            _learn(view, place, caller, extra)


def _spent_otherwise_in_generation_1(view: View, place: int, move: int, source: str) -> bool:
    """Generation 1 takes PP on the second turn of two, and marks what goes on by itself as its own source."""
    if move in view.tables.two_turn:
        return not source
    return bool(source)


def _learn(view: View, place: int, move: int, spent: int) -> None:
    """The Pokémon at `place` has shown a move of its list and used `spent` PP of it."""
    ids, floats = view.ids, view.floats
    start, columns = PLACE_MOVE_IDS_START[place], PLACE_START[place]
    transformed, mimicking = floats[columns + c.ACTIVE_TRANSFORMED], floats[columns + c.ACTIVE_MIMIC]
    row = view.active[place]
    if transformed or mimicking:
        index = _listed(view, start, move)
        if transformed and index < 0 and 0 in ids[start : start + MOVES]:
            index = ids[start : start + MOVES].index(0)
            ids[start + index] = move
            borrow_move(view, PLACE_MOVES_START[place] + index * MOVE_WIDTH, move)
        if index >= 0 and (transformed or ids[MOVE_IDS_START[row] + index] != ids[start + index]):
            at = PLACE_MOVES_START[place] + index * MOVE_WIDTH
            floats[at + c.MOVE_REVEALED] = 1.0
            if view.generation == 1 and not transformed:  # what was mimicked shares the PP of Mimic
                own = MOVES_START[row] + index * MOVE_WIDTH
                view.spend_pp(own, spent)
                left, most = view.pp_left(own), floats[at + c.MOVE_MAX_PP] * PP_SCALE
                floats[at + c.MOVE_PP] = left / most if left < most else 1.0
            else:
                view.spend_pp(at, spent)
            return
        if transformed:
            return
    first = MOVE_IDS_START[row]
    listed = ids[first : first + MOVES].tolist()
    index = listed.index(move) if move in listed else view.learn_move(row, move)
    if index < 0:
        return
    at = MOVES_START[row] + index * MOVE_WIDTH
    floats[at + c.MOVE_REVEALED] = 1.0
    if spent:
        view.spend_pp(at, spent)
    ids[start + index] = ids[first + index]
    seen = PLACE_MOVES_START[place] + index * MOVE_WIDTH
    floats[seen : seen + MOVE_WIDTH] = floats[at : at + MOVE_WIDTH]


def _listed(view: View, start: int, move: int) -> int:
    """Index of a move in the list of four at `start`, whatever the type of Hidden Power; -1 if it is not there."""
    listed = view.ids[start : start + MOVES].tolist()
    if move in listed:
        return listed.index(move)
    if move in view.tables.hidden_powers:
        return next((index for index, other in enumerate(listed) if other in view.tables.hidden_powers), -1)
    return -1


def _pressure(view: View, place: int, move: int, parts: list[str]) -> int:
    """PP that a foe's Pressure costs on top. A move that fails at once hides its target, plain only in singles."""
    kind, first = view.tables.move_targets[move], (1 - place // SLOTS) * SLOTS
    ids, pressure = view.ids, view.tables.pressure
    pressing = ids[_ABILITY[first]] == pressure or ids[_ABILITY[first + 1]] == pressure
    if (not pressing and (view.generation > 4 or kind != _EVERYONE)) or view.floats[FIELD + c.FIELD_NEUTRALIZING_GAS]:
        return 0
    target = parts[4] if len(parts) > 4 else ""
    if move in view.tables.must_pressure and "[notarget]" in parts:  # aimed at an ally that fainted
        return 0
    if move in view.tables.must_pressure or kind in _SPREAD:
        aimed = [first, first + 1]
    elif kind in _NO_PRESSURE:
        return 0
    elif target and not target.startswith("["):
        aimed = [view.standing(target)]
    elif "[notarget]" in parts or view.floats[FIELD + c.FIELD_DOUBLES]:
        return 0
    else:
        aimed = [first]
    extra = 0
    for other in aimed:
        if other < 0 or other // SLOTS == place // SLOTS:
            continue
        place_ids, row = PLACE_IDS_START[other], view.active[other]
        ability = view.ids[place_ids + c.ACTIVE_ID_ABILITY]
        if view.generation < 5 and kind == _EVERYONE and not view.ids[place_ids] and row >= 0:
            # Before generation 5 it presses even from the ground on what concerns the whole field.
            ability = view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_ABILITY]
        if ability == view.tables.pressure and not view.floats[PLACE_START[other] + c.ACTIVE_ABILITY_SUPPRESSED]:
            extra += 1
    return extra


def on_cant(view: View, parts: list[str]) -> None:
    """`|cant|p1a: Rex|slp`, `|cant|p1a: Rex|Disable|Crunch`; `|cant|p1a: Rex|ability: Damp|Explosion|[of] p2a: Ann`
    is of what Ann did, and Rex forbade."""
    place = view.standing(parts[2])
    if place < 0:
        return
    reason = parts[3]
    forbade = bool(tags(parts, 4)[1])
    # In generation 1 other reasons only put off a second turn.
    if not forbade and (view.generation > 1 or reason in ("par", "recharge")):
        act(view, place)
    elif reason == "flinch":
        view.floats[_RECHARGING[place]] = 0.0
    if reason == "slp":
        slept = POKEMON_START[view.active[place]] + c.POKEMON_SLEEP_TURNS
        view.floats[slept] = min(MOST_TURNS, view.floats[slept] + TURN)
    elif reason.startswith(("ability: ", "item: ")):
        reveal(view, reason, view.active[place])


def on_hint(view: View, parts: list[str]) -> None:
    """`|-hint|In Gen 1, if both players ...`: the Desync Clause."""
    if len(parts) > 2 and parts[2].startswith(_DESYNC):
        view.desynced = True


def on_prepare(view: View, parts: list[str]) -> None:
    """`|-prepare|p1a: Rex|Fly`: the first turn of two."""
    place = view.standing(parts[2])
    if place >= 0 and "[premajor]" not in parts:
        view.floats[PLACE_START[place] + c.ACTIVE_PREPARING] = 1.0
        view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_PREPARED_MOVE] = view.tables.move(parts[3])


def on_anim(view: View, parts: list[str]) -> None:
    """`|-anim|p1a: Rex|Solar Beam|p2a: Ann`: a prepared move that did not have to wait."""
    place = view.standing(parts[2])
    if place >= 0:
        view.floats[PLACE_START[place] + c.ACTIVE_PREPARING] = 0.0
        view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_PREPARED_MOVE] = 0


def on_mustrecharge(view: View, parts: list[str]) -> None:
    """`|-mustrecharge|p1a: Rex`."""
    place = view.standing(parts[2])
    if place >= 0:
        view.floats[PLACE_START[place] + c.ACTIVE_RECHARGING] = 1.0


def borrow_move(view: View, start: int, move: int) -> None:
    """Columns of a move that a Pokémon has by Transform until it leaves: 5 PP of it."""
    left = min(5, view.tables.base_pp[move])
    write_borrowed(view, start, move, left, left if view.generation >= 5 else view.tables.max_pp[move])


def write_borrowed(view: View, start: int, move: int, left: int, most: int) -> None:
    """Columns of a move that a Pokémon has only until it leaves."""
    view.floats[start + c.MOVE_KNOWN] = 1.0 if move else 0.0
    view.floats[start + c.MOVE_PP] = min(1.0, left / most) if most else 0.0
    view.floats[start + c.MOVE_MAX_PP] = most / PP_SCALE
    view.floats[start + c.MOVE_REVEALED] = 0.0
    view.floats[start + c.MOVE_DISABLED] = 0.0


HANDLERS: dict[str, Handler] = {
    "move": on_move,
    "cant": on_cant,
    "-hint": on_hint,
    "-prepare": on_prepare,
    "-anim": on_anim,
    "-mustrecharge": on_mustrecharge,
}
"""Handlers by kind of line."""
