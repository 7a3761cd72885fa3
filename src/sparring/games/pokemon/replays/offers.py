"""Offers for rows of a replay: what a side may have been allowed to do, from what its view shows.

A log has no requests. What forbids a move or a switch mostly shows (Encore, Taunt, no PP, a choice item that is known,
a trap), and what does not show forbids nothing here: an offer allows at least what was really allowed. A move of the
own list that the log never shows may be chosen too; it has no number in the row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions.gimmicks import GIMMICKS
from sparring.games.pokemon.actions.offer import (
    AIM_ALLY,
    AIM_FOE_1,
    AIM_FOE_2,
    AIM_NONE,
    AIMS_OF,
    CALLED,
    FORCED,
    OFFER,
    PREVIEW,
    RECHARGE,
    STRUGGLE,
    TURN,
)
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM
from sparring.games.pokemon.dex import CATEGORIES, MOVE_FLAGS, TARGETS, Dex, load_dex
from sparring.games.pokemon.formats import Format

_ANY_AIM = AIM_NONE | AIM_FOE_1 | AIM_FOE_2 | AIM_ALLY
_CHOICE_ITEMS = ("choiceband", "choicescarf", "choicespecs")


@dataclass(frozen=True)
class Asked:
    """What a log shows of the kind of each of r decisions."""

    kind: NDArray[np.uint8]
    """`uint8[r]` `PREVIEW`, `TURN` or `FORCED`."""
    must_switch: NDArray[np.bool_]
    """`bool[r, SLOTS]`"""
    reviving: NDArray[np.bool_]
    """`bool[r, SLOTS]`"""
    locked: NDArray[np.uint8]
    """`uint8[r, SLOTS]` as in an offer: the log shows that a Pokémon went on with a move."""
    hidden: NDArray[np.bool_]
    """`bool[r, SLOTS]` the log does not show what the Pokémon there was told."""
    stayed: NDArray[np.bool_]
    """`bool[r, SLOTS]` the Pokémon there was not taken out: who was could leave."""
    made: NDArray[np.int8]
    """`int8[r, SLOTS]` which move of the list was made, and so could be; -1 if that does not show."""
    used: NDArray[np.int8]
    """`int8[r, SLOTS]` the gimmick that was used, an index into `GIMMICKS`; -1 for none."""
    came_in: NDArray[np.bool_]
    """`bool[r, TEAM]` who came in, and so could."""
    binding_items: NDArray[np.intp]
    """`intp[TEAM]` what each of the team held from the battle's beginning on; negative if unknown, or if another of
    the same kind came to it later."""
    size: int
    """Pokémon in the team."""


def write_offers(
    rows: Mapping[str, Array], asked: Asked, format: Format, gimmicks: tuple[str, ...]
) -> NDArray[np.void]:
    """`OFFER[r]` for rows of the raw observation whose own team has been filled in.

    What a request would have told is written into the rows too: which moves are disabled, who must leave, is trapped,
    or may use a gimmick.
    """
    offers = np.zeros(len(asked.kind), OFFER)
    offers["kind"], offers["size"] = asked.kind, asked.size
    own = rows["pokemon"][:, :TEAM]
    down = own[..., c.POKEMON_FAINTED] > 0
    there = np.arange(TEAM) < asked.size
    offers["fainted"] = down & there
    waits = ~down & there & (own[..., c.POKEMON_ACTIVE] == 0) & (own[..., c.POKEMON_ABSENT] == 0)
    offers["enters"] = waits | asked.came_in
    tables = _tables(format.tables, format.showdown)
    forced = asked.kind == FORCED
    for place in range(format.active):
        columns, told = rows["active"][:, place], offers["place"][:, place]
        present = columns[:, c.ACTIVE_PRESENT] > 0
        told["acts"] = present & (columns[:, c.ACTIVE_COMMANDING] == 0) & (asked.kind == TURN)
        told["must_switch"] = asked.must_switch[:, place]
        told["reviving"] = asked.reviving[:, place]
        told["locked"] = asked.locked[:, place]
        told["trapped"] = (asked.kind == TURN) & asked.stayed[:, place] & _trapped(rows, place, tables)
        _write_aims(rows, place, tables, told, asked, gimmicks)
        columns[:, c.ACTIVE_TRAPPED] = told["trapped"]
        columns[:, c.ACTIVE_MUST_SWITCH] = asked.must_switch[:, place]
        columns[:, c.ACTIVE_REVIVING] = asked.reviving[:, place]
    rows["field"][:, c.FIELD_PREVIEW] = asked.kind == PREVIEW
    rows["field"][:, c.FIELD_FORCED] = forced
    return offers


@dataclass(frozen=True)
class _Tables:
    """Facts of a generation's moves, by number, and the numbers of what traps and binds."""

    dex: Dex
    aims: NDArray[np.uint8]
    max_aims: NDArray[np.uint8]
    status: NDArray[np.bool_]
    heals: NDArray[np.bool_]
    sounds: NDArray[np.bool_]
    flies: NDArray[np.bool_]
    not_twice: NDArray[np.bool_]
    rousing: NDArray[np.bool_]
    """Moves that in generation 1 may spare their target, without a word, the turn of recharging."""
    rolling: NDArray[np.int16]
    """Moves that go on by themselves for a while, without a word and at no cost: nobody can count their PP."""
    choice_items: NDArray[np.int16]
    crystals: Mapping[int, NDArray[np.bool_]]
    """By item: the moves that it powers."""
    mega_stones: NDArray[np.bool_]
    never_dynamaxes: NDArray[np.bool_]
    """Species that cannot."""


@cache
def _tables(name: str, showdown: str) -> _Tables:
    dex = load_dex(name, showdown)
    aims = np.array([AIMS_OF.get(TARGETS[target], AIM_NONE) for target in dex.move_target], np.uint8)
    aims[0] = _ANY_AIM
    status = dex.move_category == CATEGORIES.index("Status")
    flags = {name: dex.move_flags[:, MOVE_FLAGS.index(name)] for name in ("heal", "sound", "gravity", "cantusetwice")}
    crystals = {}
    for id, item in dex.raw["items"].items():
        if item.get("zMoveFrom"):
            crystals[dex.items[id]] = np.arange(len(dex.moves)) == dex.moves[item["zMoveFrom"]]
        elif item.get("zMoveType"):
            crystals[dex.items[id]] = dex.move_type == dex.types[item["zMoveType"]]
    for powered in crystals.values():
        powered[0] = True  # a move that never shows may be the one
    stones = np.array([False, *(bool(dex.raw["items"][id].get("megaStone")) for id in dex.items.ids[1:])])
    return _Tables(
        dex=dex,
        aims=aims,
        max_aims=np.where(status, AIM_NONE, AIMS_OF["adjacentFoe"]).astype(np.uint8),
        status=status,
        heals=flags["heal"],
        sounds=flags["sound"],
        flies=flags["gravity"],
        not_twice=flags["cantusetwice"],
        rousing=np.array([dex.generation == 1 and _rouses(dex.raw["moves"].get(id, {})) for id in dex.moves.ids]),
        rolling=np.array([dex.moves[id] for id in ("rollout", "iceball") if dex.moves[id]], np.int16),
        choice_items=np.array([dex.items[id] for id in _CHOICE_ITEMS if dex.items[id]], np.int16),
        crystals=crystals,
        mega_stones=stones,
        never_dynamaxes=np.array(["cannotDynamax" in dex.raw["species"].get(id, {}) for id in dex.species.ids]),
    )


def _rouses(move: Mapping[str, Any]) -> bool:
    """Whether a move may make its target flinch, or binds it."""
    flinches = any(one.get("volatileStatus") == "flinch" for one in move.get("secondaries") or ())
    return flinches or move.get("volatileStatus") == "partiallytrapped"


def _held(rows: Mapping[str, Array], place: int) -> NDArray[np.intp]:
    """`intp[r]` the item of the own Pokémon at `place`; 0 if there is none or nobody knows it."""
    who = rows["active_ids"][:, place, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    item = rows["pokemon_ids"][np.arange(len(who)), who, c.POKEMON_ID_ITEM]
    return np.where(who >= 0, item, 0).astype(np.intp)


def _forbidden(
    rows: Mapping[str, Array], place: int, tables: _Tables, binding_items: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """`bool[r, MOVES]` moves that surely could not be chosen, and those of which no max move could be made."""
    columns, ids = rows["active"][:, place], rows["active_ids"][:, place]
    move = rows["active_move_ids"][:, place].astype(np.intp)

    def under(column: int) -> NDArray[np.bool_]:
        return columns[:, column, None] > 0

    last = ids[:, c.ACTIVE_ID_LAST_MOVE, None]
    again = (last == move) & (move > 0)
    encored = move == ids[:, c.ACTIVE_ID_ENCORED_MOVE, None]
    one_is_encored = (encored & (move > 0)).any(axis=1, keepdims=True)  # else it was a max move of one of them
    item = _held(rows, place)
    who = ids[:, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    own = item == binding_items[who]  # one that came by Trick binds only from the next move on
    bound = (np.isin(item, tables.choice_items) & own)[:, None] & again.any(axis=1, keepdims=True)
    vest = (item == tables.dex.items["assaultvest"])[:, None] & (item > 0)[:, None]
    gravity = rows["field"][:, c.FIELD_GRAVITY, None] > 0
    spent = (rows["active_moves"][:, place, :, c.MOVE_PP] <= 0) & (move > 0) & ~np.isin(move, tables.rolling)
    max_forbidden: NDArray[np.bool_] = spent | ((under(c.ACTIVE_TAUNT) | vest) & tables.status[move])
    forbidden: NDArray[np.bool_] = (
        max_forbidden
        | (under(c.ACTIVE_ENCORE) & one_is_encored & ~encored)
        | (under(c.ACTIVE_DISABLE) & (move == ids[:, c.ACTIVE_ID_DISABLED_MOVE, None]))
        | (under(c.ACTIVE_TORMENT) & again)
        | (under(c.ACTIVE_HEAL_BLOCK) & tables.heals[move])
        | (under(c.ACTIVE_THROAT_CHOP) & tables.sounds[move])
        | (gravity & tables.flies[move])
        | (tables.not_twice[move] & again)
        | (bound & ~again)
    )
    return forbidden, max_forbidden


def _trapped(rows: Mapping[str, Array], place: int, tables: _Tables) -> NDArray[np.bool_]:
    """`bool[r]` whether the own Pokémon at `place` surely could not leave."""
    dex = tables.dex
    if dex.generation == 1:
        return np.zeros(len(rows["field"]), np.bool_)
    columns, ids = rows["active"][:, place], rows["active_ids"][:, place]
    types = ids[:, [c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2, c.ACTIVE_ID_TYPE_3]]
    effects = (c.ACTIVE_BOUND, c.ACTIVE_BLOCKED, c.ACTIVE_INGRAIN, c.ACTIVE_NO_RETREAT, c.ACTIVE_OCTOLOCK)
    held: NDArray[np.bool_] = np.any(columns[:, list(effects)] > 0, axis=1)
    held |= rows["field"][:, c.FIELD_FAIRY_LOCK] == 0.5
    held |= _held_by_ability(rows, place, dex)
    if dex.generation >= 6:
        held &= ~(types == dex.types["ghost"]).any(axis=1)
    shed_shell = dex.items["shedshell"]
    free: NDArray[np.bool_] = np.asarray((_held(rows, place) == shed_shell) & (shed_shell > 0))
    return held & ~free


def _held_by_ability(rows: Mapping[str, Array], place: int, dex: Dex) -> NDArray[np.bool_]:
    """`bool[r]` whether a foe has shown an ability that keeps the own Pokémon at `place` in."""
    ids, columns = rows["active_ids"], rows["active"][:, place]
    foes = ids[:, SLOTS:, c.ACTIVE_ID_ABILITY]
    own = ids[:, place, c.ACTIVE_ID_ABILITY]
    types = ids[:, place, [c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2, c.ACTIVE_ID_TYPE_3]]

    def shown(ability: str) -> NDArray[np.bool_]:
        number = dex.abilities[ability]
        seen: NDArray[np.bool_] = (foes == number).any(axis=1) & (number > 0)
        return seen

    species = ids[:, place, c.ACTIVE_ID_SPECIES]

    def may_have(ability: str) -> NDArray[np.bool_]:
        number = dex.abilities[ability]
        able: NDArray[np.bool_] = (dex.species_abilities[species] == number).any(axis=1)
        return np.asarray((number > 0) & ((own == number) | ((own == 0) & able)))

    airborne = (types == dex.types["flying"]).any(axis=1) | may_have("levitate")
    airborne |= (columns[:, c.ACTIVE_MAGNET_RISE] > 0) | (_held(rows, place) == dex.items["airballoon"])
    airborne &= rows["field"][:, c.FIELD_GRAVITY] == 0
    tagged = shown("shadowtag") & (~may_have("shadowtag") | (dex.generation == 3))
    pulled = shown("magnetpull") & (types == dex.types["steel"]).any(axis=1)
    kept: NDArray[np.bool_] = tagged | pulled | (shown("arenatrap") & ~airborne)
    return kept


def _write_aims(
    rows: Mapping[str, Array],
    place: int,
    tables: _Tables,
    told: NDArray[np.void],
    asked: Asked,
    gimmicks: tuple[str, ...],
) -> None:
    """Which moves of the Pokémon at `place` may be chosen, plain and with each gimmick."""
    move = rows["active_move_ids"][:, place].astype(np.intp)
    columns, used = rows["active"][:, place], rows["side"][:, 0]
    species = rows["active_ids"][:, place, c.ACTIVE_ID_SPECIES]
    dynamaxed = columns[:, c.ACTIVE_DYNAMAXED, None] > 0
    forbidden, max_forbidden = _forbidden(rows, place, tables, asked.binding_items)
    shown = np.flatnonzero(asked.made[:, place] >= 0)
    forbidden[shown, asked.made[shown, place]] = False
    acts = (told["acts"] > 0)[:, None]
    allowed, max_allowed = ~np.where(dynamaxed, max_forbidden, forbidden) & acts, ~max_forbidden & acts
    _lock(rows, place, told, allowed, asked, tables)
    _write_disabled(rows, place, told, allowed)
    aims = np.where(dynamaxed, tables.max_aims[move], tables.aims[move])
    free = told["locked"] == 0
    plain = np.where(free[:, None], aims, AIM_NONE) * allowed
    told["aims"][:, 0] = plain
    item = _held(rows, place)
    can = {
        "mega": (used[:, c.SIDE_MEGA_USED] == 0) & tables.mega_stones[item],
        "zmove": used[:, c.SIDE_Z_USED] == 0,
        "dynamax": (used[:, c.SIDE_DYNAMAX_USED] == 0) & ~dynamaxed[:, 0] & ~tables.never_dynamaxes[species],
        "terastallize": used[:, c.SIDE_TERA_USED] == 0,
    }
    flags = {
        "mega": c.ACTIVE_CAN_MEGA,
        "zmove": c.ACTIVE_CAN_Z,
        "dynamax": c.ACTIVE_CAN_DYNAMAX,
        "terastallize": c.ACTIVE_CAN_TERA,
    }
    for gimmick in gimmicks:
        if gimmick not in can:
            continue
        used_it = asked.used[:, place] == GIMMICKS.index(gimmick)
        now = (can[gimmick] | used_it) & free & (told["acts"] > 0)
        with_it = aims
        if gimmick == "dynamax":
            with_it = np.broadcast_to(tables.max_aims[move], aims.shape)
        elif gimmick == "zmove":
            powered = _powered(item, move, tables) | used_it[:, None]
            columns[:, flags[gimmick]] = now & powered.any(axis=1)
            with_it = aims * (powered | (asked.hidden[:, place] & _item_is_unknown(rows, place))[:, None])
        open_to_it = max_allowed if gimmick == "dynamax" else allowed
        if gimmick == "zmove":  # what Encore and the like forbid may still be made a Z-move of
            left = (rows["active_moves"][:, place, :, c.MOVE_PP] > 0) | (move == 0)
            open_to_it = left & acts
        told["aims"][:, 1 + GIMMICKS.index(gimmick)] = with_it * open_to_it * now[:, None]
        told["mega"] |= now * (gimmick == "mega")
        if gimmick != "zmove":
            columns[:, flags[gimmick]] = now


def _powered(item: NDArray[np.intp], move: NDArray[np.intp], tables: _Tables) -> NDArray[np.bool_]:
    """`bool[r, MOVES]` moves that the crystal a Pokémon holds makes Z-moves of."""
    powered = np.zeros(move.shape, np.bool_)
    for number in set(item.tolist()) & tables.crystals.keys():
        held = item == number
        powered[held] = tables.crystals[number][move[held]]
    return powered


def _item_is_unknown(rows: Mapping[str, Array], place: int) -> NDArray[np.bool_]:
    """`bool[r]` whether nobody knows what the own Pokémon at `place` holds."""
    who = rows["active_ids"][:, place, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    known: NDArray[np.bool_] = rows["pokemon"][np.arange(len(who)), who, c.POKEMON_ITEM_KNOWN] == 0
    return known & (who >= 0)


def _write_disabled(rows: Mapping[str, Array], place: int, told: NDArray[np.void], allowed: NDArray[np.bool_]) -> None:
    """Which moves are disabled; while nobody is asked for one, those that were so when somebody was."""
    disabled = rows["active_moves"][:, place, :, c.MOVE_DISABLED]
    acts, outside = told["acts"] > 0, told["locked"] > MOVES
    disabled[acts] = (~allowed | outside[:, None])[acts]
    who = rows["active_ids"][:, place, c.ACTIVE_ID_POKEMON]
    for row in np.flatnonzero(~acts[1:] & (who[1:] > 0) & (who[1:] == who[:-1])).tolist():
        disabled[row + 1] = disabled[row]


def _lock(
    rows: Mapping[str, Array],
    place: int,
    told: NDArray[np.void],
    allowed: NDArray[np.bool_],
    asked: Asked,
    tables: _Tables,
) -> None:
    """Where a Pokémon has one order only, only that is allowed."""
    columns, ids = rows["active"][:, place], rows["active_ids"][:, place]
    move = rows["active_move_ids"][:, place]
    spent = (columns[:, c.ACTIVE_RECHARGING] > 0) & asked.hidden[:, place] & asked.stayed[:, place]
    spent &= ~tables.rousing[rows["active_ids"][:, SLOTS, c.ACTIVE_ID_LAST_MOVE]]
    told["locked"] = np.where(spent & (told["acts"] > 0), RECHARGE, told["locked"])
    prepared = ids[:, c.ACTIVE_ID_PREPARED_MOVE]
    going_on = (columns[:, c.ACTIVE_PREPARING] > 0) & (prepared > 0) & (told["acts"] > 0)
    listed = move == prepared[:, None]
    told["locked"] = np.where(going_on, np.where(listed.any(axis=1), 1 + listed.argmax(axis=1), CALLED), told["locked"])
    stuck = (told["acts"] > 0) & ~allowed.any(axis=1) & (told["locked"] == 0)
    told["locked"] = np.where(stuck, STRUGGLE, told["locked"])
    locked = np.flatnonzero(told["locked"])
    allowed[locked] = False
    at = told["locked"][locked]
    allowed[locked, np.where(at <= MOVES, at - 1, 0)] = True
    told["trapped"][locked[at != STRUGGLE]] = 1
