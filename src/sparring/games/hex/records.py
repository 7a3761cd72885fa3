"""Stored episodes as game records."""

from collections.abc import Iterator

import numpy as np

from sparring.core import Episodes, InputError
from sparring.games.hex.text import Record, mirrored


def records(episodes: Episodes) -> Iterator[Record]:
    """One record for each match of which both seats' episodes are there, in the order of their numbers."""
    size = int(episodes.spec.settings["size"])
    headers, steps, starts = episodes.headers, episodes.steps, episodes.starts
    for serial in np.unique(headers.serial):
        both = np.flatnonzero(headers.serial == serial)
        if len(both) != 2:
            continue
        moves: dict[int, int] = {}
        for number in both.tolist():
            rows = slice(int(starts[number]), int(starts[number] + headers.lengths[number]))
            actions = steps.action[rows].tolist()
            if headers.seat[number] == 1:
                actions = [mirrored(size, action) for action in actions]
            moves |= zip(steps.turn[rows].tolist(), actions, strict=True)
        opener = both[np.argmin(steps.turn[starts[both]])]
        if steps.observation["planes"][starts[opener]].any():
            raise InputError("these matches began with random opening stones, which a record of moves cannot hold")
        names = {int(headers.seat[number]): episodes.players[headers.player[number]] for number in both}
        winner = int(headers.seat[both[np.argmax(headers.outcome[both])]])
        line = tuple(moves[turn] for turn in sorted(moves))
        yield Record(size=size, moves=line, black=names[0], white=names[1], winner=winner)
