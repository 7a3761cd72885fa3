"""Which actions a choice in Showdown's words may be: the way back from words to action numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions.gimmicks import GIMMICKS
from sparring.games.pokemon.actions.offer import KIND, LOCKED, PLACE_AT, POSITION, PREVIEW, SIZE
from sparring.games.pokemon.actions.powered import shows_as, shows_as_changed
from sparring.games.pokemon.actions.space import ActionSpace
from sparring.games.pokemon.columns import MOVES, TEAM
from sparring.games.pokemon.dex import Dex
from sparring.games.pokemon.formats import to_id

_GIMMICK_WORDS = {
    **{gimmick: gimmick for gimmick in GIMMICKS},
    "megax": "mega",
    "ultra": "mega",
    "max": "dynamax",
    "gigantamax": "dynamax",
    "terastal": "terastallize",
}
_TARGET_WORDS = {sign + number: int(sign + number) for sign in ("", "+", "-") for number in ("1", "2")}


@dataclass(frozen=True)
class Names:
    """What a side's Pokémon and their moves are called; a tracker knows (`Tracker.called`)."""

    dex: Dex
    team: Sequence[str]
    """By team slot; "" for one that has not shown itself."""
    moves: Sequence[Sequence[str]]
    """By own place: the ids of the moves that the Pokémon there has now, as action numbers count them."""


def fits_text(space: ActionSpace, offer: bytes | bytearray, text: str, names: Names) -> NDArray[np.bool_]:
    """Actions that a choice in Showdown's words may mean: `move surf 1`, `switch Mew, pass`, `/team 3142`, `default`...

    `/choose` in front and a request's number behind (`|12`) are left out. Of parts with `default` anything legal fits.
    """
    legal = space.legal(offer)
    kind, _, rest = text.partition("|")[0].strip().removeprefix("/").partition(" ")
    if kind == "choose":
        kind, _, rest = rest.strip().partition(" ")
    if kind in ("default", "auto") and not rest:
        return legal
    if kind == "team":
        return legal & _team(space, offer, rest)
    parts = [part.strip() for part in f"{kind} {rest}".split(",")]
    if offer[KIND] == PREVIEW:
        return np.zeros_like(legal)
    if len(parts) < space.active:  # Showdown passes for places that can do nothing else
        only_pass = _only_pass(space, legal)
        given = iter(parts)
        parts = ["pass" if only else next(given, "") for only in only_pass]
    if len(parts) != space.active:
        return np.zeros_like(legal)
    return legal & _joint(space, [_order(space, offer, place, part, names) for place, part in enumerate(parts)])


def _joint(space: ActionSpace, places: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """`bool[actions]` from one `bool[orders]` a place."""
    fits = np.zeros(space.actions, np.bool_)
    fits[: space.joint] = reduce(np.logical_and.outer, places).reshape(-1)
    return fits


def _only_pass(space: ActionSpace, legal: NDArray[np.bool_]) -> list[bool]:
    """Of each place, whether all legal actions let it pass."""
    passes = (space.orders.move < 0) & (space.orders.switch < 0)
    pairs = legal[: space.joint].reshape((space.orders.count,) * space.active)
    return [not np.moveaxis(pairs, place, 0)[~passes].any() and bool(pairs.any()) for place in range(space.active)]


def _order(space: ActionSpace, offer: bytes | bytearray, place: int, text: str, names: Names) -> NDArray[np.bool_]:
    """`bool[orders]` what the part of a choice for one place may mean."""
    orders = space.orders
    kind, _, rest = text.partition(" ")
    if kind in ("default", "auto"):
        return np.ones(orders.count, np.bool_)
    if kind in ("pass", "skip"):
        return (orders.move < 0) & (orders.switch < 0)
    if kind == "switch":
        called = rest.strip().lower()
        positions = [offer[POSITION + slot] for slot in range(TEAM)]
        slots = [slot for slot, name in enumerate(names.team) if called in (str(positions[slot]), name.lower())]
        return np.isin(orders.switch, [slot for slot in slots if positions[slot]])
    if kind != "move":
        return np.zeros(orders.count, np.bool_)
    words, gimmick, target = rest.split(), "", 0
    while len(words) > 1:
        if words[-1] in _GIMMICK_WORDS:
            gimmick = _GIMMICK_WORDS[words[-1]]
        elif words[-1] in _TARGET_WORDS and [to_id(word) for word in words] != ["conversion", "2"]:
            chosen = _TARGET_WORDS[words[-1]]
            # -1 is the own left place, -2 the right: the user itself is target 0, its ally target 3.
            target = chosen if chosen > 0 else 0 if chosen == -1 - place else 3
        else:
            break
        words.pop()
    fits = _moves(space, offer, place, "".join(words), names) & _gimmick(space, gimmick)
    if space.active > 1 and not offer[PLACE_AT[place] + LOCKED]:  # whom a locked move hits is settled
        fits &= orders.target == target
    return fits


def _moves(space: ActionSpace, offer: bytes | bytearray, place: int, name: str, names: Names) -> NDArray[np.bool_]:
    """`bool[orders]` moves that may go by `name`, which is a number from 1, a name or an id."""
    listed, id = names.moves[place][:MOVES], to_id(name)
    if offer[PLACE_AT[place] + LOCKED]:
        found = list(range(MOVES))  # there is but one order
    elif name.isdecimal() and len(name) == 1:
        found = [int(name) - 1]
    else:
        found = [number for number, own in enumerate(listed) if shows_as(names.dex, own, id)]
        found = found or [number for number, own in enumerate(listed) if shows_as_changed(names.dex, own, id)]
    fits: NDArray[np.bool_] = np.isin(space.orders.move, found)
    return fits


def _gimmick(space: ActionSpace, gimmick: str) -> NDArray[np.bool_]:
    """`bool[orders]` orders with a gimmick, or with none ("")."""
    numbers = ["", *space.gimmicks]
    fits: NDArray[np.bool_] = space.orders.gimmick == (numbers.index(gimmick) if gimmick in numbers else -1)
    return fits


def _team(space: ActionSpace, offer: bytes | bytearray, text: str) -> NDArray[np.bool_]:
    """`bool[actions]` the preview action of `3142` or `3, 1, 4, 2`."""
    fits = np.zeros(space.actions, np.bool_)
    digits = text.replace(",", "").replace(" ", "")
    if offer[KIND] == PREVIEW and digits.isdecimal():
        action = space.preview_action([int(digit) - 1 for digit in digits], offer[SIZE])
        if action is not None:
            fits[action] = True
    return fits
