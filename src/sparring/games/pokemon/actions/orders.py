"""What each order number of one slot means, as arrays: for networks, players and names.

Singles and doubles share one numbering rule: plain moves, switches, (pass,) then a block of moves for each
gimmick. Plain moves and switches have the same numbers in every format of a game type.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.columns import MOVES, TEAM

TARGETS = ("", "foe 1", "foe 2", "ally")
"""Where a doubles move is aimed: nowhere (or at its user), at a foe's slot, at the ally."""


@dataclass(frozen=True)
class Orders:
    """The meaning of `count` orders; -1 (or gimmick 0) where a part does not apply."""

    count: int
    move: NDArray[np.int8]
    """`int8[count]` place of the move in the Pokémon's list."""
    target: NDArray[np.int8]
    """`int8[count]` index into `TARGETS`."""
    gimmick: NDArray[np.int8]
    """`int8[count]` 0 plain, else 1 + the index into the format's gimmicks."""
    switch: NDArray[np.int8]
    """`int8[count]` team slot to switch to."""
    first_switch: int
    first_gimmick: int
    names: tuple[str, ...]
    """`[count]` what people call them."""


def make_orders(gimmicks: Sequence[str], *, targets: int, passes: bool) -> Orders:
    """The orders of one slot: `targets` 1 in singles, 4 in doubles; `passes` adds the pass order."""
    rows: list[tuple[int, int, int, int, str]] = []

    def add_moves(gimmick: int) -> None:
        word = f" {gimmicks[gimmick - 1]}" if gimmick else ""
        for move in range(MOVES):
            for target in range(targets):
                aim = f" at {TARGETS[target]}" if target else ""
                rows.append((move, target, gimmick, -1, f"move {move + 1}{aim}{word}"))

    add_moves(0)
    first_switch = len(rows)
    rows += [(-1, 0, 0, slot, f"switch to slot {slot + 1}") for slot in range(TEAM)]
    if passes:
        rows.append((-1, 0, 0, -1, "pass"))
    first_gimmick = len(rows)
    for gimmick in range(1, len(gimmicks) + 1):
        add_moves(gimmick)
    move, target, gimmick_of, switch = (np.array([row[part] for row in rows], np.int8) for part in range(4))
    return Orders(
        count=len(rows),
        move=move,
        target=target,
        gimmick=gimmick_of,
        switch=switch,
        first_switch=first_switch,
        first_gimmick=first_gimmick,
        names=tuple(row[4] for row in rows),
    )
