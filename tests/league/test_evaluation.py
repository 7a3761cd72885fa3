"""Evaluation: fair seats, honest intervals."""

import pytest

from sparring.core import InputError, RandomPlayer, wilson_interval
from sparring.league import Entrant, evaluate
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


def test_a_name_that_is_no_player_is_refused_with_the_names_there_are():
    entrant = Entrant.parse("grandmaster")
    with pytest.raises(InputError, match="unknown player 'grandmaster'; hex has: random, path"):
        entrant.seat(hex.GAME, hex.spec(), matches=1, device=None, temperature=1, seed=0)
