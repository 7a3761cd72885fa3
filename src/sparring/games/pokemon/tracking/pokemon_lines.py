"""Lines about what a Pokémon is: formes, gimmicks, transformations, abilities and items."""

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import MOVES, TEAM
from sparring.games.pokemon.tracking.health_lines import BOOSTS
from sparring.games.pokemon.tracking.layout import (
    FIELD,
    MOVE_WIDTH,
    PLACE_IDS_START,
    PLACE_MOVE_IDS_START,
    PLACE_MOVES_START,
    PLACE_START,
    POKEMON_IDS_START,
    POKEMON_START,
    SIDE_START,
)
from sparring.games.pokemon.tracking.move_lines import borrow_move
from sparring.games.pokemon.tracking.places import show_identity, show_types
from sparring.games.pokemon.tracking.sources import Handler, reveal, tags
from sparring.games.pokemon.tracking.tables import effect_id
from sparring.games.pokemon.tracking.view import View

_THEFTS = frozenset({"thief", "covet", "magician", "pickpocket"})
_SWAPS = frozenset({"trick", "switcheroo"})
SWAPPED = -2
"""In `View.first_items`: what it began with has just gone to another, by a line that is still to come."""


# Formes.


def on_detailschange(view: View, parts: list[str]) -> None:
    """`|detailschange|p1a: Rex|Tyranitar-Mega, M`: a change that lasts."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.describe(row, parts[3])
    place = view.standing(parts[2])
    if place >= 0:
        show_identity(view, place)
        view.ability_changed[place] = False


def on_formechange(view: View, parts: list[str]) -> None:
    """`|-formechange|p1a: Rex|Aegislash-Blade`: a change until it leaves."""
    place = view.standing(parts[2])
    if place < 0:
        return
    row = view.active[place]
    species = view.tables.dex.species[parts[3]]
    ability = view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY]
    if not view.floats[PLACE_START[place] + c.ACTIVE_TRANSFORMED]:
        view.set_species(row, species)
    view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_SPECIES] = species
    show_types(view, place)
    own = view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_ABILITY]
    view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY] = ability or own
    source, _ = tags(parts, 4)
    if source.startswith("ability: "):
        reveal(view, source, row)


def on_mega(view: View, parts: list[str]) -> None:
    """`|-mega|p1a: Rex|Tyranitar|Tyranitarite`, `-primal` and `-burst`; the forme comes in its own line."""
    row = view.row(parts[2])
    view.reveal_item(row, view.tables.dex.items[parts[-1] if parts[1] == "-primal" else parts[4]])
    if parts[1] == "-mega" and row >= 0:
        view.floats[SIDE_START[row // TEAM] + c.SIDE_MEGA_USED] = 1.0


def on_zpower(view: View, parts: list[str]) -> None:
    """`|-zpower|p1a: Rex`."""
    side = view.sides.get(parts[2][:2], 0)
    view.floats[SIDE_START[side] + c.SIDE_Z_USED] = 1.0


def on_terastallize(view: View, parts: list[str]) -> None:
    """`|-terastallize|p1a: Rex|Water`."""
    row = view.row(parts[2])
    if row < 0:
        return
    view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_TERA_TYPE] = view.tables.dex.types[parts[3]]
    view.floats[POKEMON_START[row] + c.POKEMON_TERASTALLIZED] = 1.0
    view.floats[SIDE_START[row // TEAM] + c.SIDE_TERA_USED] = 1.0
    species = view.ids[POKEMON_IDS_START[row] + c.POKEMON_ID_SPECIES]
    if view.tables.dex.species.ids[species] == "morpekohangry":  # from now on it stays so
        view.forme[row] = species
        view.looks[row] = ""
    place = view.standing(parts[2])
    if place >= 0:
        show_types(view, place)


def on_transform(view: View, parts: list[str]) -> None:
    """`|-transform|p1a: Ditto|p2a: Rex|[from] ability: Imposter`."""
    one, other = view.standing(parts[2]), view.standing(parts[3])
    if one < 0 or other < 0:
        return
    source, _ = tags(parts, 4)
    reveal(view, source, view.active[one])
    ids, floats = view.ids, view.floats
    ours, theirs = PLACE_IDS_START[one], PLACE_IDS_START[other]
    for number in (c.ACTIVE_ID_SPECIES, c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2, c.ACTIVE_ID_TYPE_3):
        ids[ours + number] = ids[theirs + number]
    if view.generation > 2:
        view.change_ability(one, ids[theirs + c.ACTIVE_ID_ABILITY])
    start, seen = PLACE_START[one], PLACE_START[other]
    for column in BOOSTS.values():
        floats[start + column] = floats[seen + column]
    if view.generation >= 6:
        for column in (c.ACTIVE_FOCUS_ENERGY, c.ACTIVE_DRAGON_CHEER, c.ACTIVE_LASER_FOCUS):
            floats[start + column] = floats[seen + column]
    floats[start + c.ACTIVE_TRANSFORMED] = 1.0
    view.set_species(view.active[one], view.forme[view.active[one]])
    if (
        floats[POKEMON_START[view.active[one]] + c.POKEMON_TERASTALLIZED]
        or (floats[POKEMON_START[view.active[other]] + c.POKEMON_TERASTALLIZED])
    ):
        show_types(view, one)
    columns, moves = PLACE_MOVES_START[one], PLACE_MOVE_IDS_START[one]
    for index in range(MOVES):
        move = ids[PLACE_MOVE_IDS_START[other] + index]
        ids[moves + index] = move
        borrow_move(view, columns + index * MOVE_WIDTH, move)


# Abilities and items.


def on_ability(view: View, parts: list[str]) -> None:
    """`|-ability|p1a: Rex|Sand Stream`; with `[from]`, an ability that has just become another."""
    place = view.standing(parts[2])
    if place < 0:
        return
    ability = view.tables.dex.abilities[parts[3]]
    source, other = tags(parts, 4)
    if view.tables.dex.abilities.ids[view.ids[PLACE_IDS_START[place] + c.ACTIVE_ID_ABILITY]].startswith("asone"):
        return  # As One shows itself as the two abilities it is made of
    if ability == view.tables.neutralizing_gas:
        view.floats[FIELD + c.FIELD_NEUTRALIZING_GAS] = 1.0
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
    view.floats[PLACE_START[place] + c.ACTIVE_ABILITY_SUPPRESSED] = 1.0


def on_item(view: View, parts: list[str]) -> None:
    """`|-item|p1a: Rex|Leftovers|[from] move: Trick`."""
    row, item = view.row(parts[2]), view.tables.dex.items[parts[3]]
    source, other = tags(parts, 4)
    effect = effect_id(source)
    began_with = view.first_items[row]
    if effect in _SWAPS:
        began_with = _hand_over(view, row, item)
    view.reveal_item(row, item)
    if (source and effect != "frisk") or _announced_early(view, row, source):  # it came by it just now
        view.first_items[row] = began_with
    if other and effect in _THEFTS:
        view.lose_item(view.row(other), view.tables.dex.items[parts[3]])
    if source.startswith("ability: "):
        reveal(view, source, view.row(other) if other and effect == "frisk" else row)


def _announced_early(view: View, row: int, source: str) -> bool:
    """Whether an item that Trick brings (an Air Balloon) is announced before the line that says where it is from."""
    pair = [view.active[place] for place in (view.mover, view.target) if place >= 0]
    return not source and row in pair and view.tables.dex.moves.ids[view.used] in _SWAPS


def _hand_over(view: View, row: int, item: int) -> int:
    """Trick gave `item` to `row`: the other of the two began with it, if nothing was known of that one's items.

    Returns what `row` began with; the line about the other, which comes next, may tell.
    """
    pair = [view.active[place] for place in (view.mover, view.target) if place >= 0]
    for other in pair:
        if row in pair and other != row:
            known = view.floats[POKEMON_START[other] + c.POKEMON_ITEM_KNOWN]
            if view.first_items[other] == SWAPPED or (view.first_items[other] < 0 and not known):
                view.first_items[other] = item
    if view.first_items[row] < 0 and not view.floats[POKEMON_START[row] + c.POKEMON_ITEM_KNOWN]:
        return SWAPPED
    return view.first_items[row]


def on_enditem(view: View, parts: list[str]) -> None:
    """`|-enditem|p1a: Rex|Sitrus Berry|[eat]`."""
    item = view.tables.dex.items[parts[3]]
    view.lose_item(view.row(parts[2]), item)
    if len(parts) > 4 and effect_id(tags(parts, 4)[0]) in ("stealeat", "fling"):
        view.stolen = item


def on_fail(view: View, parts: list[str]) -> None:
    """`|-fail|p1a: Rex`. Since generation 6 a protecting move that fails ends their row."""
    place = view.standing(parts[2])
    if place == view.promised:
        view.promised = -1
    if view.used in view.tables.stalling and place == view.mover >= 0 and view.generation > 5:
        view.floats[PLACE_START[place] + c.ACTIVE_PROTECT_TURNS] = 0.0
    on_reveal_only(view, parts)


def on_reveal_only(view: View, parts: list[str]) -> None:
    """`-immune`, `-block`, `-miss`: nothing changes, but an ability or item may show."""
    for index in range(3, len(parts)):
        part = parts[index].removeprefix("[from]").lstrip()
        if part.startswith(("ability: ", "item: ")):
            _, other = tags(parts, 3)
            reveal(view, part, view.row(other or parts[2]))
            return


HANDLERS: dict[str, Handler] = {
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
    "-immune": on_reveal_only,
    "-fail": on_fail,
    "-block": on_reveal_only,
    "-miss": on_reveal_only,
}
"""Handlers by kind of line."""
