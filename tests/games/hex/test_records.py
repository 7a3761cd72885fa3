"""Stored episodes, and matches of an arena as they end, come out as the records of what was played."""

import numpy as np
import pytest

from sparring.core import InputError, RandomPlayer
from sparring.games.hex import HexSettings
from sparring.games.hex.players import stones_short
from sparring.games.hex.records import records
from sparring.games.hex.text import read_sgf, stones_after, write_sgf
from sparring.rollout import Collector, everyone, taking_turns
from tests import hex as small
from tests.games.hex.support import RecordingArena, sgf_in


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


@pytest.mark.parametrize("settings", [{}, {"opening": 3}, {"swap": True}], ids=str)
def test_every_match_is_handed_over_by_its_slot_before_its_result(settings):
    arena = RecordingArena(HexSettings(size=4, **settings), matches=6, seed=0)
    kept = {}
    small.GAME.follow(arena, kept.__setitem__)
    collector = Collector(arena, {"ann": RandomPlayer(0), "ben": RandomPlayer(1)}, everyone(0, 2))
    margins = []
    while len(margins) < 40:
        _, results = collector.advance()
        for slot, outcome in zip(results.match.tolist(), results.outcome, strict=True):
            found = kept.pop(slot)
            record = read_sgf(sgf_in(found.render(("ann", "ben")).decode()))
            assert (list(record.moves), record.winner) == (arena.finished[slot], int(np.argmax(outcome)))
            assert (record.black, record.white, found.suffix) == ("ann", "ben", ".html")
            margins.append(found.margin)
    assert min(margins) >= 1
    assert len(set(margins)) > 1


def test_the_margin_is_what_the_loser_was_short_of():
    """Black wins down the first column; white lacks the last cell of that column and two more."""
    moves = [0, 5, 4, 6, 8, 15, 12]
    stones = stones_after(4, moves[:-1])
    assert stones_short(4, stones, 0) == 1
    assert stones_short(4, stones, 1) == 3
    assert stones_short(4, stones_after(4, []), 1) == 4
