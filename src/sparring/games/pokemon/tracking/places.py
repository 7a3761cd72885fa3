"""Places on the field: who comes and goes, what it shows there, and what stays known if it never was there."""

from array import array

from sparring.games.pokemon.columns import (
    ACTIVES,
    MOVES,
    POKEMON,
    ActiveColumn,
    ActiveId,
    PokemonColumn,
    PokemonId,
)
from sparring.games.pokemon.tracking.effects import PASSED
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
# Plain integers where most lines pass: members of an enum cost more to reach.
_PASSED = tuple(int(column) for column in PASSED)
_A_BLOCKED = int(ActiveColumn.BLOCKED)
_A_PRESENT = int(ActiveColumn.PRESENT)
_A_SUBSTITUTE = int(ActiveColumn.SUBSTITUTE)
_A_TYPES_CHANGED = int(ActiveColumn.TYPES_CHANGED)
_AI_ABILITY = int(ActiveId.ABILITY)
_AI_POKEMON = int(ActiveId.POKEMON)
_AI_SPECIES = int(ActiveId.SPECIES)
_AI_TYPE_1 = int(ActiveId.TYPE_1)
_AI_TYPE_2 = int(ActiveId.TYPE_2)
_AI_TYPE_3 = int(ActiveId.TYPE_3)
_P_ACTIVE = int(PokemonColumn.ACTIVE)
_P_FEMALE = int(PokemonColumn.FEMALE)
_P_HP = int(PokemonColumn.HP)
_P_KNOWN = int(PokemonColumn.KNOWN)
_P_LEVEL = int(PokemonColumn.LEVEL)
_P_MALE = int(PokemonColumn.MALE)
_P_SEEN = int(PokemonColumn.SEEN)
_P_TERASTALLIZED = int(PokemonColumn.TERASTALLIZED)
_P_TOXIC_TURNS = int(PokemonColumn.TOXIC_TURNS)
_PI_ABILITY = int(PokemonId.ABILITY)
_PI_SPECIES = int(PokemonId.SPECIES)
_PI_TERA_TYPE = int(PokemonId.TERA_TYPE)


# Coming and going.


def clear_place(view: View, place: int) -> None:
    """Nothing stands at `place` and nothing lasts there."""
    floats, ids, timers, blocked_by = view.floats, view.ids, view.timers, view.blocked_by
    floats[_PLACE[place]] = _NOTHING
    ids[_PLACE_IDS[place]] = _NOBODY
    ids[_PLACE_MOVE_IDS[place]] = _NO_MOVE_IDS
    floats[_PLACE_MOVES[place]] = _NO_MOVES
    if timers:
        start = PLACE_START[place]
        end = start + PLACE_WIDTH
        for column in [column for column in timers if start <= column < end]:
            del timers[column]
    view.ability_changed[place] = False
    view.locked[place] = False
    blocked_by[place] = -1
    if place in blocked_by:
        for other, blocker in enumerate(blocked_by):
            if blocker == place:
                floats[PLACE_START[other] + _A_BLOCKED] = 0.0
                blocked_by[other] = -1


def leave(view: View, place: int) -> None:
    """Whoever is at `place` goes back, in its own forme."""
    row = view.active[place]
    if row >= 0:
        vacate(view, place)
        view.floats[POKEMON_START[row] + _P_TOXIC_TURNS] = 0.0
        if view.ids[POKEMON_IDS_START[row] + _PI_SPECIES] != view.forme[row]:
            view.set_species(row, view.forme[row])
    clear_place(view, place)


def vacate(view: View, place: int) -> None:
    """Whoever is at `place` is there no more (an illusion beside its model is there twice)."""
    row = view.active[place]
    view.active[place] = -1
    if row >= 0 and row not in view.active:
        view.floats[POKEMON_START[row] + _P_ACTIVE] = 0.0


def enter(view: View, place: int, row: int) -> None:
    """A Pokémon comes to `place`, which must be clear."""
    view.active[place] = row
    start, floats = POKEMON_START[row], view.floats
    floats[start + _P_ACTIVE] = 1.0
    floats[start + _P_SEEN] = 1.0
    floats[PLACE_START[place] + _A_PRESENT] = 1.0
    show_identity(view, place)
    show_moves(view, place)


def switch(view: View, place: int, row: int, *, passing: str) -> None:
    """Whoever is at `place` makes room for `row`; `passing` is what it hands on: "all", "substitute" or ""."""
    if not passing:
        leave(view, place)
        enter(view, place, row)
        return
    floats, timers = view.floats, view.timers
    kept: list[tuple[int, float, float | None]] = []
    start = PLACE_START[place]
    for column in _PASSED if passing == "all" else (_A_SUBSTITUTE,):
        value = floats[start + column]
        if value or start + column in timers:
            kept.append((start + column, value, timers.get(start + column)))
    blocked = view.blocked_by.copy() if passing == "all" and view.generation < 5 else []
    leave(view, place)
    enter(view, place, row)
    for other, blocker in enumerate(blocked):  # before generation 5, blocking is handed on as well
        if blocker >= 0 and place in (other, blocker):
            view.blocked_by[other] = blocker
            floats[PLACE_START[other] + _A_BLOCKED] = 1.0
    for index, value, step in kept:
        floats[index] = value
        if step is not None:
            timers[index] = step


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
    ids[ours + _AI_POKEMON] = row + 1
    ids[ours + _AI_SPECIES] = ids[theirs + _PI_SPECIES]
    ids[ours + _AI_ABILITY] = ids[theirs + _PI_ABILITY]
    show_types(view, place)


def show_types(view: View, place: int) -> None:
    """Types that count at `place`: those of the species there, or the tera type."""
    row = view.active[place]
    ours, ids, floats = PLACE_IDS_START[place], view.ids, view.floats
    first, second = view.tables.types[ids[ours + _AI_SPECIES]]
    if floats[POKEMON_START[row] + _P_TERASTALLIZED]:
        tera = ids[POKEMON_IDS_START[row] + _PI_TERA_TYPE]
        if tera and view.tables.dex.types.ids[tera] != "stellar":
            first, second = tera, 0
    ids[ours + _AI_TYPE_1] = first
    ids[ours + _AI_TYPE_2] = second
    ids[ours + _AI_TYPE_3] = 0
    floats[PLACE_START[place] + _A_TYPES_CHANGED] = 0.0


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
    # Its looks are real even if it was not there: an illusion copies a teammate.
    looks = [(column, floats[start + column]) for column in (_P_KNOWN, _P_LEVEL, _P_MALE, _P_FEMALE)]
    floats[_ROW[row]] = columns
    ids[_ROW_IDS[row]] = numbers
    if not columns[_P_KNOWN]:
        for column, value in looks:
            floats[start + column] = value
        floats[start + _P_HP] = 1.0
        view.set_species(row, view.forme[row])
    floats[_ROW_MOVES[row]] = move_columns
    ids[_ROW_MOVE_IDS[row]] = move_numbers
