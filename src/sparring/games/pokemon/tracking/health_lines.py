"""Lines about how a Pokémon is: HP, status and boosts."""

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import BOOST_SCALE, SLOTS, TEAM
from sparring.games.pokemon.tracking.layout import (
    PLACE_START,
    POKEMON_START,
    SIDE_START,
    TURN,
)
from sparring.games.pokemon.tracking.places import act
from sparring.games.pokemon.tracking.sources import Handler, reveal, tags
from sparring.games.pokemon.tracking.tables import STATUSES, effect_id
from sparring.games.pokemon.tracking.view import View

BOOSTS: dict[str, int] = {
    "atk": c.ACTIVE_BOOST_ATK,
    "def": c.ACTIVE_BOOST_DEF,
    "spa": c.ACTIVE_BOOST_SPA,
    "spd": c.ACTIVE_BOOST_SPD,
    "spe": c.ACTIVE_BOOST_SPE,
    "accuracy": c.ACTIVE_BOOST_ACCURACY,
    "evasion": c.ACTIVE_BOOST_EVASION,
}
"""Boost columns by Showdown stat."""

_FIRST_BOOST, _END_BOOST = c.ACTIVE_BOOST_ATK, c.ACTIVE_BOOST_EVASION + 1
_HEALED_BY_OTHERS = frozenset({"hospitality"})


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
        if source == "confusion" and view.generation > 1:  # it hurt itself instead of moving
            act(view, view.place(parts[2]))


def on_heal(view: View, parts: list[str]) -> None:
    """`|-heal|p1a: Rex|63/100|[from] item: Leftovers`; of a bench Pokémon only when it is revived."""
    row = view.row(parts[2])
    if row < 0:
        return
    down = view.floats[POKEMON_START[row] + c.POKEMON_FAINTED]
    view.set_condition(row, parts[3])
    if down and view.place(parts[2]) < 0:  # on the field it was an illusion beside its model that went down
        view.count_fainted(row // TEAM, -1)
    if len(parts) > 4:
        source, other = tags(parts, 4)
        if source.startswith("ability: ") and effect_id(source) in _HEALED_BY_OTHERS and other:
            row = view.row(other)
        elif source in ("move: Wish", "move: Healing Wish", "move: Lunar Dance"):
            place = view.place(parts[2])
            wish = c.SIDE_WISH_LEFT if source == "move: Wish" else c.SIDE_HEAL_NEXT_LEFT
            view.floats[SIDE_START[place // SLOTS] + wish + place % SLOTS] = 0.0
            view.timers.pop(SIDE_START[place // SLOTS] + wish + place % SLOTS, None)
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
    place = view.standing(parts[2])
    if view.generation == 1 and parts[3] == "slp" and place >= 0:  # there, sleep is rest enough
        view.floats[PLACE_START[place] + c.ACTIVE_RECHARGING] = 0.0
    if len(parts) > 4:
        source, other = tags(parts, 4)
        reveal(view, source, view.row(other) if other else row)
        if source == "item: Toxic Orb" or view.striking:  # comes after this turn's poison has been counted
            view.floats[POKEMON_START[row] + c.POKEMON_TOXIC_TURNS] = -TURN


def on_curestatus(view: View, parts: list[str]) -> None:
    """`|-curestatus|p1a: Rex|slp`, also of a Pokémon on the bench."""
    if parts[3] == "confusion":
        place = view.standing(parts[2])
        if place >= 0:
            view.floats[PLACE_START[place] + c.ACTIVE_CONFUSION] = 0.0
            view.stop_timer(PLACE_START[place] + c.ACTIVE_CONFUSION_TURNS)
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
    index = PLACE_START[place] + column
    amount = int(parts[4]) if parts[1] == "-boost" else -int(parts[4])
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
        view.floats[PLACE_START[place] + column] = max(-6.0, min(6.0, int(parts[4]))) / BOOST_SCALE
        source, _ = tags(parts, 5)
        if source.startswith("ability: "):
            reveal(view, source, view.row(parts[2]))


def on_clearboost(view: View, parts: list[str]) -> None:
    """`|-clearboost|p1a: Rex`, and of all (`-clearallboost`), only the good or only the bad ones."""
    places = range(4) if parts[1] == "-clearallboost" else (view.standing(parts[2]),)
    for place in places:
        if place < 0:
            continue
        start = PLACE_START[place]
        for index in range(start + _FIRST_BOOST, start + _END_BOOST):
            value = view.floats[index]
            if (parts[1] == "-clearpositiveboost" and value < 0) or (parts[1] == "-clearnegativeboost" and value > 0):
                continue
            view.floats[index] = 0.0


def on_invertboost(view: View, parts: list[str]) -> None:
    """`|-invertboost|p1a: Rex`."""
    place = view.standing(parts[2])
    if place >= 0:
        start = PLACE_START[place]
        for index in range(start + _FIRST_BOOST, start + _END_BOOST):
            view.floats[index] = 0.0 - view.floats[index]


def on_swapboost(view: View, parts: list[str]) -> None:
    """`|-swapboost|p1a: Rex|p2a: Ann|atk, spa`; all of them if none is named."""
    one, other = view.standing(parts[2]), view.standing(parts[3])
    if one < 0 or other < 0:
        return
    named = parts[4] if len(parts) > 4 and not parts[4].startswith("[") else ""
    columns = [BOOSTS[stat] for stat in named.split(", ")] if named else list(BOOSTS.values())
    ours, theirs = PLACE_START[one], PLACE_START[other]
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
    ours, theirs = PLACE_START[one], PLACE_START[other]
    for column in BOOSTS.values():
        view.floats[ours + column] = view.floats[theirs + column]
    for column in (c.ACTIVE_FOCUS_ENERGY, c.ACTIVE_DRAGON_CHEER, c.ACTIVE_LASER_FOCUS):
        if view.generation >= 6:
            view.floats[ours + column] = view.floats[theirs + column]
    source, _ = tags(parts, 4)
    reveal(view, source, view.row(parts[2]))


HANDLERS: dict[str, Handler] = {
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
}
"""Handlers by kind of line."""
