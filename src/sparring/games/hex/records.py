"""Stored episodes as game records."""

from collections.abc import Iterator

import numpy as np

from sparring.core import Episodes, InputError
from sparring.games.hex.text import Record, mirrored


def records(episodes: Episodes) -> Iterator[Record]:
    """One record for each match of which both seats' episodes are there, in the order of their numbers."""
    size = int(episodes.spec.settings["size"])
    starts = episodes.starts
    for match in np.unique(episodes.match):
        both = np.flatnonzero(episodes.match == match)
        if len(both) != 2:
            continue
        moves: dict[int, int] = {}
        for number in both.tolist():
            rows = slice(int(starts[number]), int(starts[number] + episodes.lengths[number]))
            actions = episodes.action[rows].tolist()
            if episodes.seat[number] == 1:
                actions = [mirrored(size, action) for action in actions]
            moves |= zip(episodes.turn[rows].tolist(), actions, strict=True)
        opener = both[np.argmin(episodes.turn[starts[both]])]
        if episodes.observation["planes"][starts[opener]].any():
            raise InputError("these matches began with random opening stones, which a record of moves cannot hold")
        names = {int(episodes.seat[number]): episodes.players[episodes.player[number]] for number in both}
        winner = int(episodes.seat[both[np.argmax(episodes.outcome[both])]])
        line = tuple(moves[turn] for turn in sorted(moves))
        yield Record(size=size, moves=line, black=names[0], white=names[1], winner=winner)
