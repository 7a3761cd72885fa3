"""Evaluation: fair seats, honest intervals."""

import pytest

import sparring
from sparring.core import RandomPlayer, Score, wilson_interval
from sparring.league import evaluate
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
