"""What one number hides: seats, team sets and kinds of opponents in which a player does better or worse; circles."""

import numpy as np
import pytest

from sparring.league.intransitivity import cycles, payoffs
from sparring.league.ratings import ELO, chances, rate
from sparring.league.subsets import holes, subsets
from tests.league.support import counts, simulate


def test_an_even_score_that_hides_two_team_sets_is_warned_of():
    """15% with one team set and 61% with another make 50% together."""
    played = counts([0, 0, 1, 1], [1, 1, 0, 0], [15, 183, 85, 117], [0] * 4, [85, 117, 15, 183], players=2,
                    setup=[0, 1, 0, 1], setups=(("", "rain", ""), ("", "sun", "")))  # fmt: skip
    ratings = rate(played)
    found = {(one.player, one.value): one for one in subsets(played, ratings, "team_set")}
    rain = found[0, "rain"]
    assert rain.overall - rain.rating.value == pytest.approx(ELO * np.log(85 / 15), abs=20)
    assert rain.rating.high < rain.overall
    assert {(one.player, one.value) for one in holes(list(found.values()))} == set(found)


def test_where_nothing_is_hidden_warnings_are_rare():
    warned = 0
    for seed in range(60):
        played = simulate(np.array([0.0, 80.0, -120.0, 200.0]), 60, advantage=50.0, draw=0.4, seed=seed)
        warned += bool(holes(subsets(played, rate(played), "seat")))
    assert warned <= 3


def test_a_player_who_is_only_good_in_the_first_seat_is_found():
    truth = np.array([0.0, 0.0, 0.0, 0.0])
    played = simulate(truth, 200, seed=1)
    worse = played.first == 3
    played.wins[worse], played.losses[worse] = 170, 30
    found = holes(subsets(played, rate(played), "seat"))
    assert {one.player for one in found[:2]} == {3}
    assert {one.value: one.rating.value > one.overall for one in found if one.player == 3} == {
        "first": True,
        "second": False,
    }


def test_a_subset_rating_is_the_most_likely_and_its_interval_where_the_likelihood_falls():
    played = counts([0, 0], [1, 1], [30, 5], [0, 0], [10, 5], players=2, setup=[0, 1],
                    setups=(("", "", "a"), ("", "", "b")))  # fmt: skip
    ratings = rate(played, anchor=1)
    one = next(one for one in subsets(played, ratings, "opening") if (one.player, one.value) == (0, "a"))
    offset = ratings.advantage.value
    assert one.rating.value + offset == pytest.approx(ELO * np.log(3), abs=3)

    def fit(rating):
        win, _, loss = chances(np.array((rating + offset) / ELO), 0.0)
        return 30 * np.log(win) + 10 * np.log(loss)

    for end in (one.rating.low, one.rating.high):
        assert fit(one.rating.value) - fit(end) == pytest.approx(1.92, abs=0.02)


def test_a_subset_that_was_lost_whole_has_a_finite_rating_and_is_warned_of():
    played = counts([0, 0], [1, 1], [100, 0], [0, 0], [20, 80], players=2, setup=[0, 1],
                    setups=(("", "", "a"), ("", "", "b")))  # fmt: skip
    found = subsets(played, rate(played, anchor=1), "opening")
    assert all(np.isfinite([one.rating.low, one.rating.high]).all() for one in found)
    assert len(holes(found)) == 4


def test_by_kind_of_opponent():
    kinds = ["network", "network", "built-in"]
    played = counts([0, 0, 1], [1, 2, 2], [50, 20, 90], [0] * 3, [50, 80, 10], players=3, kinds=kinds)
    found = {(one.player, one.value): one for one in subsets(played, rate(played), "opponent")}
    assert set(found) == {(0, "network"), (0, "built-in"), (1, "network"), (1, "built-in"), (2, "network")}
    assert found[0, "network"].matches == 100
    assert found[0, "built-in"].rating.value < found[0, "network"].rating.value


def test_an_axis_of_one_value_has_no_subsets():
    played = simulate(np.array([0.0, 100.0]), 10)
    assert subsets(played, rate(played), "team_set") == []


def test_rock_paper_scissors_goes_round():
    played = counts(
        [0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2], [90] * 3 + [10] * 3, [0] * 6, [10] * 3 + [90] * 3, players=3
    )
    found = cycles(played, rate(played))
    assert found.cyclic > 0.99
    assert found.p_value < 1e-9
    assert found.worst in {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    table = payoffs(played)
    assert table[0, 1] == 0.9
    assert table[1, 0] == pytest.approx(0.1)
    assert np.isnan(np.diag(table)).all()


def test_a_ladder_does_not_go_round():
    played = simulate(np.array([0.0, 150.0, 300.0, 450.0]), 300, advantage=30.0, seed=2)
    found = cycles(played, rate(played))
    assert found.gradient > 0.97
    assert found.p_value > 0.001
    assert found.worst is None
    assert found.gradient + found.cyclic == pytest.approx(1)


def test_half_of_each():
    """A potential (1, 0, -1) and a circle of the same energy; weights of pairs move the shares, not to either end."""
    ladder = {(0, 1): 1.0, (1, 2): 1.0, (0, 2): 2.0}
    circle = {(0, 1): np.sqrt(2), (1, 2): np.sqrt(2), (0, 2): -np.sqrt(2)}
    odds = np.exp([ladder[pair] + circle[pair] for pair in ladder])
    wins = 1e9 * odds / (1 + odds)
    one, other = np.array(list(ladder)).T
    played = counts([*one, *other], [*other, *one], [*wins, *(1e9 - wins)], [0] * 6, [*(1e9 - wins), *wins], players=3)
    found = cycles(played, rate(played))
    assert 0.2 < found.cyclic < 0.8
    assert found.by_chance < 1e-6


def test_players_who_met_nobody_in_common_have_no_circles():
    played = counts([0], [1], [3], [0], [1], players=2)
    found = cycles(played, rate(played))
    assert (found.gradient, found.p_value, found.worst) == (pytest.approx(1), 1.0, None)
