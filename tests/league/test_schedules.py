"""Schedules: who meets whom, from nothing but the score sheet."""

import numpy as np
import pytest

from sparring.league.bouts import BLOCK, Ended
from sparring.league.ledger import Identity
from sparring.league.ratings import ELO, Z, chances
from sparring.league.schedules import ScoreSheet, active, gauntlet, round_robin, swiss


def sheet(n):
    return ScoreSheet.empty(tuple(Identity(name=f"p{at:02}") for at in range(n)), 0)


def play(sheet, pair, starts, truth, rng):
    """Both matches of `starts` more starts between players of known strength."""
    begun = sheet.begun(pair)
    win, _, _ = chances(np.float64((truth[pair[0]] - truth[pair[1]]) / ELO), 0.0)
    for start in range(begun, begun + starts):
        for order in (0, 1):
            sheet.add(pair, Ended(start, order, float(rng.random() < win)))


def play_out(schedule, sheet, truth, seed=0):
    """Plays until the schedule wants no more; the matches it took."""
    rng = np.random.default_rng(seed)
    for _ in range(10_000):
        behind = {pair: starts - sheet.begun(pair) for pair, starts in schedule(sheet).items()}
        behind = {pair: starts for pair, starts in behind.items() if starts > 0}
        if not behind:
            return sheet.matches()
        pair = min(behind)
        play(sheet, pair, min(behind[pair], BLOCK), truth, rng)
    raise AssertionError("it never ends")


def test_round_robin_and_gauntlet():
    assert play_out(round_robin(5), sheet(4), np.zeros(4)) == 6 * 10
    found = sheet(4)
    assert play_out(gauntlet(5), found, np.zeros(4)) == 3 * 10
    assert all(0 in pair for pair in found.ended)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_swiss_pairs_equals_whom_nobody_has_met_and_finds_the_best(n):
    truth = np.arange(n)[::-1] * 400.0
    found = sheet(n)
    rounds = max(1, int(np.ceil(np.log2(n))))
    assert play_out(swiss(8, rounds), found, truth) == rounds * (n // 2) * 16
    assert all(len(ended) == 16 for ended in found.ended.values()), "nobody meets twice"
    points = np.zeros(n)
    for pair in found.ended:
        won, played = found.points(pair)
        points[list(pair)] += [won, played - won]
    assert points.argmax() == 0


def test_the_active_schedule_ends_when_every_interval_is_narrow():
    truth = np.array([0.0, 100.0, -150.0, 60.0])
    found = sheet(4)
    play_out(active(width=120, confidence=None, matches=10_000), found, truth)
    ratings = found.ratings()
    assert all(2 * Z * ratings.error(at, 0) <= 120 for at in range(4))
    assert np.abs(ratings.rating - truth).max() < 100


def test_the_active_schedule_ends_when_every_order_is_sure():
    truth = np.array([0.0, 200.0, -200.0, 400.0])
    found = sheet(4)
    taken = play_out(active(width=None, confidence=0.98, matches=10_000), found, truth)
    sure = found.ratings().superiority()
    assert (np.maximum(sure, sure.T)[~np.eye(4, dtype=bool)] >= 0.98).all()
    assert found.ratings().rating.argsort().tolist() == truth.argsort().tolist()
    assert taken < 1500


def test_the_active_schedule_never_plays_more_than_it_may():
    assert play_out(active(width=1, confidence=None, matches=200), sheet(3), np.zeros(3)) == 200


def test_the_active_schedule_prefers_pairs_that_take_less_time():
    found = sheet(3)
    found.seconds = {(0, 1): 100.0, (0, 2): 1.0, (1, 2): 100.0}
    play_out(active(width=60, confidence=None, matches=400), found, np.zeros(3))
    assert len(found.ended[0, 2]) > 2 * sum(len(found.ended.get(pair, ())) for pair in ((0, 1),))


def test_a_pair_that_is_being_played_counts_as_known():
    found = sheet(3)
    first = max(active(width=50, confidence=None, matches=1000)(found).items(), key=lambda item: item[1])[0]
    found.flying[first] = {(start, order) for start in range(BLOCK) for order in (0, 1)}
    wanted = active(width=50, confidence=None, matches=1000)(found)
    assert max(wanted.items(), key=lambda item: item[1] - found.begun(item[0]))[0] != first


@pytest.mark.parametrize(("width", "reached"), [(400, 400), (200, 200), (50, 400)])
def test_a_player_who_always_loses_leaves_matches_to_those_whose_rating_can_become_certain(width, reached):
    """Intervals of 50 are beyond anyone with these matches: then each player gets a share."""
    found = sheet(3)
    play_out(active(width=width, confidence=None, matches=300), found, np.array([0.0, 400.0, -3000.0]))
    assert 2 * Z * found.ratings().error(1, 0) <= reached


def test_everyone_plays_before_anyone_plays_much():
    found = sheet(6)
    play_out(active(width=1, confidence=None, matches=60), found, np.array([0.0, 2000, 2000, 2000, 2000, 2000]))
    assert all(any(player in pair for pair in found.ended) for player in range(6))
