"""Places on the field: who comes and goes, what it shows there, and what stays known if it never was there."""

from array import array
from typing import Any

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import ACTIVES, MOVES, POKEMON
from sparring.games.pokemon.tracking.effects import PASSED, SINGLE_MOVE
from sparring.games.pokemon.tracking.layout import (
    MOVE_IDS_START,
    MOVES_START,
    MOVES_WIDTH,
    PLACE_IDS_START,
    PLACE_IDS_WIDTH,
    PLACE_MOVE_IDS_START,
    PLACE_MOVES_START,
    PLACE_START,
    PLACE_WIDTH,
    POKEMON_IDS_START,
    POKEMON_IDS_WIDTH,
    POKEMON_START,
    POKEMON_WIDTH,
)
from sparring.games.pokemon.tracking.view import View


def _spans(starts: tuple[int, ...], width: int) -> tuple[slice, ...]:
    return tuple(slice(start, start + width) for start in starts)


_ROW, _ROW_IDS = _spans(POKEMON_START, POKEMON_WIDTH), _spans(POKEMON_IDS_START, POKEMON_IDS_WIDTH)
_ROW_MOVES, _ROW_MOVE_IDS = _spans(MOVES_START, MOVES_WIDTH), _spans(MOVE_IDS_START, MOVES)
_PLACE, _PLACE_IDS = _spans(PLACE_START, PLACE_WIDTH), _spans(PLACE_IDS_START, PLACE_IDS_WIDTH)
_PLACE_MOVES, _PLACE_MOVE_IDS = _spans(PLACE_MOVES_START, MOVES_WIDTH), _spans(PLACE_MOVE_IDS_START, MOVES)
assert len(_ROW) == POKEMON
assert len(_PLACE) == ACTIVES

_NOTHING = array("f", bytes(4 * PLACE_WIDTH))
_NOBODY = array("h", bytes(2 * PLACE_IDS_WIDTH))
_NO_MOVES = array("f", bytes(4 * MOVES_WIDTH))
_NO_MOVE_IDS = array("h", bytes(2 * MOVES))

_WAITING = sorted((*SINGLE_MOVE.values(), c.ACTIVE_RECHARGING, c.ACTIVE_PREPARING))
assert list(range(_WAITING[0], _WAITING[-1] + 1)) == _WAITING, "columns that last until their Pokémon acts lie together"
_UNTIL_IT_ACTS = tuple(slice(start + _WAITING[0], start + _WAITING[-1] + 1) for start in PLACE_START)
_NOTHING_WAITS = array("f", bytes(4 * len(_WAITING)))


# Coming and going.


def clear_place(view: View, place: int) -> None:
    """Nothing stands at `place` and nothing lasts there."""
    floats, ids, start = view.floats, view.ids, PLACE_START[place]
    floats[_PLACE[place]] = _NOTHING
    ids[_PLACE_IDS[place]] = _NOBODY
    ids[_PLACE_MOVE_IDS[place]] = _NO_MOVE_IDS
    floats[_PLACE_MOVES[place]] = _NO_MOVES
    for timed in (view.timers, view.passing_flags):
        if timed:
            for column in [column for column in timed if start <= column < start + PLACE_WIDTH]:
                del timed[column]
    floats[PLACE_START[place ^ 1] + c.ACTIVE_COMMANDING] = 0.0  # its ally has nobody to command
    view.ability_changed[place] = False
    view.locked[place] = False
    view.blocked_by[place] = -1
    if place in view.blocked_by:
        for other, blocker in enumerate(view.blocked_by):
            if blocker == place:
                floats[PLACE_START[other] + c.ACTIVE_BLOCKED] = 0.0
                view.blocked_by[other] = -1
    if view.aims:
        set_aims(view, {aimer: aim for aimer, aim in view.aims.items() if place not in (aimer, aim[0])})


def set_aims(view: View, aims: dict[int, tuple[int, int]]) -> None:
    """From now on these Pokémon have locked on to those, and no others: see `View.aims`."""
    for aimed, _ in view.aims.values():
        view.floats[PLACE_START[aimed] + c.ACTIVE_LOCK_ON] = 0.0
    for aimed, _ in aims.values():
        view.floats[PLACE_START[aimed] + c.ACTIVE_LOCK_ON] = 1.0
    view.aims = aims


def leave(view: View, place: int) -> None:
    """Whoever is at `place` goes back, in its own forme."""
    row = view.active[place]
    if row >= 0:
        vacate(view, place)
        view.floats[POKEMON_START[row] + c.POKEMON_TOXIC_TURNS] = 0.0
        if view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_SPECIES] != view.forme[row]:
            view.set_species(row, view.forme[row])
    clear_place(view, place)


def vacate(view: View, place: int) -> None:
    """Whoever is at `place` is there no more (an illusion beside its model is there twice)."""
    row = view.active[place]
    view.active[place] = -1
    if row >= 0 and row not in view.active:
        view.floats[POKEMON_START[row] + c.POKEMON_ACTIVE] = 0.0


def enter(view: View, place: int, row: int) -> None:
    """A Pokémon comes to `place`, which must be clear."""
    view.active[place] = row
    start, floats = POKEMON_START[row], view.floats
    floats[start + c.POKEMON_ACTIVE] = 1.0
    floats[start + c.POKEMON_SEEN] = 1.0
    floats[PLACE_START[place] + c.ACTIVE_PRESENT] = 1.0
    show_identity(view, place)
    show_moves(view, place)


def switch(view: View, place: int, row: int, *, passing: str) -> None:
    """Whoever is at `place` makes room for `row`; `passing` is what it hands on: "all", "substitute" or ""."""
    if not passing:
        leave(view, place)
        enter(view, place, row)
        return
    floats, timers, passing_flags = view.floats, view.timers, view.passing_flags
    kept: list[tuple[int, float, float | None, int | None]] = []
    start = PLACE_START[place]
    for column in PASSED if passing == "all" else (c.ACTIVE_SUBSTITUTE,):
        value = floats[start + column]
        if value or start + column in timers:
            kept.append((start + column, value, timers.get(start + column), passing_flags.get(start + column)))
    handed = passing == "all" and view.generation < 5  # before generation 5, what holds another is handed on as well
    blocked = view.blocked_by.copy() if handed else []
    aim = view.aims.get(place) if handed else None
    leave(view, place)
    enter(view, place, row)
    for other, blocker in enumerate(blocked):
        if blocker >= 0 and place in (other, blocker):
            view.blocked_by[other] = blocker
            floats[PLACE_START[other] + c.ACTIVE_BLOCKED] = 1.0
    if aim is not None:
        set_aims(view, view.aims | {place: aim})
    for index, value, step, turns in kept:
        floats[index] = value
        if step is not None:
            timers[index] = step
        if turns is not None:
            passing_flags[index] = turns


def swap(view: View, first: int) -> None:
    """The two Pokémon of a side change places, `first` being the left one, with everything that lasts on them."""
    second = first + 1
    for numbers, spans in (
        (view.floats, _PLACE),
        (view.floats, _PLACE_MOVES),
        (view.ids, _PLACE_IDS),
        (view.ids, _PLACE_MOVE_IDS),
    ):
        left, right = numbers[spans[first]], numbers[spans[second]]
        numbers[spans[first]], numbers[spans[second]] = right, left  # type: ignore[assignment]
    by_place: tuple[list[Any], ...] = (
        *(view.active, view.arrivals, view.ability_changed, view.locked),
        view.blocked_by,
    )
    for one in by_place:
        one[first], one[second] = one[second], one[first]
    moved = {first: second, second: first}
    view.blocked_by = [moved.get(place, place) for place in view.blocked_by]
    view.aims = {moved.get(one, one): (moved.get(aimed, aimed), turns) for one, (aimed, turns) in view.aims.items()}
    view.mover, view.target = moved.get(view.mover, view.mover), moved.get(view.target, view.target)
    view.passing, view.promised = moved.get(view.passing, view.passing), moved.get(view.promised, view.promised)
    left_start, right_start, end = PLACE_START[first], PLACE_START[second], PLACE_START[second] + PLACE_WIDTH

    def column_now(column: int) -> int:
        if not left_start <= column < end:
            return column
        return column + PLACE_WIDTH if column < right_start else column - PLACE_WIDTH

    view.timers = {column_now(column): step for column, step in view.timers.items()}
    view.passing_flags = {column_now(column): turns for column, turns in view.passing_flags.items()}


def act(view: View, place: int) -> None:
    """The Pokémon at `place` acts or tries to: what waited for that is over."""
    view.floats[PLACE_START[place] + c.ACTIVE_FLINCH_RISK] = 0.0
    if any(view.floats[_UNTIL_IT_ACTS[place]]):
        view.floats[_UNTIL_IT_ACTS[place]] = _NOTHING_WAITS
        view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_PREPARED_MOVE] = 0


# What is seen there.


def show_moves(view: View, place: int) -> None:
    """Copies the list of the Pokémon at `place` to the place's own."""
    row = view.active[place]
    view.ids[_PLACE_MOVE_IDS[place]] = view.ids[_ROW_MOVE_IDS[row]]
    view.floats[_PLACE_MOVES[place]] = view.floats[_ROW_MOVES[row]]


def show_identity(view: View, place: int) -> None:
    """Copies species, ability and types of the Pokémon at `place` to the place."""
    row = view.active[place]
    theirs, ours, ids = POKEMON_IDS_START[row], PLACE_IDS_START[place], view.ids
    ids[ours + c.ACTIVE_ID_POKEMON] = row + 1
    ids[ours + c.ACTIVE_ID_SPECIES] = ids[theirs + c.POKEMON_ID_SPECIES]
    ids[ours + c.ACTIVE_ID_ABILITY] = ids[theirs + c.POKEMON_ID_ABILITY]
    show_types(view, place)


def show_types(view: View, place: int) -> None:
    """Types that count at `place`: those of the species there, or the tera type."""
    row = view.active[place]
    ours, ids, floats = PLACE_IDS_START[place], view.ids, view.floats
    first, second = view.tables.types[ids[ours + c.ACTIVE_ID_SPECIES]]
    if floats[POKEMON_START[row] + c.POKEMON_TERASTALLIZED]:
        tera = ids[POKEMON_IDS_START[row] + c.POKEMON_ID_TERA_TYPE]
        if tera and view.tables.dex.types.ids[tera] != "stellar":
            first, second = tera, 0
    ids[ours + c.ACTIVE_ID_TYPE_1] = first
    ids[ours + c.ACTIVE_ID_TYPE_2] = second
    ids[ours + c.ACTIVE_ID_TYPE_3] = 0
    floats[PLACE_START[place] + c.ACTIVE_TYPES_CHANGED] = 0.0


# Who may not have been there.


def remember(view: View, place: int, row: int) -> None:
    """Keeps what is known of `row` before it shows itself at `place`."""
    floats, ids = view.floats, view.ids
    view.arrivals[place] = (
        floats[_ROW[row]],
        ids[_ROW_IDS[row]],
        floats[_ROW_MOVES[row]],
        ids[_ROW_MOVE_IDS[row]],
    )


def recall(view: View, place: int, row: int) -> None:
    """Gives `row` back what `remember` kept: it never was at `place`."""
    kept = view.arrivals[place]
    if kept is None:
        return
    floats, ids, start = view.floats, view.ids, POKEMON_START[row]
    columns, numbers, move_columns, move_numbers = kept
    view.looks[row] = ""
    # Its looks are real even if it was not there: an illusion copies a teammate.
    looks = [
        (column, floats[start + column])
        for column in (c.POKEMON_KNOWN, c.POKEMON_LEVEL, c.POKEMON_MALE, c.POKEMON_FEMALE)
    ]
    floats[_ROW[row]] = columns
    ids[_ROW_IDS[row]] = numbers
    if not columns[c.POKEMON_KNOWN]:
        for column, value in looks:
            floats[start + column] = value
        floats[start + c.POKEMON_HP] = 1.0
        view.set_species(row, view.forme[row])
    floats[_ROW_MOVES[row]] = move_columns
    ids[_ROW_MOVE_IDS[row]] = move_numbers
