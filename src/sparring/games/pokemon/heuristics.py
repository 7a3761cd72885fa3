"""What a thoughtful beginner would think of each order: how much a move gains, and whom to send in.

All values are in Pokémon: 1 is a foe fainted. They come from observation rows only, for k rows at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import BOOST_SCALE, SLOTS, TEAM
from sparring.games.pokemon.dex import Dex

KO_BONUS = 0.4
HAZARD_VALUE = 0.45
REMOVAL_VALUE = 0.4
SETUP_VALUE = 0.5
HEAL_VALUE = 0.7
STATUS_VALUES = {"slp": 0.45, "par": 0.3, "brn": 0.3, "tox": 0.35, "psn": 0.2}
SWITCH_COST = 0.35
UNKNOWN_THREAT = 0.22
"""What a neutral hit by a foe's unseen move takes of a Pokémon's HP, before its type counts."""
SPEED_VALUE = 0.1

_HAZARDS = {
    "stealthrock": c.SIDE_STEALTH_ROCK,
    "spikes": c.SIDE_SPIKES,
    "toxicspikes": c.SIDE_TOXIC_SPIKES,
    "stickyweb": c.SIDE_STICKY_WEB,
}
_REMOVALS = ("rapidspin", "defog", "mortalspin", "tidyup", "courtchange")
_ON_ARRIVAL = ("fakeout", "firstimpression")
_SHARE = {
    "focuspunch": 0.2,
    "dreameater": 1.0,
    "lastresort": 0.3,
    "futuresight": 0.5,
    "doomdesire": 0.5,
    "steelbeam": 0.7,
}


@dataclass(frozen=True)
class MoveTraits:
    """What each move is good for besides damage; one row per move number."""

    share: NDArray[np.float32]
    """`float32[n]` how much of its damage counts: less for moves that cost a turn or the user."""
    arrival: NDArray[np.bool_]
    """`bool[n]` works only on the turn the user came in."""
    hazard: NDArray[np.int8]
    """`int8[n]` side column of the hazard it lays; 0 for none."""
    removal: NDArray[np.bool_]
    setup: NDArray[np.int8]
    """`int8[n]` stages it gives its user."""
    heal: NDArray[np.float32]
    status: NDArray[np.float32]
    """`float32[n]` worth of the status it inflicts on a healthy foe."""
    foe_spread: NDArray[np.bool_]
    all_spread: NDArray[np.bool_]


def move_traits(dex: Dex) -> MoveTraits:
    """The traits of a generation's moves."""
    n = len(dex.moves)
    traits = MoveTraits(
        share=np.ones(n, np.float32),
        arrival=np.zeros(n, np.bool_),
        hazard=np.zeros(n, np.int8),
        removal=np.zeros(n, np.bool_),
        setup=np.zeros(n, np.int8),
        heal=np.zeros(n, np.float32),
        status=np.zeros(n, np.float32),
        foe_spread=np.zeros(n, np.bool_),
        all_spread=np.zeros(n, np.bool_),
    )
    for number, id in enumerate(dex.moves.ids[1:], 1):
        move: dict[str, Any] = dex.raw["moves"][id]
        flags = move["flags"]
        traits.share[number] = _SHARE.get(id, 0.55 if "charge" in flags or "recharge" in flags else 1.0)
        if move.get("selfdestruct"):
            traits.share[number] = 0.45
        traits.arrival[number] = id in _ON_ARRIVAL
        traits.hazard[number] = _HAZARDS.get(id, 0)
        traits.removal[number] = id in _REMOVALS
        if move["category"] == "Status":
            if move["target"] == "self":
                traits.setup[number] = sum((move.get("boosts") or {}).values())
            traits.heal[number] = dex.move_heal[number] or (0.5 if id in ("rest", "moonlight", "wish") else 0.0)
            traits.status[number] = STATUS_VALUES.get(move.get("status", ""), 0.0) * dex.move_accuracy[number]
        traits.foe_spread[number] = move["target"] == "allAdjacentFoes"
        traits.all_spread[number] = move["target"] == "allAdjacent"
    return traits


@dataclass(frozen=True)
class Outlook:
    """How own Pokémon stand against the foes on the field."""

    own_row: NDArray[np.intp]
    """`intp[k, 2]` team row of each own place; 0 where the place is empty (its orders are not legal anyway)."""
    foe_left: NDArray[np.float32]
    """`float32[k, 2]` HP left of the foe places; 0 where there is none."""
    threat: NDArray[np.float32]
    """`float32[k, 6]` share of max HP each own Pokémon can expect to lose in a turn."""
    match_up: NDArray[np.float32]
    """`float32[k, 6]` what each own Pokémon can do less what is done to it."""


def outlook(dex: Dex, observation: Mapping[str, Array], damage: Mapping[str, Array]) -> Outlook:
    """The outlook of k rows; `damage` holds the fields of the damage estimate."""
    k = len(observation["field"])
    active, active_ids, pokemon = observation["active"], observation["active_ids"], observation["pokemon"]
    places = active_ids[:, :, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1
    rows = np.arange(k)[:, None]
    present = active[:, SLOTS:, c.ACTIVE_PRESENT] != 0
    foe_left = np.where(present, pokemon[rows, np.maximum(places[:, SLOTS:], 0), c.POKEMON_HP], 0.0)
    best = np.minimum((damage["damage"]).max(axis=2), foe_left[:, None, :]).sum(axis=2)
    known = damage["damage_back"].max(axis=2)
    threat = np.maximum(known, _unseen(dex, observation, present)).sum(axis=1)
    faster = np.where(present[:, None, :], damage["faster"] - 0.5, 0.0).sum(axis=2)
    left = pokemon[:, :TEAM, c.POKEMON_HP]
    match_up = best - np.minimum(threat, 1.0) + SPEED_VALUE * faster + 0.3 * left
    return Outlook(
        own_row=np.maximum(places[:, :SLOTS], 0),
        foe_left=foe_left.astype(np.float32),
        threat=threat.astype(np.float32),
        match_up=match_up.astype(np.float32),
    )


def _unseen(dex: Dex, observation: Mapping[str, Array], present: NDArray[np.bool_]) -> NDArray[np.float32]:
    """`float32[k, 2, 6]` what foes' unseen moves of their own types would do, while some are unseen."""
    chart = dex.effectiveness
    foe_types = observation["active_ids"][:, SLOTS:, [c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2]]
    own_types = observation["pokemon_ids"][:, :TEAM, [c.POKEMON_ID_TYPE_1, c.POKEMON_ID_TYPE_2]]
    strike = foe_types[:, :, None, :, None]
    met = own_types[:, None, :, None, :]
    effect = chart[strike, met].prod(axis=4)
    effect = np.where(strike[..., 0] > 0, effect, 0.0).max(axis=3)
    unseen = (observation["active_move_ids"][:, SLOTS:] == 0).any(axis=2) & present
    unseen_hit: NDArray[np.float32] = (effect * UNKNOWN_THREAT * unseen[:, :, None]).astype(np.float32)
    return unseen_hit


def move_values(
    dex: Dex,
    traits: MoveTraits,
    observation: Mapping[str, Array],
    damage: Mapping[str, Array],
    view: Outlook,
    *,
    place: int,
) -> NDArray[np.float32]:
    """`float32[k, 4, 4]` the worth of each move of the own Pokémon at `place`, by target as `orders.TARGETS` counts.

    Target 0 is no chosen target: the only foe of singles, all that a spread move hits, or the user itself.
    """
    k = len(view.own_row)
    rows = np.arange(k)
    mine = view.own_row[:, place]
    moves = observation["active_move_ids"][:, place].astype(np.intp)
    accuracy = dex.move_accuracy[moves]
    now = observation["active"][:, place]
    share = traits.share[moves] * np.where(traits.arrival[moves] & (now[:, None, c.ACTIVE_ACTIVE_TURNS] > 0), 0.0, 1.0)
    hit = damage["damage"][rows, mine]
    gained = np.minimum(hit, view.foe_left[:, None, :]) * (accuracy * share)[:, :, None]
    gained = gained + KO_BONUS * damage["ko"][rows, mine] * share[:, :, None]
    values = np.zeros((k, 4, 4), np.float32)
    values[:, :, 1:3] = gained
    foes = (view.foe_left > 0).sum(axis=1)
    spread = traits.foe_spread[moves] | traits.all_spread[moves]
    values[:, :, 0] = np.where(spread, gained.sum(axis=2), gained.sum(axis=2) / np.maximum(foes, 1)[:, None])
    hurts_ally = traits.all_spread[moves] & (observation["active"][:, 1 - place, c.ACTIVE_PRESENT] != 0)[:, None]
    values[:, :, 0] -= np.where(hurts_ally, 0.35, 0.0)
    values[:, :, 3] = np.where(dex.move_category[moves] >= 2, -1.0, -0.1)
    values[:, :, :3] += _support(dex, traits, observation, view, place, mine, moves)
    return values


def _support(
    dex: Dex,
    traits: MoveTraits,
    observation: Mapping[str, Array],
    view: Outlook,
    place: int,
    mine: NDArray[np.intp],
    moves: NDArray[np.intp],
) -> NDArray[np.float32]:
    """`float32[k, 4, 3]` worth of hazards, setting up, healing and status, for targets none, foe 1, foe 2."""
    k = len(mine)
    rows = np.arange(k)
    side, pokemon, active = observation["side"], observation["pokemon"], observation["active"]
    left = pokemon[rows, mine, c.POKEMON_HP]
    threat = view.threat[rows, mine]
    foes_left = side[:, 1, c.SIDE_REMAINING] * TEAM
    own_left = side[:, 0, c.SIDE_REMAINING] * TEAM
    hazard = traits.hazard[moves]
    laid = np.take_along_axis(side[:, 1], hazard.astype(np.intp), axis=1) > 0
    own_hazards = (side[:, 0, c.SIDE_STEALTH_ROCK : c.SIDE_STICKY_WEB + 1] > 0).any(axis=1)
    worth = np.where((hazard > 0) & ~laid & (foes_left >= 3)[:, None], HAZARD_VALUE, 0.0)
    worth += np.where(traits.removal[moves] & (own_hazards & (own_left >= 2))[:, None], REMOVAL_VALUE, 0.0)
    raised = active[:, place, c.ACTIVE_BOOST_ATK : c.ACTIVE_BOOST_SPE + 1].max(axis=1) * BOOST_SCALE
    calm = (left > 0.8) & (threat < 0.45) & (raised < 4)
    worth += np.where((traits.setup[moves] >= 2) & calm[:, None], SETUP_VALUE + 0.1 * traits.setup[moves], 0.0)
    missing = np.where((left < 0.6) & (threat < 0.5), 1.0 - left, 0.0)
    worth += np.minimum(traits.heal[moves], missing[:, None]) * (HEAL_VALUE / 0.5)
    total = np.repeat(worth[:, :, None], 3, axis=2).astype(np.float32)
    total += (traits.status[moves][:, :, None] * _open_to_status(dex, observation, view, moves)).astype(np.float32)
    return total


def _open_to_status(
    dex: Dex, observation: Mapping[str, Array], view: Outlook, moves: NDArray[np.intp]
) -> NDArray[np.float32]:
    """`float32[k, 4, 3]` whether the foe a status move would reach is healthy and of a type it touches."""
    places = np.maximum(observation["active_ids"][:, SLOTS:, c.ACTIVE_ID_POKEMON].astype(np.intp) - 1, 0)
    rows = np.arange(len(places))[:, None]
    healthy = (observation["pokemon_ids"][rows, places, c.POKEMON_ID_STATUS] == c.STATUS_NONE) & (view.foe_left > 0)
    healthy &= observation["active"][:, SLOTS:, c.ACTIVE_SUBSTITUTE] == 0
    types = observation["active_ids"][:, SLOTS:, [c.ACTIVE_ID_TYPE_1, c.ACTIVE_ID_TYPE_2]]
    effect = dex.effectiveness[dex.move_type[moves][:, :, None, None], types[:, None, :, :]].prod(axis=3)
    poison = ((types == dex.types["poison"]) | (types == dex.types["steel"])).any(axis=2)
    poisons = dex.move_type[moves] == dex.types["poison"]
    reached = healthy[:, None, :] & (effect > 0) & ~(poisons[:, :, None] & poison[:, None, :])
    by_target = np.empty((len(places), moves.shape[1], 3), np.float32)
    by_target[:, :, 1:] = reached
    by_target[:, :, 0] = reached.any(axis=2)
    return by_target


def switch_values(view: Outlook, *, place: int, forced: NDArray[np.bool_]) -> NDArray[np.float32]:
    """`float32[k, 6]` the worth of sending in each team row instead of the Pokémon at `place`.

    Where the switch is `forced: bool[k]` only the order among them matters.
    """
    current = view.match_up[np.arange(len(forced)), view.own_row[:, place]]
    # Who comes in takes the foe's hit first, and the own move of this turn is lost.
    gain = 0.5 * (view.match_up - current[:, None]) - SWITCH_COST - 0.3 * np.minimum(view.threat, 1.0)
    worth: NDArray[np.float32] = np.where(forced[:, None], view.match_up, gain).astype(np.float32)
    return worth
