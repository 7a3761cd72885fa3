"""SPRT over pairs of matches: wrong answers as rare as promised, and safe whatever the results are."""

import numpy as np
import pytest

from sparring.core import InputError
from sparring.league.sprt import SCORES, Sprt, pair_result


def until_decided(test, elo, rng, *, bias, step=16):
    """How a test ends between players `elo` apart who meet from unbalanced starts, asked every `step` pairs."""
    score = 1 / (1 + 10 ** (-elo / 400))
    pairs = np.zeros(5, np.int64)
    while (verdict := test.verdict(pairs)) is None:
        tilt = rng.normal(0, bias, step)
        points = sum((rng.random(step) < np.clip(score + side * tilt, 0, 1)).astype(int) for side in (1, -1))
        pairs += np.bincount(2 * points, minlength=5)
    return verdict, int(pairs.sum())


@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize(("elo", "wrong"), [(0, "elo1"), (60, "elo0")])
def test_wrong_answers_are_as_rare_as_promised(elo, wrong, bias):
    test = Sprt(0, 60)
    ends = [until_decided(test, elo, np.random.default_rng([7, number]), bias=bias) for number in range(200)]
    mistakes = sum(verdict == wrong for verdict, _ in ends)
    assert mistakes <= 18  # 5% of 200 is 10; more than 18 has a chance below 1%
    assert np.mean([pairs for _, pairs in ends]) < 300


def test_the_most_likely_distributions_are_those_of_a_worked_example():
    """Of 10 pairs 4 were lost and 6 won. With mean s only these two results count: LLR = 4 log + 6 log."""
    test = Sprt(0, 100)
    s0, s1 = 0.5, 1 / (1 + 10 ** (-100 / 400))
    by_hand = 4 * np.log((1 - s1) / (1 - s0)) + 6 * np.log(s1 / s0)
    assert test.ratio(np.array([4, 0, 0, 0, 6])) == pytest.approx(by_hand, abs=0.01)
    assert test.bounds == pytest.approx((-np.log(19), np.log(19)))


@pytest.mark.parametrize("result", range(5))
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_any_record_has_an_answer(result, count):
    pairs = np.zeros(5, np.int64)
    pairs[result] = count
    ratio = Sprt(0, 20).ratio(pairs)
    assert np.isfinite(ratio)
    if count == 1000:
        assert Sprt(0, 20).verdict(pairs) == ("elo1" if SCORES[result] > 0.5 else "elo0")


def test_points_of_a_pair():
    assert [pair_result(points) for points in (0, 0.5, 1, 1.5, 2)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("text", ["", "5", "1,2,3", "a,b", "20,0", "5,5", "nan,5", "0,inf"])
def test_what_is_no_test_is_one_line(text):
    with pytest.raises(InputError, match="--sprt"):
        Sprt.parse(text, confidence=0.95)
