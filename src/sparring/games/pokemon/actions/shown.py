"""Which actions may have led to what a log shows: the way back from play to action numbers.

A log seldom shows everything (who was aimed at when a move was redirected, what a Pokémon that fainted first was told).
What it does not show excludes nothing, so the answer is a set of actions.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions.fits import Names
from sparring.games.pokemon.actions.gimmicks import GIMMICKS
from sparring.games.pokemon.actions.offer import AIM_NONE, AIMS, KIND, LOCKED, PLACE_AT, PREVIEW
from sparring.games.pokemon.actions.orders import TARGETS
from sparring.games.pokemon.actions.powered import is_powered, shows_as, shows_as_changed
from sparring.games.pokemon.actions.space import ActionSpace
from sparring.games.pokemon.columns import MOVES, TEAM
from sparring.games.pokemon.formats import to_id


@dataclass(frozen=True, slots=True)
class Shown:
    """What a log shows of the order to one place; None or empty for what it does not show."""

    order: str = ""
    """`move`, `switch` or `pass`."""
    move: str = ""
    """The name or id of the move that was used, by its own name or as a max move or Z-move."""
    target: int | None = None
    """Index into `orders.TARGETS`; it says nothing about moves that are chosen without a target."""
    gimmick: str | None = None
    """One of `GIMMICKS` if it was used with this order, "" if none was."""
    switch: Collection[int] = ()
    """The team slot that came in, or several that it may have been."""


def fits_shown(
    space: ActionSpace,
    offer: bytes | bytearray,
    legal: NDArray[np.bool_],
    shown: Sequence[Shown],
    names: Names,
    *,
    brought: Collection[int] = (),
) -> NDArray[np.bool_]:
    """`bool[actions]` of the `legal` actions under `offer` those that may have led to what is shown of each place.

    In team preview `Shown.switch` are the leads, and `brought` the team slots that are known to have come along.
    """
    if offer[KIND] == PREVIEW:
        return _previewed(space, legal, [one.switch for one in shown if one.switch], set(brought))
    places = [_order(_kinds(space), offer, place, one, names) for place, one in enumerate(shown)]
    if space.active == 1:
        fits: NDArray[np.bool_] = legal.copy()
        fits[: space.joint] &= places[0]
        return fits
    fits = legal.copy()
    pairs = fits[: space.joint].reshape(space.orders.count, space.orders.count)
    pairs &= places[0][:, None]
    pairs &= places[1]
    return fits


class _Kinds:
    """Which orders are of which kind, each `bool[orders]`."""

    def __init__(self, space: ActionSpace) -> None:
        orders = space.orders
        self.any: NDArray[np.bool_] = np.ones(orders.count, np.bool_)
        self.move = [orders.move == move for move in range(MOVES)]
        self.switch = [orders.switch == slot for slot in range(TEAM)]
        self.target = [orders.target == target for target in range(len(TARGETS))]
        self.gimmick = {name: orders.gimmick == number for number, name in enumerate(("", *space.gimmicks))}
        self.by_order = {
            "": self.any,
            "move": orders.move >= 0,
            "switch": orders.switch >= 0,
            "pass": (orders.move < 0) & (orders.switch < 0),
        }
        blocks = np.array([0, *(1 + GIMMICKS.index(name) for name in space.gimmicks)])[orders.gimmick]
        self.aims_at = AIMS + blocks * MOVES + np.maximum(orders.move, 0)
        """`int[orders]` where a place of an offer has the aims of a move."""

    @cached_property
    def none(self) -> NDArray[np.bool_]:
        """No order."""
        return ~self.any


@lru_cache(maxsize=64)
def _kinds(space: ActionSpace) -> _Kinds:
    return _Kinds(space)


def _order(kinds: _Kinds, offer: bytes | bytearray, place: int, shown: Shown, names: Names) -> NDArray[np.bool_]:
    """`bool[orders]` what may have been ordered at one place."""
    fits = kinds.by_order[shown.order]
    if shown.switch:
        fits = _any_of(kinds, kinds.switch, shown.switch)
    if shown.move:
        locked = offer[PLACE_AT[place] + LOCKED]  # there is but one order
        fits = fits & _any_of(kinds, kinds.move, range(MOVES) if locked else _moves(names, place, to_id(shown.move)))
    if shown.gimmick is not None:
        fits = fits & kinds.gimmick.get(shown.gimmick, kinds.none)
    if shown.target is not None and len(names.moves) > 1:
        at = PLACE_AT[place]
        aims = np.frombuffer(offer, np.uint8)[at + kinds.aims_at]
        fits = fits & (kinds.target[shown.target] | (aims == AIM_NONE) | ~kinds.by_order["move"])
    return fits


def _any_of(kinds: _Kinds, which: Sequence[NDArray[np.bool_]], numbers: Collection[int]) -> NDArray[np.bool_]:
    fits = kinds.none
    for number in numbers:
        fits = fits | which[number]
    return fits


def _moves(names: Names, place: int, id: str) -> list[int]:
    """Places in the list of the Pokémon at `place` of the moves that a log may call `id`."""
    listed = names.moves[place][:MOVES]
    if id in listed:
        return [number for number, own in enumerate(listed) if own == id]  # by Mimic a move may be there twice
    found = [number for number, own in enumerate(listed) if own and shows_as(names.dex, own, id)]
    if found and not is_powered(names.dex, id):
        return found
    # It may be one that never shows by its own name, or a max move or Z-move whose type something has changed.
    unknown = [number for number, own in enumerate(listed) if not own]
    changed = [number for number, own in enumerate(listed) if own and shows_as_changed(names.dex, own, id)]
    return found + unknown or changed or list(range(len(listed)))


def _previewed(
    space: ActionSpace, legal: NDArray[np.bool_], leads: Sequence[Collection[int]], brought: set[int]
) -> NDArray[np.bool_]:
    """`bool[actions]` legal preview actions with one of each of `leads` in front, and with those brought along."""
    fits = np.zeros_like(legal)
    for action in np.flatnonzero(legal).tolist():
        if space.preview is not None:
            pick = space.preview.picks[action - space.joint]
            front, fine = set(pick[: space.active]), brought <= set(pick)
        else:
            front, fine = {int(space.orders.switch[order]) for order in space.orders_of(action)}, True
        fits[action] = fine and all(front & set(lead) for lead in leads)
    return fits
