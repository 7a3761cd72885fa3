"""Tournaments: pairs from one start, every match once, and whatever is in the ledger is not played again."""

import numpy as np
import pytest

from sparring.core import InputError, RandomPlayer, load_game
from sparring.core.settings import convert
from sparring.league import tournament
from sparring.league.bouts import BLOCK, Table, block_seed
from sparring.league.ledger import Ledger
from sparring.league.tournament import Rules, play_tournament
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.rollout import Collector, everyone
from tests import hex

SMALL = {"game": "hex", "settings": {"size": 4}}


def kept(path):
    with Ledger(path) as ledger:
        return list(ledger.matches())


def fixed(matches=8, **more):
    return Rules(schedule="round-robin", matches=matches, **more)


@pytest.fixture
def tiny(tmp_path):
    folder = tmp_path / "tiny"
    save_checkpoint(folder, Checkpoint(hex.spec(), {"channels": 8, "blocks": 1}, 1, hex.policy().state_dict(), {}))
    return str(folder)


def test_a_round_robin_plays_every_start_both_ways(tmp_path, tiny):
    path = tmp_path / "x.ledger"
    found = play_tournament(["path", "random", tiny], path, fixed(), **SMALL)
    matches = kept(path)
    assert len(matches) == 3 * 8 == found["matches"]
    for names in ({"path", "random"}, {"path", tiny}, {"random", tiny}):
        mine = [one for one in matches if {seat.name for seat in one.seats} == names]
        assert sorted((one.opening, one.seats[0].name) for one in mine) == sorted(
            (str(start), name) for start in range(4) for name in names
        )
    assert {one.settings["opening"] for one in matches} == {2}
    assert found["players"][0]["player"] == "path"
    assert found["cross_table"][0][0] is None
    assert found["cross_table"][0][2]["wins"] + found["cross_table"][0][2]["losses"] == 8


def test_an_active_schedule_says_if_its_matches_were_not_enough(tmp_path):
    said = []
    for width, matches in ((2000.0, 20), (1.0, 8)):
        rules = Rules(elo_width=width, matches=matches)
        play_tournament(["path", "random"], tmp_path / f"{matches}.ledger", rules, say=said.append, **SMALL)
    assert said == ["some intervals are wider than 1 Elo after the 8 matches it may play; more: --matches above 8"]


def test_the_same_again_plays_nothing_and_more_players_or_matches_add_to_it(tmp_path):
    path = tmp_path / "x.ledger"
    play_tournament(["path", "random"], path, fixed(), **SMALL)
    before = kept(path)
    play_tournament(["random", "path"], path, fixed(), **SMALL)
    assert kept(path) == before
    play_tournament(["random", "path"], path, fixed(12), **SMALL)
    assert len(kept(path)) == 12
    assert before == [one for one in kept(path) if one in before]


def test_what_was_stopped_goes_on(tmp_path):
    path = tmp_path / "x.ledger"

    def stop(progress):
        if progress.matches >= 5:
            raise KeyboardInterrupt

    found = play_tournament(["path", "random"], path, fixed(40), on_progress=stop, **SMALL)
    before = kept(path)
    assert not found["complete"]
    assert 5 <= len(before) < 40
    found = play_tournament(["path", "random"], path, fixed(40), **SMALL)
    assert found["complete"]
    assert len(kept(path)) == found["matches"] == 40
    assert all(one in kept(path) for one in before)


def test_worker_processes_play_the_same_matches(tmp_path):
    path = tmp_path / "x.ledger"
    found = play_tournament(["path", "random"], path, fixed(70, workers=2), **SMALL)
    assert len(kept(path)) == found["matches"] == 70
    assert found["complete"]


class Three:
    """A crew that takes three bouts at a time, and plays the last that it got first."""

    room = 3

    def __init__(self, table):
        self.table, self.taken, self.most = table, [], 0

    def begin(self, bout):
        self.taken.append(bout)
        self.most = max(self.most, len(self.taken))
        places = [
            (bout.one, bout.other, order, at) for bout in self.taken for order in (0, 1) for at in bout.starts[order]
        ]
        assert len(places) == len(set(places))

    def wait(self):
        return [self.table.play(self.taken.pop())]

    def close(self):
        self.table.close()


@pytest.mark.parametrize("schedule", ["round-robin", "active", "swiss", "gauntlet"])
def test_several_bouts_of_two_players_are_played_at_a_time(tmp_path, monkeypatch, schedule):
    path, crews = tmp_path / "x.ledger", []

    def crew(players, seating, style, rules, ledger, book, say):
        crews.append(Three(Table(seating, style, book.add, seed=rules.seed)))
        return crews[0]

    monkeypatch.setattr(tournament, "_crew", crew)
    rules = Rules(schedule=schedule, matches=170, rounds=schedule == "swiss", workers=3)
    found = play_tournament(["path", "random"], path, rules, **SMALL)
    assert found["complete"]
    assert len(kept(path)) == found["matches"]
    assert found["matches"] == 170 or (schedule == "active" and 64 < found["matches"] < 170)
    assert crews[0].most == 3


def test_an_sprt_ends_as_soon_as_it_is_decided(tmp_path):
    path = tmp_path / "x.ledger"
    rules = Rules(sprt="0,100", matches=1000)
    found = play_tournament(["path", "random"], path, rules, **SMALL)["sprt"]
    assert found["accepted"] == "elo1"
    assert sum(found["pairs"]) == len(kept(path)) / 2 <= 2 * BLOCK
    found = play_tournament(["random", "path"], path, rules, **SMALL)["sprt"]
    assert found["accepted"] == "elo0"
    assert len(kept(path)) <= 4 * BLOCK


@pytest.mark.parametrize(
    ("game", "settings"), [("hex", {"size": 5, "opening": 4}), ("leduc", {}), ("kuhn", {})], ids=str
)
def test_two_arenas_with_one_seed_begin_the_same_matches(game, settings):
    """What the pairs of a tournament rest on, whatever the number of slots."""
    plugin = load_game(game)
    chosen = convert(settings, plugin.settings, where=game)
    seen = []
    for matches in (BLOCK, 5):
        arena = plugin.arena(chosen, matches=matches, seed=block_seed(3, 1))
        rows, _ = arena.wait()
        seen.append({name: field[:5].copy() for name, field in rows.observation.items()})
        Collector(plugin.arena(chosen, matches=3, seed=1), {"a": RandomPlayer(0)}, everyone(0, 2)).play(3)
    for name in seen[0]:
        assert np.array_equal(seen[0][name], seen[1][name])
    other, _ = plugin.arena(chosen, matches=BLOCK, seed=block_seed(3, 2)).wait()
    assert game == "rps" or any(not np.array_equal(seen[0][name], other.observation[name][:5]) for name in seen[0])


@pytest.mark.parametrize(
    ("players", "rules", "words"),
    [
        (["path"], {}, "two players or more"),
        (["path", "path"], {}, "path: the same player twice"),
        (["path", "random", "hex-7x7"], {"sprt": "0,5"}, "a test between two players; 3 are given"),
        (["path", "random"], {"schedule": "swiss", "elo_width": 50.0}, "--elo-width is for the active schedule"),
        (["path", "random"], {"elo_width": 50.0, "confidence": 0.9}, "give one"),
        (["path", "random"], {"anchor": "bob"}, "'bob' is no player"),
        (["path", "nobody"], {}, "unknown player 'nobody'"),
        (["path", "heuristic"], {}, "unknown player 'heuristic'; hex has"),
        (["path", "pokemon-gen1"], {}, "a checkpoint of pokemon cannot play hex"),
    ],
)
def test_bad_input_is_one_line_and_plays_nothing(tmp_path, players, rules, words):
    path = tmp_path / "x.ledger"
    with pytest.raises(InputError) as refusal:
        play_tournament(players, path, Rules(**rules), **SMALL)
    assert words in str(refusal.value)
    assert not path.exists() or not kept(path)


def test_the_same_weights_under_two_names_are_one_player(tmp_path, tiny, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="the same weights"):
        play_tournament([tiny, "./tiny"], tmp_path / "x.ledger", fixed(), **SMALL)
