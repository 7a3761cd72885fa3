"""Lines about who is there: team preview and sheets, switches, illusions that end, faints, places that are swapped."""

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM
from sparring.games.pokemon.tracking.layout import (
    MOVE_IDS_START,
    MOVE_WIDTH,
    MOVES_START,
    POKEMON_IDS_START,
    POKEMON_START,
    SIDE_START,
)
from sparring.games.pokemon.tracking.places import (
    clear_place,
    recall,
    remember,
    show_identity,
    show_moves,
    swap,
    switch,
    vacate,
)
from sparring.games.pokemon.tracking.sources import Handler
from sparring.games.pokemon.tracking.tables import parse_condition, parse_sheet
from sparring.games.pokemon.tracking.view import View

# Before the battle.


def on_poke(view: View, parts: list[str]) -> None:
    """`|poke|p1|Garchomp, L50, F|item`: team preview, in the order of the team."""
    side = view.sides[parts[2]]
    for row in range(side * TEAM, side * TEAM + TEAM):
        start = POKEMON_START[row]
        if not view.floats[start + c.POKEMON_KNOWN]:
            view.describe(row, parts[3])
            if len(parts) > 4 and parts[4] == "item":
                view.floats[start + c.POKEMON_ITEM_HELD] = 1.0
            size = SIDE_START[side] + c.SIDE_TEAM_SIZE
            view.floats[size] = max(view.floats[size], (row - side * TEAM + 1) / TEAM)
            view.count_fainted(side, 0)
            return


def on_teamsize(view: View, parts: list[str]) -> None:
    """`|teamsize|p1|4`: how many are brought, said again after team preview."""
    side = view.sides[parts[2]]
    size = int(parts[3])
    if not 0 <= size <= TEAM:
        raise ValueError(f"a team of {size}")
    view.floats[SIDE_START[side] + c.SIDE_TEAM_SIZE] = size / TEAM
    view.count_fainted(side, 0)


def on_teampreview(view: View, parts: list[str]) -> None:
    """`|teampreview|4`: how many each side will bring; servers do not always say it again when the battle starts."""
    if len(parts) > 2 and parts[2]:
        picked = int(parts[2])
        if not 1 <= picked <= TEAM:
            raise ValueError(f"{picked} of a team are brought")
        view.picked = picked


def on_start(view: View, parts: list[str]) -> None:
    """`|start`: the rest of the teams has been left at home."""
    for side, start in enumerate(SIDE_START):
        if view.picked:
            size = start + c.SIDE_TEAM_SIZE
            view.floats[size] = min(view.floats[size], view.picked / TEAM)
            view.count_fainted(side, 0)


def on_showteam(view: View, parts: list[str]) -> None:
    """`|showteam|p1|PACKED`: open team sheets. The own team is known better from requests."""
    side = view.sides[parts[2]]
    if side == 0 and view.requests:
        return
    dex = view.tables.dex
    for species, item, ability, moves, tera in parse_sheet("|".join(parts[3:])):
        number = dex.species[species]
        rows = range(side * TEAM, side * TEAM + TEAM)
        base = view.tables.base_species
        row = next((row for row in rows if view.forme[row] == number), -1)
        if row < 0:
            row = next((row for row in rows if base[view.forme[row]] == base[number]), -1)
        if row < 0:
            view.unknown[f"showteam: {species}"] += 1
            continue
        view.reveal_ability(row, dex.abilities[ability])
        if item:
            view.reveal_item(row, dex.items[item])
        else:
            view.floats[POKEMON_START[row] + c.POKEMON_ITEM_KNOWN] = 1.0
        for move in moves:
            view.learn_move(row, view.tables.move(move))
        view.sheets.add(row)
        view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_TERA_TYPE] = dex.types[tera]


# Coming and going.


def on_switch(view: View, parts: list[str]) -> None:
    """`|switch|p1a: Rex|Tyranitar, M|100/100|[from] Baton Pass`, and `drag`."""
    ident = parts[2]
    fraction, _, status = parse_condition(parts[4])  # first: nothing is written of a line that ends in nonsense
    place = view.places.get(ident[:3], -1)
    if place < 0:
        return
    side = place // SLOTS
    row = view.find_row(side, ident[5:], parts[3])
    if view.generation > 4:  # since when it may be an illusion
        remember(view, place, row)
    passing = ""
    if view.passing == place and parts[1] == "switch":
        passing = "substitute" if view.shedding else "all"
    view.passing = -1
    floats, start = view.floats, POKEMON_START[row]
    if side == 1 or not view.requests:
        view.describe(row, parts[3])
    else:  # the own looks may be an illusion: the next request tells
        view.conditions[row] = ""
    floats[start + c.POKEMON_HP] = fraction
    floats[start + c.POKEMON_FAINTED] = 0.0  # if it was marked so, only an illusion had gone down
    if view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS] != status:
        view.set_status(row, status)
    floats[start + c.POKEMON_TOXIC_TURNS] = 0.0
    if view.generation == 5:  # sleep starts over
        floats[start + c.POKEMON_SLEEP_TURNS] = 0.0
    switch(view, place, row, passing=passing)
    if view.generation < 8:  # Healing Wish does not wait for someone who needs it
        floats[SIDE_START[side] + c.SIDE_HEAL_NEXT_LEFT + place % SLOTS] = 0.0
    if side == 1:
        _absent(view)


def _absent(view: View) -> None:
    """Marks the foes that stayed at home, once as many as were brought have been seen."""
    size = round(view.floats[SIDE_START[1] + c.SIDE_TEAM_SIZE] * TEAM)
    if size == TEAM:
        return
    starts = [POKEMON_START[row] for row in range(TEAM, 2 * TEAM)]
    seen = sum(view.floats[start + c.POKEMON_SEEN] for start in starts)
    if size and seen >= size:
        for start in starts:
            if view.floats[start + c.POKEMON_KNOWN] and not view.floats[start + c.POKEMON_SEEN]:
                view.floats[start + c.POKEMON_ABSENT] = 1.0


def on_replace(view: View, parts: list[str]) -> None:
    """`|replace|p2a: Zoroark|Zoroark, M`: an illusion ended; what was learned belongs to another Pokémon."""
    place = view.place(parts[2])
    if place < 0 or view.active[place] < 0:
        return
    side = place // SLOTS
    seeming = view.active[place]
    row = view.find_row(side, parts[2][5:], parts[3])
    view.describe(row, parts[3])
    if row == seeming:
        return
    kept = view.arrivals[place]
    ids, floats = view.ids, view.floats
    down = floats[POKEMON_START[seeming] + c.POKEMON_FAINTED]
    if down and view.active.count(seeming) > 1:  # the model, which stood beside it
        down = 0.0
    elif kept is not None and (side == 1 or not view.requests):
        ours, theirs = POKEMON_START[row], POKEMON_START[seeming]
        for column in (c.POKEMON_HP, c.POKEMON_FAINTED, c.POKEMON_SLEEP_TURNS, c.POKEMON_TOXIC_TURNS):
            floats[ours + column] = floats[theirs + column]
        ids[POKEMON_IDS_START[row] + c.POKEMON_ID_STATUS] = ids[POKEMON_IDS_START[seeming] + c.POKEMON_ID_STATUS]
        for index in range(MOVES):
            move = ids[MOVE_IDS_START[seeming] + index]
            if move and move not in kept[3]:
                learned = view.learn_move(row, move)
                if learned >= 0:
                    used = MOVES_START[seeming] + index * MOVE_WIDTH
                    floats[MOVES_START[row] + learned * MOVE_WIDTH + c.MOVE_PP] = floats[used + c.MOVE_PP]
        recall(view, place, seeming)
    elif kept is not None:  # the own model was not there; the rest the next request tells
        floats[POKEMON_START[seeming] + c.POKEMON_SEEN] = kept[0][c.POKEMON_SEEN]
    vacate(view, place)
    view.active[place] = row
    floats[POKEMON_START[row] + c.POKEMON_SEEN] = 1.0
    if not down:
        floats[POKEMON_START[row] + c.POKEMON_ACTIVE] = 1.0
        show_identity(view, place)
        show_moves(view, place)


def on_faint(view: View, parts: list[str]) -> None:
    """`|faint|p1a: Rex`."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.faint(row)
    place = view.place(parts[2])
    if place >= 0:
        clear_place(view, place)
        if view.promised == place:
            heal = SIDE_START[place // SLOTS] + c.SIDE_HEAL_NEXT_LEFT + place % SLOTS
            view.floats[heal] = 1.0
            if view.generation < 8:  # it does not wait for ever
                view.passing_flags[heal] = 1 if view.generation < 5 else 2
            view.promised = -1


def on_swap(view: View, parts: list[str]) -> None:
    """`|swap|p1a: Rex|1`: two allies change places."""
    place = view.place(parts[2])
    if place >= 0:
        swap(view, place // SLOTS * SLOTS)


HANDLERS: dict[str, Handler] = {
    "poke": on_poke,
    "teamsize": on_teamsize,
    "teampreview": on_teampreview,
    "start": on_start,
    "showteam": on_showteam,
    "switch": on_switch,
    "drag": on_switch,
    "replace": on_replace,
    "faint": on_faint,
    "swap": on_swap,
}
"""Handlers by kind of line."""
