"""Which actions an order may have been: the way back from words, or from what a log shows, to action numbers.

Both questions are answered with `bool[actions]`: those that are legal under the offer and consistent with what was
said or seen. A log seldom shows everything (who was aimed at when a move was redirected, what a Pokémon that fainted
first was told), and what it does not show excludes nothing.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions.gimmicks import GIMMICKS
from sparring.games.pokemon.actions.offer import AIM_NONE, KIND, LOCKED, PLACE_AT, POSITION, PREVIEW, SIZE, named
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


@dataclass(frozen=True)
class Shown:
    """What a log shows of the order to one place, None for what it does not show."""

    move: str | None = None
    """The name or id of the move that was used, by its own name or as a max move or Z-move."""
    target: int | None = None
    """Index into `orders.TARGETS`; it says nothing about moves that are chosen without a target."""
    gimmick: str | None = None
    """One of `GIMMICKS` if it was used with this order, "" if none was."""
    switch: int | None = None
    """The team slot that came in."""


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


def fits_shown(
    space: ActionSpace,
    offer: bytes | bytearray,
    shown: Sequence[Shown],
    names: Names,
    *,
    brought: Collection[int] = (),
) -> NDArray[np.bool_]:
    """Actions that may have led to what a log shows of each place, `shown: [active]`.

    In team preview, `Shown.switch` are the leads, and `brought` the team slots that are known to have come along.
    """
    legal = space.legal(offer)
    if offer[KIND] == PREVIEW:
        leads = {one.switch for one in shown if one.switch is not None}
        return _previewed(space, legal, leads, set(brought))
    return legal & _joint(space, [_shown(space, offer, place, one, names) for place, one in enumerate(shown)])


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
        slots = [slot for slot in range(TEAM) if called in (str(offer[POSITION + slot]), names.team[slot].lower())]
        return np.isin(orders.switch, [slot for slot in slots if offer[POSITION + slot]])
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
    return fits & (orders.target == target) if space.active > 1 else fits


def _shown(space: ActionSpace, offer: bytes | bytearray, place: int, shown: Shown, names: Names) -> NDArray[np.bool_]:
    """`bool[orders]` what may have been ordered at one place."""
    orders = space.orders
    fits = np.ones(orders.count, np.bool_)
    if shown.switch is not None:
        fits &= orders.switch == shown.switch
    if shown.move is not None:
        fits &= _moves(space, offer, place, shown.move, names)
    if shown.gimmick is not None:
        fits &= _gimmick(space, shown.gimmick)
    if shown.target is not None and space.active > 1:
        # In the format's blocks: which moves are chosen without a target.
        aims = named(offer)["place"]["aims"][0, place]
        block = np.array([0, *(1 + GIMMICKS.index(gimmick) for gimmick in space.gimmicks)])[orders.gimmick]
        untargeted = aims[block, orders.move] == AIM_NONE
        fits &= (orders.move < 0) | untargeted | (orders.target == shown.target)
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


def _previewed(space: ActionSpace, legal: NDArray[np.bool_], leads: set[int], brought: set[int]) -> NDArray[np.bool_]:
    """`bool[actions]` legal preview actions with these leads in front and those brought along."""
    fits = np.zeros_like(legal)
    for action in np.flatnonzero(legal).tolist():
        if space.preview is not None:
            pick = space.preview.picks[action - space.joint]
            fits[action] = leads <= set(pick[: space.active]) and brought <= set(pick)
        else:
            fits[action] = leads <= {int(space.orders.switch[order]) for order in space.orders_of(action)}
    return fits
