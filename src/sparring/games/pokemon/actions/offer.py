"""The offer: what one side may do now, as a small record of bytes.

A tracker keeps it up to date from requests; a test, or a replay, whose log has no requests, fills one in by name:

    offer = np.zeros(1, OFFER)
    offer["kind"] = TURN
    offer["size"] = 3
    offer["position"] = [1, 2, 3, 0, 0, 0]
    offer["enters"] = [0, 1, 1, 0, 0, 0]
    place = offer["place"][:, 0]
    place["acts"] = 1
    place["aims"][:, 0, 2] = AIM_NONE  # the third move, plain, takes no target
    legal = space.mask(flat(offer))

The legal mask and Showdown's choice strings are functions of the offer alone (`ActionSpace`), and so is the answer to
which actions an order in words or in a log may have been (`fits`). Flat, k offers are `uint8[k, WIDTH]`; the plain
numbers below say where things lie in a row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions.gimmicks import GIMMICKS
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM

NOTHING, TURN, FORCED, PREVIEW = range(4)
"""Kinds of offers: none, moves and switches, only switches for those that must leave, the choice before turn 1."""

AIM_NONE, AIM_FOE_1, AIM_FOE_2, AIM_ALLY = 1, 2, 4, 8
"""Bits of how a move may be aimed: at nobody (or its user), at the foe's left or right, at the ally."""
AIMS_OF = {
    "normal": AIM_FOE_1 | AIM_FOE_2 | AIM_ALLY,
    "any": AIM_FOE_1 | AIM_FOE_2 | AIM_ALLY,
    "adjacentFoe": AIM_FOE_1 | AIM_FOE_2,
    "adjacentAlly": AIM_ALLY,
    "adjacentAllyOrSelf": AIM_NONE | AIM_ALLY,
}
"""Showdown's target type to the aims a doubles move may be chosen with; every other type takes `AIM_NONE`."""

RECHARGE, STRUGGLE, FIGHT, CALLED = range(MOVES + 1, MOVES + 5)
"""Moves that a Pokémon may be locked into outside of its list: the last is one that another move has called."""

MEGA_WORDS = ("", "mega", "megax", "ultra")
"""What gimmick `mega` is in Showdown's choices, by the number a place has of it."""

PLACE = np.dtype(
    [
        ("aims", np.uint8, (1 + len(GIMMICKS), MOVES)),
        ("acts", np.uint8),
        ("locked", np.uint8),
        ("trapped", np.uint8),
        ("maybe_trapped", np.uint8),
        ("must_switch", np.uint8),
        ("reviving", np.uint8),
        ("mega", np.uint8),
    ]
)
"""One place on the field, in a turn or a forced switch.

`aims`: plain and with each of `GIMMICKS`, by move: the `AIM_*` bits it may be chosen with, 0 if it may not. `acts`: a
Pokémon that takes orders stands there. `locked`: 0, or the only order: 1 + the move's place in its list, or one of
`RECHARGE`, `STRUGGLE`, `FIGHT`, `CALLED`. `trapped`: it may not leave. `maybe_trapped`: it may try. `must_switch`: it
leaves now; `reviving`: or rather brings back one that fainted. `mega`: index into `MEGA_WORDS`.
"""

OFFER = np.dtype(
    [
        ("kind", np.uint8),
        ("size", np.uint8),
        ("position", np.uint8, (TEAM,)),
        ("enters", np.uint8, (TEAM,)),
        ("fainted", np.uint8, (TEAM,)),
        ("place", PLACE, (SLOTS,)),
    ]
)
"""All that one side is offered.

`size`: Pokémon of its team. By team slot, which is the place in the team as the battle began: `position`, where it is
in Showdown's list now, which every switch reorders and choices count in (from 1; 0 if it was not brought); `enters`:
it may come in; `fainted`: it may be revived.
"""

WIDTH = OFFER.itemsize
"""Bytes of an offer."""


def _at(record: "np.dtype[Any]", name: str) -> int:
    """Where a field starts in its record."""
    assert record.fields is not None
    return int(record.fields[name][1])


KIND, SIZE = _at(OFFER, "kind"), _at(OFFER, "size")
POSITION, ENTERS, FAINTED = _at(OFFER, "position"), _at(OFFER, "enters"), _at(OFFER, "fainted")
PLACE_AT = tuple(_at(OFFER, "place") + place * PLACE.itemsize for place in range(SLOTS))
"""By place: where it starts in an offer. The columns below count from there."""
AIMS, ACTS, LOCKED, MEGA = _at(PLACE, "aims"), _at(PLACE, "acts"), _at(PLACE, "locked"), _at(PLACE, "mega")
TRAPPED, MAYBE_TRAPPED = _at(PLACE, "trapped"), _at(PLACE, "maybe_trapped")
MUST_SWITCH, REVIVING = _at(PLACE, "must_switch"), _at(PLACE, "reviving")


def flat(offers: NDArray[np.void]) -> NDArray[np.uint8]:
    """`OFFER[k]` as `uint8[k, WIDTH]`, the same memory."""
    return offers.view(np.uint8).reshape(len(offers), WIDTH)


def named(offer: bytes | bytearray) -> NDArray[np.void]:
    """An offer's bytes as `OFFER[1]`, the same memory, to read by name."""
    return np.frombuffer(offer, OFFER)
