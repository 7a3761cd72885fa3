"""Lines about a Pokémon itself: who comes and goes, HP, status, boosts, formes, abilities, items, moves.

Every handler takes the view and the line split at `|` (`["", kind, ...]`) and writes what the line says.
"""

from collections.abc import Callable

from sparring.games.pokemon.columns import (
    BOOST_SCALE,
    MOVES,
    PP_SCALE,
    SLOTS,
    TEAM,
    ActiveColumn,
    ActiveId,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.dex import TARGETS
from sparring.games.pokemon.tracking.effects import SINGLE_MOVE
from sparring.games.pokemon.tracking.tables import STATUSES, effect_id, parse_condition, parse_sheet
from sparring.games.pokemon.tracking.view import FIELD, TURN, View

Handler = Callable[[View, list[str]], None]

BOOSTS: dict[str, int] = {
    "atk": ActiveColumn.BOOST_ATK,
    "def": ActiveColumn.BOOST_DEF,
    "spa": ActiveColumn.BOOST_SPA,
    "spd": ActiveColumn.BOOST_SPD,
    "spe": ActiveColumn.BOOST_SPE,
    "accuracy": ActiveColumn.BOOST_ACCURACY,
    "evasion": ActiveColumn.BOOST_EVASION,
}
"""Boost columns by Showdown stat."""

_FIRST_BOOST, _END_BOOST = int(ActiveColumn.BOOST_ATK), int(ActiveColumn.BOOST_EVASION) + 1
_SPREAD = frozenset(TARGETS.index(name) for name in ("allAdjacent", "allAdjacentFoes", "all"))
_NO_PRESSURE = frozenset(
    TARGETS.index(name) for name in ("self", "allies", "allySide", "allyTeam", "foeSide", "adjacentAlly")
)
_UNTIL_IT_ACTS = tuple(
    int(column) for column in (*SINGLE_MOVE.values(), ActiveColumn.RECHARGING, ActiveColumn.PREPARING)
)
_MOVE_WIDTH, _REVEALED, _ABILITY = len(MoveColumn), int(MoveColumn.REVEALED), int(ActiveId.ABILITY)
_BORROWING = (int(ActiveColumn.TRANSFORMED), int(ActiveColumn.MIMIC))
_THEFTS = frozenset({"thief", "covet", "magician", "pickpocket"})
_HEALED_BY_OTHERS = frozenset({"hospitality"})


def tags(parts: list[str], start: int) -> tuple[str, str]:
    """The `[from]` effect and the `[of]` Pokémon of a line, each "" if not there."""
    source = other = ""
    for part in parts[start:]:
        if part.startswith("[from]"):
            source = part[6:].strip()
        elif part.startswith("[of]"):
            other = part[4:].strip()
    return source, other


def reveal(view: View, source: str, holder: int) -> None:
    """`ability: X` or `item: X` shows what `holder` has (an item it has just used up is gone before it works)."""
    if source.startswith("ability: "):
        view.reveal_ability(holder, view.tables.dex.abilities[source[9:]])
    elif source.startswith("item: ") and holder >= 0:
        item = view.tables.dex.items[source[6:]]
        lost = view.floats[view.pokemon(holder) + PokemonColumn.ITEM_LOST]
        if item != view.stolen and not (lost and view.ids[view.pokemon_ids(holder) + PokemonId.LAST_ITEM] == item):
            view.reveal_item(holder, item)


# Before the battle.


def on_poke(view: View, parts: list[str]) -> None:
    """`|poke|p1|Garchomp, L50, F|item`: team preview, in the order of the team."""
    side = view.sides[parts[2]]
    for row in range(side * TEAM, side * TEAM + TEAM):
        start = view.pokemon(row)
        if not view.floats[start + PokemonColumn.KNOWN]:
            view.describe(row, parts[3])
            if len(parts) > 4 and parts[4] == "item":
                view.floats[start + PokemonColumn.ITEM_HELD] = 1.0
            size = view.side_columns(side) + SideColumn.TEAM_SIZE
            view.floats[size] = max(view.floats[size], (row - side * TEAM + 1) / TEAM)
            view.count_fainted(side, 0)
            return


def on_teamsize(view: View, parts: list[str]) -> None:
    """`|teamsize|p1|4`: how many are brought, said again after team preview."""
    side = view.sides[parts[2]]
    view.floats[view.side_columns(side) + SideColumn.TEAM_SIZE] = int(parts[3]) / TEAM
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
            view.floats[view.pokemon(row) + PokemonColumn.ITEM_KNOWN] = 1.0
        for move in moves:
            view.learn_move(row, view.tables.move(move))
        view.ids[view.pokemon_ids(row) + PokemonId.TERA_TYPE] = dex.types[tera]


# Coming and going.


def on_switch(view: View, parts: list[str]) -> None:
    """`|switch|p1a: Rex|Tyranitar, M|100/100|[from] Baton Pass`, and `drag`."""
    ident = parts[2]
    place = view.place(ident)
    if place < 0:
        return
    side = place // SLOTS
    row = view.find_row(side, ident[5:], parts[3])
    if side == 1 or not view.requests:
        view.remember(place, row)
    passing = ""
    if view.passing == place and parts[1] == "switch":
        passing = "substitute" if view.shedding else "all"
    view.passing = -1
    heals = view.floats[view.pokemon(row) + PokemonColumn.FAINTED]
    if side == 1 or not view.requests:  # the own looks may be an illusion; requests tell
        view.describe(row, parts[3])
    view.set_condition(row, parts[4])
    if view.generation == 5:  # sleep starts over
        view.floats[view.pokemon(row) + PokemonColumn.SLEEP_TURNS] = 0.0
    if heals:  # only an illusion had gone down
        view.floats[view.pokemon(row) + PokemonColumn.FAINTED] = 0.0
    view.switch(place, row, passing=passing)
    if side == 1:
        _absent(view)


def _absent(view: View) -> None:
    """Marks the foes that stayed at home, once as many as were brought have been seen."""
    size = round(view.floats[view.side_columns(1) + SideColumn.TEAM_SIZE] * TEAM)
    starts = [view.pokemon(row) for row in range(TEAM, 2 * TEAM)]
    seen = sum(view.floats[start + PokemonColumn.SEEN] for start in starts)
    if size and seen >= size:
        for start in starts:
            if view.floats[start + PokemonColumn.KNOWN] and not view.floats[start + PokemonColumn.SEEN]:
                view.floats[start + PokemonColumn.ABSENT] = 1.0


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
    down = floats[view.pokemon(seeming) + PokemonColumn.FAINTED]
    if kept is not None and (side == 1 or not view.requests):
        ours, theirs = view.pokemon(row), view.pokemon(seeming)
        for column in (PokemonColumn.HP, PokemonColumn.FAINTED, PokemonColumn.SLEEP_TURNS, PokemonColumn.TOXIC_TURNS):
            floats[ours + column] = floats[theirs + column]
        ids[view.pokemon_ids(row) + PokemonId.STATUS] = ids[view.pokemon_ids(seeming) + PokemonId.STATUS]
        for index in range(MOVES):
            move = ids[view.move_ids(seeming) + index]
            if move and move not in kept[3]:
                learned = view.learn_move(row, move)
                if learned >= 0:
                    used = view.moves(seeming) + index * len(MoveColumn)
                    floats[view.moves(row) + learned * len(MoveColumn) + MoveColumn.PP] = floats[used + MoveColumn.PP]
        view.recall(place, seeming)
    view.vacate(place)
    view.active[place] = row
    floats[view.pokemon(row) + PokemonColumn.SEEN] = 1.0
    if not down:
        floats[view.pokemon(row) + PokemonColumn.ACTIVE] = 1.0
        view.show_identity(place)
        view.show_moves(place)


def on_faint(view: View, parts: list[str]) -> None:
    """`|faint|p1a: Rex`."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.faint(row)
    place = view.place(parts[2])
    if place >= 0:
        view.clear_place(place)


def on_swap(view: View, parts: list[str]) -> None:
    """`|swap|p1a: Rex|1`: two allies change places."""
    place = view.place(parts[2])
    if place < 0:
        return
    first = place // SLOTS * SLOTS
    for start, width, numbers in (
        (view.place_columns(first), len(ActiveColumn), view.floats),
        (view.place_moves(first), MOVES * len(MoveColumn), view.floats),
        (view.place_ids(first), len(ActiveId), view.ids),
        (view.place_move_ids(first), MOVES, view.ids),
    ):
        left, right = numbers[start : start + width], numbers[start + width : start + 2 * width]
        numbers[start : start + width] = right  # type: ignore[assignment]
        numbers[start + width : start + 2 * width] = left  # type: ignore[assignment]
    start, width = view.place_columns(first), len(ActiveColumn)
    moved = {column: step for column, step in view.timers.items() if start <= column < start + 2 * width}
    for column in moved:
        del view.timers[column]
    for column, step in moved.items():
        view.timers[column + width if column < start + width else column - width] = step
    second = first + 1
    view.active[first], view.active[second] = view.active[second], view.active[first]
    view.arrivals[first], view.arrivals[second] = view.arrivals[second], view.arrivals[first]
    changed = view.ability_changed
    changed[first], changed[second] = changed[second], changed[first]


# HP and status.


def on_damage(view: View, parts: list[str]) -> None:
    """`|-damage|p1a: Rex|57/100 par|[from] item: Life Orb`."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.set_condition(row, parts[3])
    if len(parts) > 4:
        source, other = tags(parts, 4)
        reveal(view, source, view.row(other) if other else row)


def on_heal(view: View, parts: list[str]) -> None:
    """`|-heal|p1a: Rex|63/100|[from] item: Leftovers`; of a bench Pokémon only when it is revived."""
    row = view.row(parts[2])
    if row < 0:
        return
    revived = view.floats[view.pokemon(row) + PokemonColumn.FAINTED] and parse_condition(parts[3])[0]
    view.set_condition(row, parts[3])
    if revived:
        view.count_fainted(row // TEAM, -1)
    if len(parts) > 4:
        source, other = tags(parts, 4)
        if source.startswith("ability: ") and effect_id(source) in _HEALED_BY_OTHERS and other:
            row = view.row(other)
        elif source in ("move: Wish", "move: Healing Wish", "move: Lunar Dance"):
            place = view.place(parts[2])
            wish = SideColumn.WISH_LEFT if source == "move: Wish" else SideColumn.HEAL_NEXT_LEFT
            view.floats[view.side_columns(place // SLOTS) + wish + place % SLOTS] = 0.0
        reveal(view, source, row)


def on_sethp(view: View, parts: list[str]) -> None:
    """`|-sethp|p1a: Rex|50/100|[from] move: Pain Split`; old servers give two Pokémon in one line."""
    for ident, condition in zip(parts[2::2], parts[3::2], strict=False):
        row = view.row(ident)
        if row >= 0 and not condition.startswith("["):
            view.set_condition(row, condition)


def on_status(view: View, parts: list[str]) -> None:
    """`|-status|p1a: Rex|brn|[from] ability: Flame Body|[of] p2a: Magmar`."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.set_status(row, STATUSES.get(parts[3], 0))
    if len(parts) > 4:
        source, other = tags(parts, 4)
        reveal(view, source, view.row(other) if other else row)
        if source == "item: Toxic Orb":  # comes after this turn's poison has been counted
            view.floats[view.pokemon(row) + PokemonColumn.TOXIC_TURNS] = -TURN


def on_curestatus(view: View, parts: list[str]) -> None:
    """`|-curestatus|p1a: Rex|slp`, also of a Pokémon on the bench."""
    if parts[3] == "confusion":
        place = view.standing(parts[2])
        if place >= 0:
            view.floats[view.place_columns(place) + ActiveColumn.CONFUSION] = 0.0
            view.stop_timer(view.place_columns(place) + ActiveColumn.CONFUSION_TURNS)
        return
    row = view.row(parts[2])
    if row >= 0:
        view.set_status(row, 0)
        source, _ = tags(parts, 4)
        reveal(view, source, row)


def on_cureteam(view: View, parts: list[str]) -> None:
    """`|-cureteam|p1a: Rex`."""
    side = view.sides.get(parts[2][:2], 0)
    for row in range(side * TEAM, side * TEAM + TEAM):
        view.set_status(row, 0)


# Boosts.


def on_boost(view: View, parts: list[str]) -> None:
    """`|-boost|p1a: Rex|atk|2`, and `-unboost`."""
    place = view.standing(parts[2])
    column = BOOSTS.get(parts[3])
    if place < 0 or column is None:
        return
    index = view.place_columns(place) + column
    amount = float(parts[4]) if parts[1] == "-boost" else -float(parts[4])
    stage = round(view.floats[index] * BOOST_SCALE) + amount
    view.floats[index] = max(-6.0, min(6.0, stage)) / BOOST_SCALE
    if len(parts) > 5:
        source, other = tags(parts, 5)
        if source.startswith("item: "):
            reveal(view, source, view.row(other or parts[2]))


def on_setboost(view: View, parts: list[str]) -> None:
    """`|-setboost|p1a: Rex|atk|6`."""
    place = view.standing(parts[2])
    column = BOOSTS.get(parts[3])
    if place >= 0 and column is not None:
        view.floats[view.place_columns(place) + column] = float(parts[4]) / BOOST_SCALE
        source, _ = tags(parts, 5)
        if source.startswith("ability: "):
            reveal(view, source, view.row(parts[2]))


def on_clearboost(view: View, parts: list[str]) -> None:
    """`|-clearboost|p1a: Rex`, and of all (`-clearallboost`), only the good or only the bad ones."""
    places = range(4) if parts[1] == "-clearallboost" else (view.standing(parts[2]),)
    for place in places:
        if place < 0:
            continue
        start = view.place_columns(place)
        for index in range(start + _FIRST_BOOST, start + _END_BOOST):
            value = view.floats[index]
            if (parts[1] == "-clearpositiveboost" and value < 0) or (parts[1] == "-clearnegativeboost" and value > 0):
                continue
            view.floats[index] = 0.0


def on_invertboost(view: View, parts: list[str]) -> None:
    """`|-invertboost|p1a: Rex`."""
    place = view.standing(parts[2])
    if place >= 0:
        start = view.place_columns(place)
        for index in range(start + _FIRST_BOOST, start + _END_BOOST):
            view.floats[index] = 0.0 - view.floats[index]


def on_swapboost(view: View, parts: list[str]) -> None:
    """`|-swapboost|p1a: Rex|p2a: Ann|atk, spa`; all of them if none is named."""
    one, other = view.standing(parts[2]), view.standing(parts[3])
    if one < 0 or other < 0:
        return
    named = parts[4] if len(parts) > 4 and not parts[4].startswith("[") else ""
    columns = [BOOSTS[stat] for stat in named.split(", ")] if named else list(BOOSTS.values())
    ours, theirs = view.place_columns(one), view.place_columns(other)
    for column in columns:
        view.floats[ours + column], view.floats[theirs + column] = (
            view.floats[theirs + column],
            view.floats[ours + column],
        )


def on_copyboost(view: View, parts: list[str]) -> None:
    """`|-copyboost|p1a: Rex|p2a: Ann`: the first takes the second's."""
    one, other = view.standing(parts[2]), view.standing(parts[3])
    if one < 0 or other < 0:
        return
    ours, theirs = view.place_columns(one), view.place_columns(other)
    for column in BOOSTS.values():
        view.floats[ours + column] = view.floats[theirs + column]
    for column in (ActiveColumn.FOCUS_ENERGY, ActiveColumn.DRAGON_CHEER, ActiveColumn.LASER_FOCUS):
        if view.generation >= 6:
            view.floats[ours + column] = view.floats[theirs + column]
    source, _ = tags(parts, 4)
    reveal(view, source, view.row(parts[2]))


# Formes.


def on_detailschange(view: View, parts: list[str]) -> None:
    """`|detailschange|p1a: Rex|Tyranitar-Mega, M`: a change that lasts."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.describe(row, parts[3])
    place = view.standing(parts[2])
    if place >= 0:
        view.show_identity(place)
        view.ability_changed[place] = False


def on_formechange(view: View, parts: list[str]) -> None:
    """`|-formechange|p1a: Rex|Aegislash-Blade`: a change until it leaves."""
    place = view.standing(parts[2])
    if place < 0:
        return
    row = view.active[place]
    species = view.tables.dex.species[parts[3]]
    ability = view.ids[view.place_ids(place) + ActiveId.ABILITY]
    if not view.floats[view.place_columns(place) + ActiveColumn.TRANSFORMED]:
        view.set_species(row, species)
    view.ids[view.place_ids(place) + ActiveId.SPECIES] = species
    view.show_types(place)
    view.ids[view.place_ids(place) + ActiveId.ABILITY] = ability or view.ids[view.pokemon_ids(row) + PokemonId.ABILITY]
    source, _ = tags(parts, 4)
    if source.startswith("ability: "):
        reveal(view, source, row)


def on_mega(view: View, parts: list[str]) -> None:
    """`|-mega|p1a: Rex|Tyranitar|Tyranitarite`, `-primal` and `-burst`; the forme comes in its own line."""
    row = view.row(parts[2])
    view.reveal_item(row, view.tables.dex.items[parts[-1] if parts[1] == "-primal" else parts[4]])
    if parts[1] == "-mega" and row >= 0:
        view.floats[view.side_columns(row // TEAM) + SideColumn.MEGA_USED] = 1.0


def on_zpower(view: View, parts: list[str]) -> None:
    """`|-zpower|p1a: Rex`."""
    side = view.sides.get(parts[2][:2], 0)
    view.floats[view.side_columns(side) + SideColumn.Z_USED] = 1.0


def on_terastallize(view: View, parts: list[str]) -> None:
    """`|-terastallize|p1a: Rex|Water`."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.ids[view.pokemon_ids(row) + PokemonId.TERA_TYPE] = view.tables.dex.types[parts[3]]
    view.floats[view.pokemon(row) + PokemonColumn.TERASTALLIZED] = 1.0
    view.floats[view.side_columns(row // TEAM) + SideColumn.TERA_USED] = 1.0
    place = view.standing(parts[2])
    if place >= 0:
        view.show_types(place)


def on_transform(view: View, parts: list[str]) -> None:
    """`|-transform|p1a: Ditto|p2a: Rex|[from] ability: Imposter`."""
    one, other = view.standing(parts[2]), view.standing(parts[3])
    if one < 0 or other < 0:
        return
    source, _ = tags(parts, 4)
    reveal(view, source, view.active[one])
    ids, floats = view.ids, view.floats
    ours, theirs = view.place_ids(one), view.place_ids(other)
    for number in (ActiveId.SPECIES, ActiveId.TYPE_1, ActiveId.TYPE_2, ActiveId.TYPE_3):
        ids[ours + number] = ids[theirs + number]
    if view.generation > 2:
        view.change_ability(one, ids[theirs + ActiveId.ABILITY])
    start, seen = view.place_columns(one), view.place_columns(other)
    for column in BOOSTS.values():
        floats[start + column] = floats[seen + column]
    if view.generation >= 6:
        for column in (ActiveColumn.FOCUS_ENERGY, ActiveColumn.DRAGON_CHEER, ActiveColumn.LASER_FOCUS):
            floats[start + column] = floats[seen + column]
    floats[start + ActiveColumn.TRANSFORMED] = 1.0
    if (
        floats[view.pokemon(view.active[one]) + PokemonColumn.TERASTALLIZED]
        or (floats[view.pokemon(view.active[other]) + PokemonColumn.TERASTALLIZED])
    ):
        view.show_types(one)
    columns, moves = view.place_moves(one), view.place_move_ids(one)
    for index in range(MOVES):
        move = ids[view.place_move_ids(other) + index]
        ids[moves + index] = move
        borrow_move(view, columns + index * len(MoveColumn), move)


def borrow_move(view: View, start: int, move: int) -> None:
    """Columns of a move that a Pokémon has by Transform until it leaves: 5 PP of it."""
    left = min(5, view.tables.base_pp[move])
    write_borrowed(view, start, move, left, left if view.generation >= 5 else view.tables.max_pp[move])


def write_borrowed(view: View, start: int, move: int, left: int, most: int) -> None:
    """Columns of a move that a Pokémon has only until it leaves."""
    view.floats[start + MoveColumn.KNOWN] = 1.0 if move else 0.0
    view.floats[start + MoveColumn.PP] = left / most if most else 0.0
    view.floats[start + MoveColumn.MAX_PP] = most / PP_SCALE
    view.floats[start + MoveColumn.REVEALED] = 0.0
    view.floats[start + MoveColumn.DISABLED] = 0.0


# Abilities and items.


def on_ability(view: View, parts: list[str]) -> None:
    """`|-ability|p1a: Rex|Sand Stream`; with `[from]`, an ability that has just become another."""
    place = view.standing(parts[2])
    if place < 0:
        return
    ability = view.tables.dex.abilities[parts[3]]
    source, other = tags(parts, 4)
    if view.tables.dex.abilities.ids[view.ids[view.place_ids(place) + ActiveId.ABILITY]].startswith("asone"):
        return  # As One shows itself as the two abilities it is made of
    if not source:
        view.reveal_ability(view.active[place], ability)
        return
    if source.startswith("ability: "):
        reveal(view, source, view.active[place])
        if other:
            view.reveal_ability(view.row(other), ability)
    view.change_ability(place, ability)


def on_endability(view: View, parts: list[str]) -> None:
    """`|-endability|p1a: Rex|Levitate`: Gastro Acid."""
    place = view.standing(parts[2])
    if place < 0:
        return
    if len(parts) > 3 and parts[3] and not parts[3].startswith("["):
        view.reveal_ability(view.active[place], view.tables.dex.abilities[parts[3]])
    view.floats[view.place_columns(place) + ActiveColumn.ABILITY_SUPPRESSED] = 1.0


def on_item(view: View, parts: list[str]) -> None:
    """`|-item|p1a: Rex|Leftovers|[from] move: Trick`."""
    row = view.row(parts[2])
    view.reveal_item(row, view.tables.dex.items[parts[3]])
    source, other = tags(parts, 4)
    effect = effect_id(source)
    if other and effect in _THEFTS:
        view.lose_item(view.row(other), view.tables.dex.items[parts[3]])
    if source.startswith("ability: "):
        reveal(view, source, view.row(other) if other and effect == "frisk" else row)


def on_enditem(view: View, parts: list[str]) -> None:
    """`|-enditem|p1a: Rex|Sitrus Berry|[eat]`."""
    item = view.tables.dex.items[parts[3]]
    view.lose_item(view.row(parts[2]), item)
    if len(parts) > 4 and effect_id(tags(parts, 4)[0]) in ("stealeat", "fling"):
        view.stolen = item


# Moves.


def on_move(view: View, parts: list[str]) -> None:
    """`|move|p1a: Rex|Crunch|p2a: Ann|[from] move: Sleep Talk`."""
    place = view.standing(parts[2])
    if place < 0:
        return
    view.mover = place
    view.stolen = 0
    view.target = view.place(parts[4]) if len(parts) > 4 else -1
    tables, ids = view.tables, view.ids
    name = parts[3]
    move = tables.move(name)
    source = ""
    if len(parts) > 5:
        source, _ = tags(parts, 5)
        if source.startswith("ability: "):
            reveal(view, source, view.active[place])
    second_turn = ids[view.place_ids(place) + ActiveId.PREPARED_MOVE] == move
    locked = source == "lockedmove" or view.locked[place] or second_turn
    _act(view, place)
    if source and not locked and tables.move(effect_id(source)) != move:
        _call(view, place, move, source, parts)
        return
    ids[view.place_ids(place) + ActiveId.LAST_MOVE] = move
    if move in tables.passing:
        view.passing = place
        view.shedding = name == "Shed Tail"
    if move not in tables.borrowed:
        if view.generation == 1:
            locked = _spent_otherwise_in_generation_1(view, place, move, source)
        _learn(view, place, move, 0 if locked else 1 + _pressure(view, place, move, parts))


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
    start, columns = view.place_move_ids(place), view.place_columns(place)
    transformed, mimicking = (floats[columns + column] for column in _BORROWING)
    row = view.active[place]
    if transformed or mimicking:
        index = _listed(view, start, move)
        if transformed and index < 0 and 0 in ids[start : start + MOVES]:
            index = ids[start : start + MOVES].index(0)
            ids[start + index] = move
            borrow_move(view, view.place_moves(place) + index * _MOVE_WIDTH, move)
        if index >= 0 and (transformed or ids[view.move_ids(row) + index] != ids[start + index]):
            at = view.place_moves(place) + index * _MOVE_WIDTH
            floats[at + _REVEALED] = 1.0
            view.spend_pp(at, spent)
            if view.generation == 1 and not transformed:  # what was mimicked shares the PP of Mimic
                view.spend_pp(view.moves(row) + index * _MOVE_WIDTH, spent)
            return
        if transformed:
            return
    index = view.learn_move(row, move)
    if index < 0:
        return
    at = view.moves(row) + index * _MOVE_WIDTH
    floats[at + _REVEALED] = 1.0
    if spent:
        view.spend_pp(at, spent)
    if mimicking:
        ids[start + index] = ids[view.move_ids(row) + index]
        seen = view.place_moves(place) + index * _MOVE_WIDTH
        floats[seen : seen + _MOVE_WIDTH] = floats[at : at + _MOVE_WIDTH]
    else:
        view.show_moves(place)


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
    target = parts[4] if len(parts) > 4 else ""
    kind = view.tables.move_targets[move]
    if move in view.tables.must_pressure or kind in _SPREAD:
        first = (1 - place // SLOTS) * SLOTS
        aimed = [first, first + 1]
    elif kind in _NO_PRESSURE:
        return 0
    elif target and not target.startswith("["):
        aimed = [view.standing(target)]
    elif "[notarget]" in parts or view.floats[FIELD + FieldColumn.DOUBLES]:
        return 0
    else:
        aimed = [(1 - place // SLOTS) * SLOTS]
    extra = 0
    for other in aimed:
        if (
            other >= 0
            and other // SLOTS != place // SLOTS
            and view.ids[view.place_ids(other) + _ABILITY] == view.tables.pressure
            and not view.floats[view.place_columns(other) + ActiveColumn.ABILITY_SUPPRESSED]
        ):
            extra += 1
    return extra


def _act(view: View, place: int) -> None:
    """The Pokémon at `place` acts or tries to: what waited for that is over."""
    start = view.place_columns(place)
    floats = view.floats
    for column in _UNTIL_IT_ACTS:
        if floats[start + column]:
            floats[start + column] = 0.0
            view.ids[view.place_ids(place) + ActiveId.PREPARED_MOVE] = 0


def on_cant(view: View, parts: list[str]) -> None:
    """`|cant|p1a: Rex|slp`, `|cant|p1a: Rex|Disable|Crunch`."""
    place = view.standing(parts[2])
    if place < 0:
        return
    _act(view, place)
    reason = parts[3]
    if reason == "slp":
        view.floats[view.pokemon(view.active[place]) + PokemonColumn.SLEEP_TURNS] += TURN
    elif reason.startswith(("ability: ", "item: ")):
        reveal(view, reason, view.active[place])


def on_prepare(view: View, parts: list[str]) -> None:
    """`|-prepare|p1a: Rex|Fly`: the first turn of two."""
    place = view.standing(parts[2])
    if place >= 0 and "[premajor]" not in parts:
        view.floats[view.place_columns(place) + ActiveColumn.PREPARING] = 1.0
        view.ids[view.place_ids(place) + ActiveId.PREPARED_MOVE] = view.tables.move(parts[3])


def on_anim(view: View, parts: list[str]) -> None:
    """`|-anim|p1a: Rex|Solar Beam|p2a: Ann`: a prepared move that did not have to wait."""
    place = view.standing(parts[2])
    if place >= 0:
        view.floats[view.place_columns(place) + ActiveColumn.PREPARING] = 0.0
        view.ids[view.place_ids(place) + ActiveId.PREPARED_MOVE] = 0


def on_mustrecharge(view: View, parts: list[str]) -> None:
    """`|-mustrecharge|p1a: Rex`."""
    place = view.standing(parts[2])
    if place >= 0:
        view.floats[view.place_columns(place) + ActiveColumn.RECHARGING] = 1.0


def on_reveal_only(view: View, parts: list[str]) -> None:
    """`-immune`, `-fail`, `-block`, `-miss`: nothing changes, but an ability or item may show."""
    for index in range(3, len(parts)):
        part = parts[index]
        if part.startswith(("ability: ", "item: ", "[from] ability: ", "[from] item: ")):
            _, other = tags(parts, 3)
            reveal(view, part.removeprefix("[from] "), view.row(other or parts[2]))
            return


HANDLERS: dict[str, Handler] = {
    "poke": on_poke,
    "teamsize": on_teamsize,
    "showteam": on_showteam,
    "switch": on_switch,
    "drag": on_switch,
    "replace": on_replace,
    "faint": on_faint,
    "swap": on_swap,
    "-damage": on_damage,
    "-heal": on_heal,
    "-sethp": on_sethp,
    "-status": on_status,
    "-curestatus": on_curestatus,
    "-cureteam": on_cureteam,
    "-boost": on_boost,
    "-unboost": on_boost,
    "-setboost": on_setboost,
    "-clearboost": on_clearboost,
    "-clearallboost": on_clearboost,
    "-clearpositiveboost": on_clearboost,
    "-clearnegativeboost": on_clearboost,
    "-invertboost": on_invertboost,
    "-swapboost": on_swapboost,
    "-copyboost": on_copyboost,
    "detailschange": on_detailschange,
    "-formechange": on_formechange,
    "-mega": on_mega,
    "-primal": on_mega,
    "-burst": on_mega,
    "-zpower": on_zpower,
    "-terastallize": on_terastallize,
    "-transform": on_transform,
    "-ability": on_ability,
    "-endability": on_endability,
    "-item": on_item,
    "-enditem": on_enditem,
    "move": on_move,
    "cant": on_cant,
    "-prepare": on_prepare,
    "-anim": on_anim,
    "-mustrecharge": on_mustrecharge,
    "-immune": on_reveal_only,
    "-fail": on_reveal_only,
    "-block": on_reveal_only,
    "-miss": on_reveal_only,
}
"""Handlers by kind of line."""
