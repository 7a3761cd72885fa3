"""Ratings: known strengths are found, intervals cover the truth as often as they say, order does not matter."""

import random

import numpy as np
import pytest
from scipy.optimize import check_grad

from sparring.core import InputError
from sparring.league.counts import merged, pair_counts
from sparring.league.ledger import Identity, Ledger, Seat
from sparring.league.ratings import ELO, _Likelihood, chances, find_player, labels, rate
from tests.league.support import counts, match, simulate


def test_known_strengths_draws_and_seat_advantage_are_recovered():
    truth = np.array([0.0, -300.0, -100.0, 150.0, 420.0])
    found = rate(simulate(truth, 20_000, advantage=60.0, draw=0.7, seed=1))
    assert found.rating == pytest.approx(truth, abs=12)
    assert found.advantage.value == pytest.approx(60, abs=4)
    assert found.draw == pytest.approx(0.7, abs=0.03)
    assert found.expected()[4, 0] == pytest.approx(np.mean([score(480, 0.7), score(360, 0.7)]), abs=0.01)


def score(gap, draw):
    win, even, _ = chances(np.array(gap / ELO), draw)
    return win + even / 2


def test_elo_points_mean_what_they_always_mean():
    """Without draws, 400 points are ten to one."""
    found = rate(counts([0, 1], [1, 0], [10_000, 1_000], [0, 0], [1_000, 10_000], players=2))
    assert found.rating[1] == pytest.approx(-400, abs=0.5)
    assert found.expected()[0, 1] == pytest.approx(10 / 11, abs=1e-3)
    assert found.gxe() == pytest.approx([10 / 11, 1 / 11], abs=1e-3)


def test_a_worked_example_with_draws():
    """Davidson's estimates of two players are closed: wins to losses are exp(d), draws are exp(t) times their mean."""
    found = rate(counts([0, 1], [1, 0], [400, 100], [200, 200], [100, 400], players=2))
    assert -found.rating[1] / ELO == pytest.approx(np.log(4), rel=1e-3)
    assert found.draw == pytest.approx(200 / np.sqrt(400 * 100), rel=1e-3)
    assert found.advantage.value == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("draw", [0.0, 0.6])
def test_the_derivatives_are_those_of_the_function(draw):
    likelihood = _Likelihood(simulate(np.array([0.0, 200.0, -50.0]), 30, advantage=20.0, draw=draw))
    rng = np.random.default_rng(0)
    for _ in range(3):
        theta = likelihood.start() + rng.normal(0, 1, len(likelihood.start()))
        assert check_grad(likelihood.value, likelihood.gradient, theta) < 1e-3
        step = 1e-6 * rng.normal(size=len(theta))
        moved = likelihood.gradient(theta + step) - likelihood.gradient(theta - step)
        assert moved == pytest.approx(2 * likelihood.hessian(theta) @ step, rel=1e-4, abs=1e-9)


def coverage(runs, **world):
    """The share of 95% intervals of differences to the anchor, and of the advantage, that cover the truth."""
    hits, seats = [], []
    for seed in range(runs):
        truth = np.random.default_rng(10_000 + seed).normal(0, world["spread"], world["players"])
        found = rate(simulate(truth, world["matches"], advantage=40.0, draw=world["draw"], seed=seed))
        for player in range(1, len(truth)):
            interval = found.estimate(player)
            hits.append(interval.low <= truth[player] - truth[0] <= interval.high)
        seats.append(found.advantage.low <= 40 <= found.advantage.high)
    return np.mean(hits), np.mean(seats)


def test_95_percent_intervals_cover_the_truth_in_95_percent():
    ratings, _ = coverage(250, players=8, matches=20, spread=200.0, draw=0.5)
    assert 0.93 <= ratings <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("draw", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("players", "matches", "spread"), [(2, 50, 100.0), (6, 4, 200.0), (12, 10, 300.0)])
def test_95_percent_intervals_cover_the_truth_in_many_worlds(players, matches, spread, draw):
    ratings, seats = coverage(2000, players=players, matches=matches, spread=spread, draw=draw)
    assert 0.93 <= ratings <= 0.97
    assert 0.93 <= seats <= 0.97


def test_the_order_of_matches_changes_no_bit(tmp_path):
    rng = random.Random(0)
    played = [
        match(at, *rng.sample(["ann", "ben", "cid", "dot"], 2), rng.choice([1.0, 0.0, -1.0]), opening=rng.choice("xyz"))
        for at in range(300)
    ]
    found = []
    for number in range(3):
        with Ledger(tmp_path / f"{number}.ledger", create=True) as ledger:
            ledger.add(played)
            found.append(rate(pair_counts(ledger.tallies("hex"))))
        rng.shuffle(played)
    for other in found[1:]:
        assert other.players == found[0].players
        assert other.rating.tobytes() == found[0].rating.tobytes()
        assert other.covariance.tobytes() == found[0].covariance.tobytes()
        assert other.advantage == found[0].advantage


def test_who_won_or_lost_all_has_a_finite_rating_and_a_wide_interval():
    def record(wins):
        return counts([0, 1, 0, 1], [1, 0, 2, 2], [wins, 0, wins, 10], [0] * 4, [0, wins, 0, 10], players=3)

    some = rate(record(20), anchor=1)
    assert 200 < some.rating[0] < 2000
    assert some.estimate(0).high - some.estimate(0).low > 500
    assert some.estimate(0).low > 0
    assert {type(end) for end in vars(some.estimate(0)).values()} == {float}  # it prints no names of numpy's
    assert rate(record(2000), anchor=1).rating[0] > some.rating[0]


@pytest.mark.parametrize("results", [(0, 10**6, 0), (10**6, 0, 0), (0, 1, 0), (1, 0, 0), (10**9, 1, 0)])
def test_extreme_results_have_finite_ratings(results):
    found = rate(counts([0], [1], *([count] for count in results), players=2))
    assert np.isfinite([*found.rating, found.draw, found.advantage.low, found.advantage.high]).all()
    assert np.isfinite(found.covariance).all()
    assert found.estimate(1).low < found.rating[1] < found.estimate(1).high


def test_the_anchor_moves_the_numbers_and_no_difference():
    played = simulate(np.array([0.0, 100.0, 250.0]), 50, seed=3)
    one, other = rate(played, anchor=0), rate(played, anchor=2)
    assert np.diff(one.rating) == pytest.approx(np.diff(other.rating))
    assert other.rating[2] == 0
    assert other.estimate(2).low == other.estimate(2).high == 0
    assert one.superiority() == pytest.approx(other.superiority())


def test_the_anchor_is_the_built_in_player_of_most_matches():
    kinds = ["network", "built-in", "built-in"]
    played = counts([0, 0, 1], [1, 2, 2], [1, 9, 1], [0, 0, 0], [1, 9, 1], players=3, kinds=kinds)
    assert rate(played).anchor == 2


def test_likelihood_of_superiority():
    likely = rate(simulate(np.array([0.0, 0.0, 300.0]), 100, seed=4)).superiority()
    assert likely[2, 0] > 0.999
    assert likely + likely.T == pytest.approx(np.ones((3, 3)))
    equals = [rate(simulate(np.zeros(2), 50, seed=seed)).superiority()[0, 1] for seed in range(200)]
    assert np.histogram(equals, 4, (0, 1))[0] == pytest.approx([50] * 4, abs=20)  # of equals it may be anything


def test_pools_that_no_match_connects_are_told():
    found = rate(counts([0, 2, 3], [1, 3, 2], [5, 9, 1], [0] * 3, [5, 1, 9], players=5), anchor=2)
    assert found.pools == ((2, 3), (0, 1), (4,))
    assert found.error(0, 2) > 500  # what lies between two pools is as uncertain as the prior
    assert found.error(3, 2) < 250


def test_matches_against_oneself_tell_of_the_seat_and_not_of_strength():
    found = rate(counts([0, 0], [0, 1], [750, 5], [0, 0], [250, 5], players=2))
    assert found.advantage.value == pytest.approx(ELO * np.log(3), abs=8)


def test_two_seats_of_a_team_are_one_player_and_mixed_teams_are_left_out():
    def teams(*names):
        return tuple(Seat(name=name, team=at // 2, outcome=1.0 if at < 2 else -1.0) for at, name in enumerate(names))

    with_ledger = [match(1, seats=teams("a", "a", "b", "b")), match(2, seats=teams("a", "b", "b", "b"))]
    tallies = tallied(with_ledger)
    assert (tallies.wins.tolist(), tallies.left_out) == ([1], 1)
    assert [player.name for player in tallies.players] == ["a", "b"]


def tallied(matches):
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder, Ledger(f"{folder}/x.ledger", create=True) as ledger:
        ledger.add(matches)
        return pair_counts(ledger.tallies("hex"))


def test_setups_are_merged():
    apart = counts([0, 0, 1], [1, 1, 0], [1, 2, 3], [4, 5, 6], [7, 8, 9], players=2, setup=[0, 1, 0],
                   setups=(("", "a", ""), ("", "b", "")))  # fmt: skip
    together = merged(apart)
    assert together.wins.tolist() == [3, 3]
    assert together.draws.tolist() == [9, 6]
    assert together.losses.tolist() == [15, 9]


def test_players_of_one_name_are_told_apart():
    players = [Identity(name="run", checkpoint="aa" * 32), Identity(name="run", checkpoint="bb" * 32),
               Identity(name="path"), Identity(name="net", style="simulations=8")]  # fmt: skip
    assert labels(players) == ["run@aaaaaaaa", "run@bbbbbbbb", "path", "net (simulations=8)"]
    assert labels([Identity(name="a", kind="code"), Identity(name="a", kind="server")]) == ["a (code)", "a (server)"]
    assert find_player(players, "run@bbbbbbbb") == 1
    assert find_player(players, "net") == 3
    assert find_player(players, "path") == 2
    with pytest.raises(InputError, match="'run' is several players"):
        find_player(players, "run")
    with pytest.raises(InputError, match="'pth' is no player .* it has: run@aaaaaaaa"):
        find_player(players, "pth")


def test_nothing_to_rate_is_said():
    with pytest.raises(InputError, match="no matches between two players"):
        rate(counts([], [], [], [], [], players=0))
