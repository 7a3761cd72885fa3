"""Evaluation: fair seats, honest intervals."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import sparring
from sparring.cli.evaluate import interruption_told
from sparring.core import Answers, Forfeit, InputError, RandomPlayer, Results, Score, shipped_weights, wilson_interval
from sparring.games.hex import HexArena
from sparring.league import Entrant, Seating, Style, evaluate
from sparring.league.evaluation import evaluate_entrants
from sparring.league.ledger import Identity, Ledger
from sparring.league.rated import RatedMatches, identity
from sparring.league.verdicts import judged
from sparring.policy.checkpoint import load_checkpoint
from tests import hex


def test_the_path_heuristic_beats_random_from_both_seats():
    path = hex.GAME.players["path"](hex.settings(5), 0)
    score = evaluate(path, RandomPlayer(0), hex.arena(size=5, matches=64), matches=100)
    assert score.matches == 100
    assert score.win_rate > 0.95


def test_a_player_against_its_like_scores_about_half():
    score = evaluate(RandomPlayer(0), RandomPlayer(1), hex.arena(matches=64), matches=400)
    low, high = score.interval
    assert low < 0.5 < high
    assert score.wins + score.losses == 400


@pytest.mark.parametrize(
    ("rate", "matches", "expected"),
    [(0.5, 100, (0.4038, 0.5962)), (1.0, 10, (0.7225, 1.0)), (0.0, 10, (0.0, 0.2775))],
)
def test_the_interval_is_wilsons(rate, matches, expected):
    """Values from the closed form, as any table of Wilson intervals gives them."""
    assert wilson_interval(rate, matches) == pytest.approx(expected, abs=1e-3)


def test_scores_add_up():
    total = Score(1, 2, 3, failed=1, decisions_per_match=10.0) + Score(4, 0, 0, decisions_per_match=20.0)
    assert total == Score(5, 2, 3, failed=1, decisions_per_match=14.0)
    assert total.win_rate == pytest.approx(0.6)


def test_players_of_any_kind_are_evaluated_by_name_or_as_they_are():
    score = sparring.evaluate("path", RandomPlayer(0), game="hex", settings={"size": 4}, matches=40)
    assert score.matches == 40
    assert score.win_rate > 0.9
    again = sparring.evaluate("path", RandomPlayer(0), game="hex", settings={"size": 4}, matches=40)
    assert again == score


@pytest.mark.parametrize("parallel", [1, 4, 256])
def test_decisions_a_match_are_those_of_the_matches_that_count(parallel):
    """On the smallest board two who fill it row by row always need as many stones."""

    class InOrder:
        def act(self, decisions):
            return Answers(action=decisions.legal.argmax(axis=1).astype(np.int32))

    score = sparring.evaluate(InOrder(), InOrder(), game="hex", settings={"size": 3}, matches=10, parallel=parallel)
    one = sparring.evaluate(InOrder(), InOrder(), game="hex", settings={"size": 3}, matches=1)
    assert score.decisions_per_match == one.decisions_per_match > 4


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"parallel": 0}, "parallel = 0: allowed: a whole number, 1 or more"),
        ({"matches": 0}, "matches = 0: allowed: a whole number, 1 or more"),
        ({"matches": "x"}, "matches = 'x': allowed: a whole number, 1 or more"),
        ({"matches": -1}, "matches = -1: allowed: a whole number, 1 or more"),
        ({"seed": -1}, "seed = -1: allowed: a whole number, 0 or more"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(asked, message):
    with pytest.raises(InputError, match=message):
        sparring.evaluate("path", "random", game="hex", settings={"size": 3}, **asked)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        *[(name, "a number, 0 or more") for name in ("temperature", "patience")],
        ("policy_threshold", "a number, 0 to 1"),
        *[(name, "a whole number, 0 or more") for name in ("simulations", "threads")],
    ],
)
def test_a_style_that_makes_no_sense_is_refused(name, allowed):
    with pytest.raises(InputError, match=f"{name} = -1: allowed: {allowed}"):
        sparring.Style(**{name: -1})


def test_a_program_that_evaluates_keeps_its_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)
    try:
        sparring.evaluate("hex-7x7", "random", matches=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("answer", "gave"),
    [
        (lambda k: Answers(action=np.zeros(1, np.int32)), r"int32\[1\]"),
        (lambda k: Answers(action=np.zeros(k + 1, np.int32)), r"int32\[\d+\]"),
        (lambda k: Answers(action=np.full(k, 3.7)), r"float64\[\d+\]"),
        (lambda k: np.zeros(k, np.int32), "ndarray"),
        (lambda k: None, "NoneType"),
    ],
)
def test_answers_that_are_none_are_one_line_that_names_the_player(answer, gave):
    class Careless:
        def act(self, decisions):
            return answer(len(decisions))

    wanted = rf"player Careless: act\(\) must give Answers with int32\[\d+\] actions, not {gave}"
    with pytest.raises(InputError, match=wanted):
        sparring.evaluate(Careless(), "random", game="hex", settings={"size": 3}, matches=8)


@pytest.mark.parametrize(
    ("who", "what"), [(RandomPlayer, "the class RandomPlayer"), (7, "a int"), (None, "a NoneType")]
)
def test_what_is_no_player_is_told_what_is(who, what):
    with pytest.raises(InputError, match=f"{what} is no player; allowed: a name, a path, a checkpoint"):
        sparring.evaluate(who, "random", game="hex")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"game": object()}, "game = .*: allowed: the name of a game"),
        ({"settings": [5]}, r"settings = \[5\]: allowed: a mapping"),
        ({"style": {"temperature": 0}}, "style = .*: allowed: a Style"),
        ({"second": Path("no/such/run")}, "no/such/run: no such file or folder"),
    ],
)
def test_what_a_program_passes_wrongly_is_one_line(wrong, told):
    with pytest.raises(InputError, match=told):
        sparring.evaluate(**{"first": "random", "second": "path", "game": "hex", **wrong})


def test_a_path_is_a_player_and_a_score_prints_what_counts():
    weights = shipped_weights("hex")["hex-7x7"]
    score = sparring.evaluate(weights, sparring.load_checkpoint(weights), matches=4, settings={"opening": 2})
    assert re.fullmatch(r"\d+\.\d% \(\d+\.\d% - \d+\.\d%\): \d won, 0 drawn, \d lost", str(score))
    assert repr(sparring.load_checkpoint(weights)).startswith("<Checkpoint of hex {'size': 7")


def test_players_who_are_there_already_are_kept_in_a_ledger_by_their_class(tmp_path):
    path = tmp_path / "hex.ledger"
    score = sparring.evaluate("path", RandomPlayer(0), game="hex", settings={"size": 4}, matches=10, ledger=path)
    with Ledger(path) as ledger:
        kept = list(ledger.matches())
    assert {(seat.name, seat.kind) for one in kept for seat in one.seats} == {
        ("path", "built-in"),
        ("RandomPlayer", "code"),
    }
    assert sum(seat.outcome == 1 for one in kept for seat in one.seats if seat.name == "path") == score.wins


def test_a_program_that_fails_has_lost_and_the_ledger_says_why(tmp_path):
    path, program = tmp_path / "hex.ledger", f"gtp:{sys.executable} -c pass"
    score = sparring.evaluate("random", program, game="hex", settings={"size": 4}, matches=6, ledger=path)
    assert (score.wins, score.losses, len(score.forfeits)) == (6, 0, 6)
    with Ledger(path) as ledger:
        kept = list(ledger.matches())
    assert sorted(one.note for one in kept) == sorted(score.forfeits)
    assert all(seat.outcome == (-1 if seat.name == program else 1) for one in kept for seat in one.seats)
    assert sum(one.seats[0].name == program for one in kept) == 3


def test_of_two_who_forfeit_the_first_has_lost():
    class Gives(RandomPlayer):
        def __init__(self, seed, times):
            super().__init__(seed)
            self.times = times

        def forfeited(self, match):
            return None if self.times[match] is None else Forfeit(f"gave up at {self.times[match]}", self.times[match])

    players = {"ann": Gives(0, [1.0, 5.0, None, 3.0]), "ben": Gives(1, [2.0, 4.0, None, None]), "": RandomPlayer(0)}
    ended = replace(Results.none(2), match=np.arange(4, dtype=np.int32), failed=np.array([False, False, False, True]))
    ended = replace(ended, outcome=np.float32([[-1, 1]] * 4), reward=np.zeros((4, 2), np.float32))
    found, notes = judged(ended, np.int32([[0, 1], [0, 1], [1, 0], [0, 1]]), players)
    assert found.outcome.tolist() == [[-1, 1], [1, -1], [-1, 1], [-1, 1]]
    assert notes == ("ann forfeits: gave up at 1.0", "ben forfeits: gave up at 4.0", "", "")
    alone, notes = judged(ended, np.int32([[2, 2]] * 4), players)
    assert alone.outcome.tolist() == ended.outcome.tolist()
    assert notes == ("",) * 4


def test_matches_that_broke_off_are_not_kept(tmp_path):
    class Breaking(HexArena):
        def wait(self):
            rows, results = super().wait()
            return rows, replace(results, failed=results.match % 2 == 0)

    seating = Seating.of("path", "random", game="hex", settings={"size": 3})
    with Ledger(tmp_path / "hex.ledger", create=True) as ledger:
        rated = RatedMatches(ledger, seating, Style(), parallel=4, seed=0)
        arena = Breaking(hex.settings(3), matches=4, seed=0)
        score = evaluate(RandomPlayer(0), RandomPlayer(1), arena, matches=12, record=rated.add)
        assert score.failed > 0
        assert len(ledger) == score.matches


def test_who_an_entrant_is_depends_on_its_weights_and_on_how_it_plays():
    plain, net = Entrant.parse("path"), Entrant.parse("hex-7x7")
    looking = Style(simulations=8, temperature=0.5)
    assert identity(plain, looking) == Identity(name="path", kind="built-in")
    assert identity(net, looking).style == "simulations=8"
    assert identity(net, Style(temperature=0, policy_threshold=0.02)).style == "temperature=0 policy-threshold=0.02"
    assert identity(net, Style()) == Identity(
        name="hex-7x7", checkpoint=load_checkpoint(net.folder).digest, kind="network"
    )
    assert identity(Entrant.parse("tcp://localhost:5/a"), Style()).kind == "server"


def test_names_reach_the_records_an_arena_keeps_and_equal_ones_are_numbered():
    class Naming(HexArena):
        def __init__(self):
            super().__init__(hex.settings(3), matches=1, seed=0)
            self.first = None

        def name_seats(self, matches, names):
            self.first = self.first or names[0]

    def seated(play):
        arena = Naming()
        play([RandomPlayer(0), RandomPlayer(1)], arena)
        return arena.first

    assert seated(lambda players, arena: evaluate(*players, arena, matches=2, names=("ann", "ben"))) == ["ann", "ben"]
    twins = seated(lambda players, arena: evaluate(*players, arena, matches=2, names=("ann", "ann")))
    assert twins == ["ann (1)", "ann (2)"]


@pytest.mark.parametrize(("temperature", "repeats"), [(0.0, True), (1.0, False)])
def test_the_same_match_again_and_again_is_said(temperature, repeats):
    said = []
    seating = Seating.of("hex-7x7", "hex-7x7", settings={"size": 5})
    evaluate_entrants(seating, matches=8, style=Style(temperature=temperature, threads=1), say=said.append)
    assert any("the same match again and again" in line for line in said) == repeats


def test_ctrl_c_says_what_becomes_of_the_matches(tmp_path):
    class Stops(RandomPlayer):
        def act(self, decisions):
            raise KeyboardInterrupt

    told = []
    bar = SimpleNamespace(done=7.0, say=told.append)
    for ledger in (None, tmp_path / "x.ledger"):
        with pytest.raises(KeyboardInterrupt), interruption_told(bar, 400, ledger):
            evaluate(Stops(0), RandomPlayer(1), hex.arena(matches=4), matches=8)
    assert told == [
        "stopped after 7 of 400 matches: nothing is kept; --ledger FILE would",
        f"stopped after 7 of 400 matches: {tmp_path / 'x.ledger'} has those that ended",
    ]
