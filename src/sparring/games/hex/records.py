"""Game records: of stored episodes, and of the matches of an arena as they end."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sparring.core import Episodes, InputError, MatchRecord
from sparring.games.hex.arena import HexArena
from sparring.games.hex.page import game_page
from sparring.games.hex.players import stones_short
from sparring.games.hex.text import Record, mirrored, stones_after


def follow(arena: HexArena, ended: Callable[[int, MatchRecord], None]) -> None:
    """Hands over every match of `arena` that ends, as a page; opening stones are its first moves.

    Its margin is how many stones the loser was short of a connection before the last move.
    """
    size = int(arena.spec.settings["size"])

    def hear(slot: int, moves: list[int], winner: int) -> None:
        def render(names: Sequence[str]) -> bytes:
            black, white = names
            record = Record(size, tuple(moves), black=black, white=white, winner=winner)
            return game_page(record, opening=arena.opening).encode()

        margin = stones_short(size, stones_after(size, moves[:-1]), 1 - winner)
        ended(slot, MatchRecord(margin=float(margin), suffix=".html", render=render))

    arena.listen(hear)


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
