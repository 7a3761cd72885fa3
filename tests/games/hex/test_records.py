"""Stored episodes come out as the records of the matches that were played."""

import numpy as np
import pytest

from sparring.core import InputError, RandomPlayer
from sparring.games.hex import HexSettings
from sparring.games.hex.records import records
from sparring.games.hex.text import read_sgf, write_sgf
from sparring.rollout import Collector, everyone, taking_turns
from tests import hex as small
from tests.games.hex.support import RecordingArena


@pytest.mark.parametrize("swap", [False, True])
def test_records_are_the_arenas_own_histories(swap):
    arena = RecordingArena(HexSettings(size=4, swap=swap), matches=6, seed=0)
    players = {"ann": RandomPlayer(0), "ben": RandomPlayer(1)}
    collector = Collector(arena, players, taking_turns([0, 1], 2), record=["ann", "ben"])
    histories = {}
    while len(histories) < 40:
        serials, results = collector.advance()
        for serial, match, outcome in zip(serials, results.match, results.outcome, strict=True):
            histories[int(serial)] = (arena.finished[int(match)], int(np.argmax(outcome)))
    episodes = collector.collect(1)
    found = list(records(episodes))
    assert len(found) == len(histories)
    for number, record in zip(np.unique(episodes.headers.serial).tolist(), found, strict=True):
        history, winner = histories[number]
        assert list(record.moves) == history
        assert record.winner == winner
        assert {record.black, record.white} == {"ann", "ben"}
        assert read_sgf(write_sgf(record)) == record


def test_random_openings_are_refused():
    arena = small.arena(4, matches=2, opening=2)
    episodes = Collector(arena, {"a": RandomPlayer(0)}, everyone(0, 2), record=["a"]).collect(40)
    with pytest.raises(InputError, match="random opening stones"):
        list(records(episodes))
