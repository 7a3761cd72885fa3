"""The outcome that counts for a match: the arena's, unless a player forfeited."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparring.core import Forfeit, Forfeiting, Player, Results

_LONGEST_NOTE = 300


def judged(
    results: Results, seated: NDArray[np.int32], players: Mapping[str, Player]
) -> tuple[Results, tuple[str, ...]]:
    """`results` with the outcomes that count, and a note for each match: why a player forfeited it, if one did.

    `seated: int32[n, seats]` are the numbers in `players` of those in the n matches. The first to forfeit has lost.
    Call this before the next matches in the same slots are played on.
    """
    notes = [""] * len(results)
    forfeiting = [
        (number, name, player)
        for number, (name, player) in enumerate(players.items())
        if isinstance(player, Forfeiting)
    ]
    if not forfeiting:
        return results, tuple(notes)
    outcome = results.outcome.copy()
    for at in np.flatnonzero(~results.failed).tolist():
        found: list[tuple[Forfeit, int, str]] = []
        for number, name, player in forfeiting:
            forfeit = player.forfeited(int(results.match[at])) if number in seated[at] else None
            if forfeit is not None:
                found.append((forfeit, number, name))
        if found:
            forfeit, number, name = min(found, key=lambda one: one[0].time)
            outcome[at] = np.where(seated[at] == number, -1.0, 1.0)
            notes[at] = f"{name} forfeits: {forfeit.reason}"[:_LONGEST_NOTE]
    return replace(results, outcome=outcome), tuple(notes)
