"""The legal mask of many offers at once, as a compiled loop."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.games.pokemon.actions.offer import (
    ACTS,
    AIMS,
    ENTERS,
    FAINTED,
    FORCED,
    KIND,
    MEGA,
    MEGA_WORDS,
    MUST_SWITCH,
    PLACE_AT,
    PREVIEW,
    REVIVING,
    SIZE,
    TRAPPED,
    TURN,
)
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM

_MEGA, _ULTRA = MEGA_WORDS.index("mega"), MEGA_WORDS.index("ultra")


@njit(cache=True, nogil=True)
def write_masks(
    offers: NDArray[np.uint8],
    blocks: NDArray[np.int64],
    targets: int,
    together: NDArray[np.bool_],
    preview: NDArray[np.bool_],
    legal: NDArray[np.bool_],
) -> None:
    """Writes what `offers: uint8[k, WIDTH]` allow into `legal: bool[k, actions]`; an empty offer allows nothing.

    `blocks: int64[b]` are the blocks of `aims` that the format has numbers for, plain moves first. `targets` is 1 in
    singles, where an action is an order, and 4 in doubles, where it is a pair of them. `together: bool[2, orders,
    orders]` says which orders of the two places go together, the second table where one Pokémon may mega evolve and the
    other ultra burst. `preview: bool[TEAM + 1, actions]` is the mask of team preview by team size.
    """
    orders = together.shape[1]
    slot = np.zeros((SLOTS, orders), np.bool_)
    for row in range(len(offers)):
        offer = offers[row]
        if offer[KIND] == PREVIEW:
            legal[row] = preview[min(offer[SIZE], TEAM)]
            continue
        legal[row] = False
        if offer[KIND] != TURN and offer[KIND] != FORCED:
            continue
        if targets == 1:
            _orders(offer, 0, blocks, targets, 0, slot[0])
            legal[row, :orders] = slot[0]
            continue
        passes = _passes(offer)
        for place in range(SLOTS):
            _orders(offer, place, blocks, targets, passes, slot[place])
        first, second = offer[PLACE_AT[0] + MEGA], offer[PLACE_AT[1] + MEGA]
        burst = (first == _MEGA and second == _ULTRA) or (first == _ULTRA and second == _MEGA)
        pairs = together[1] if burst else together[0]
        for left in range(orders):
            if slot[0, left]:
                for right in range(orders):
                    legal[row, left * orders + right] = slot[1, right] and pairs[left, right]
        if passes == 1 and offer[PLACE_AT[0] + MUST_SWITCH] and offer[PLACE_AT[1] + MUST_SWITCH]:
            _one_switches(targets * MOVES, orders, legal[row])


@njit(cache=True, nogil=True)
def _orders(
    offer: NDArray[np.uint8], place: int, blocks: NDArray[np.int64], targets: int, passes: int, slot: NDArray[np.bool_]
) -> None:
    """Writes what the Pokémon at `place` may be told on its own into `slot: bool[orders]`."""
    slot[:] = False
    at = PLACE_AT[place]
    switch = MOVES * targets
    pass_order = switch + TEAM
    if offer[KIND] == FORCED:
        if offer[at + MUST_SWITCH]:
            start = FAINTED if offer[at + REVIVING] else ENTERS
            for member in range(TEAM):
                slot[switch + member] = offer[start + member] != 0
        if targets > 1:
            slot[pass_order] = passes > 0 or not offer[at + MUST_SWITCH]
        return
    if not offer[at + ACTS]:
        if targets > 1:
            slot[pass_order] = True
        return
    for block in range(len(blocks)):
        first = 0 if block == 0 else len(slot) - (len(blocks) - block) * MOVES * targets
        aims_at = at + AIMS + blocks[block] * MOVES
        for move in range(MOVES):
            aims = offer[aims_at + move]
            if targets == 1:
                slot[first + move] = aims != 0
            else:
                for target in range(targets):
                    slot[first + move * targets + target] = (aims >> target) & 1
    if not offer[at + TRAPPED]:
        for member in range(TEAM):
            slot[switch + member] = offer[ENTERS + member] != 0


@njit(cache=True, nogil=True)
def _passes(offer: NDArray[np.uint8]) -> int:
    """How many places that must switch have nobody to come in for them."""
    missing = 0
    if offer[KIND] == FORCED:
        for place in range(SLOTS):
            missing += offer[PLACE_AT[place] + MUST_SWITCH] != 0
        for member in range(TEAM):
            missing -= offer[ENTERS + member] != 0
    return max(0, missing)


@njit(cache=True, nogil=True)
def _one_switches(switch: int, orders: int, legal: NDArray[np.bool_]) -> None:
    """One reserve for two places: exactly one of them switches, the other passes."""
    pass_order = switch + TEAM
    legal[pass_order * orders + pass_order] = False
    for left in range(switch, pass_order):
        for right in range(switch, pass_order):
            legal[left * orders + right] = False
