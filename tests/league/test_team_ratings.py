"""Players of mixed teams, by openskill: draws bring teams together, who carries a team rises."""

import random

import pytest
from openskill.models import BradleyTerryFull, ThurstoneMostellerFull

from sparring.league.ledger import Seat
from sparring.league.team_ratings import is_mixed, rate_teams
from tests.league.support import match


def played(number, first, second, outcome):
    seats = [Seat(name=name, team=team, outcome=outcome * (1 - 2 * team))
             for team, names in enumerate((first, second)) for name in names]  # fmt: skip
    return match(number, seats=tuple(seats))


def means(matches):
    return {one.player.name: one.rating.value for one in rate_teams(matches)}


def test_a_draw_between_equals_changes_nothing():
    assert means([played(1, "ab", "cd", 0.0)]) == pytest.approx(dict.fromkeys("abcd", 25.0))


@pytest.mark.parametrize("teams", [("ab", "cd"), ("cd", "ab")])
def test_a_draw_brings_unequal_teams_together_and_never_past_each_other(teams):
    wins = [played(number, "ab", "cd", 1.0) for number in range(20)]
    before, after = means(wins), means([*wins, played(99, *teams, 0.0)])
    assert before["c"] < after["c"] < after["a"] < before["a"]
    assert after["a"] - before["a"] == pytest.approx(before["c"] - after["c"])


def test_why_it_is_not_thurstones_model():
    """Its draw between teams of two turns their order round; if this fails, openskill has mended it."""
    for model, kept in ((BradleyTerryFull(), True), (ThurstoneMostellerFull(), False)):
        strong, weak = model.rating(mu=30), model.rating(mu=20)
        (first, _), (second, _) = model.rate([[strong, strong], [weak, weak]], ranks=[0, 0])
        assert (first.mu > second.mu) is kept


def test_who_carries_every_team_is_first():
    rng, matches = random.Random(0), []
    for number in range(200):
        a, b, c, d = rng.sample("abcde", 4)
        strength = sum(2 * (name == "a") + (name == "b") for name in (a, b))
        strength -= sum(2 * (name == "a") + (name == "b") for name in (c, d))
        matches.append(played(number, (a, b), (c, d), float((strength > 0) - (strength < 0))))
    found = rate_teams(matches)
    assert [one.player.name for one in found[:2]] == ["a", "b"]
    assert found[0].rating.low > found[-1].rating.value
    rng.shuffle(matches)
    assert rate_teams(matches) == found


def test_which_matches_are_of_mixed_teams():
    assert not is_mixed(match(1))
    assert not is_mixed(played(1, "aa", "bb", 1.0))
    assert not is_mixed(played(1, "aa", "aa", 1.0))
    assert is_mixed(played(1, "ab", "cc", 1.0))
    assert is_mixed(match(1, seats=tuple(Seat(name="a", team=team, outcome=0.0) for team in range(3))))
