"""Scores: counts that can be added up."""

import numpy as np
import pytest

from sparring.core import InputError, Score


def test_scores_add_up():
    scores = [Score(3, 1, 0, decisions_per_match=10), Score(1, 0, 3, failed=2, decisions_per_match=20)]
    assert sum(scores) == scores[0] + scores[1] == Score(4, 1, 3, failed=2, decisions_per_match=15)
    assert sum([Score(1, 0, 0)]) == Score(1, 0, 0)


def test_points_per_minute_add_up_over_the_minutes_of_both():
    short = Score(1, 0, 0, points_per_minute=(2.0, 1.0), minutes=5.0)
    long = Score(0, 0, 3, points_per_minute=(0.0, 3.0), minutes=15.0)
    both = short + long
    assert both.points_per_minute == pytest.approx((0.5, 2.5))
    assert both.minutes == 20.0
    assert (short + Score(0, 1, 0)).points_per_minute == (2.0, 1.0)
    assert (Score(1, 0, 0) + Score(0, 1, 0)).points_per_minute is None


def test_points_of_which_nobody_knows_the_minutes_are_not_added():
    with pytest.raises(InputError, match="in how many minutes"):
        Score(1, 0, 0, points_per_minute=(2.0, 1.0)) + Score(1, 0, 0, points_per_minute=(1.0, 1.0), minutes=5.0)


def test_reasons_add_up_word_by_word():
    scores = [Score(2, 0, 0, endings={"time": 2}), Score(2, 1, 0, endings={"time": 1, "idle": 2}), Score(1, 0, 0)]
    assert sum(scores).endings == {"time": 3, "idle": 2}
    assert len({*scores, Score(1, 0, 0)}) == 3


@pytest.mark.parametrize("other", [5, 0, "a", None])
def test_only_scores_are_added_to_scores(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        Score(1, 0, 0) + other


@pytest.mark.parametrize("wins", [-1, 1.5, "3", None])
def test_counts_are_whole_numbers(wins):
    with pytest.raises(InputError, match=f"wins = {wins!r}: allowed: a whole number, 0 or more"):
        Score(wins, 0, 0)
    assert Score(np.int64(3), 0, 0).matches == 3
