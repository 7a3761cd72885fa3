"""The referee: touches, ends and why, kickoffs, overtime; on hand-made steps."""

import numpy as np
import pytest

from sparring.games.rocket import field
from sparring.games.rocket.referee import ENDINGS, Referee
from sparring.games.rocket.settings import RocketSettings

PRESENT = np.ones((1, 2), np.bool_)
NO_GOAL = np.zeros((1, 2), np.int32)
BLUE_GOAL = np.array([[1, 0]], np.int32)


def cars(*touching):
    """Two cars; the seats of `touching` have touched the ball."""
    rows = np.zeros((1, 2, field.CAR_COLUMNS), np.float32)
    rows[0, list(touching), field.TOUCHED] = 1
    return rows


def ball(height=field.BALL_REST, *, climbing=0.0):
    row = np.zeros((1, field.BALL_COLUMNS), np.float32)
    row[0, 2], row[0, 5] = height, climbing
    return row


def started(*, kickoff=True):
    referee = Referee(1)
    referee.begin(0, kickoff=kickoff)
    return referee


def step(referee, settings, *, goals=NO_GOAL, touching=(), now=None, before=None):
    referee.watch(settings, cars(*touching), PRESENT)
    return referee.judge(settings, goals, ball() if now is None else now, ball() if before is None else before)


def test_a_touch_ends_the_kickoff_and_gives_possession_in_the_same_step():
    referee = started()
    referee.watch(RocketSettings(), cars(1), PRESENT)
    assert not referee.kickoff[0]
    assert referee.last_team[0] == -1


@pytest.mark.parametrize("had_it", [0, 1])
def test_a_ball_that_both_teams_touched_stays_with_the_team_that_had_it(had_it):
    referee = started()
    referee.watch(RocketSettings(), cars(had_it), PRESENT)
    before = referee.last_team[0]
    referee.watch(RocketSettings(), cars(0, 1), PRESENT)
    assert referee.last_team[0] == before != 0


def test_a_match_to_one_goal_says_why_it_ended():
    by_goal = step(started(), RocketSettings(seconds=9), goals=BLUE_GOAL)
    by_time = step(started(), RocketSettings(seconds=8 / 120))
    by_idling = step(started(), RocketSettings(seconds=9, idle_seconds=8 / 120))
    for verdict, why in ((by_goal, "goal"), (by_time, "time"), (by_idling, "idle")):
        assert verdict.over[0]
        assert ENDINGS[verdict.ending[0]] == why


def test_at_nil_nil_play_goes_on_until_the_ball_lands():
    settings = RocketSettings(end="clock", seconds=8 / 120)
    referee = started()
    referee.goals[0] = 1, 0
    falling = ball(600, climbing=-300)
    assert not step(referee, settings, now=falling, before=falling).over[0]
    bounced = step(referee, settings, now=ball(150, climbing=400), before=falling)
    assert bounced.over[0]
    assert ENDINGS[bounced.ending[0]] == "time"


def test_a_goal_from_the_air_after_the_time_still_counts():
    settings = RocketSettings(end="clock", seconds=8 / 120)
    referee = started()
    high = ball(600)
    assert not step(referee, settings, now=high, before=high).over[0]
    assert step(referee, settings, goals=BLUE_GOAL, now=high, before=high).over[0]
    assert referee.winner[0] == 1


def test_a_level_match_goes_to_overtime_which_the_next_goal_ends():
    settings = RocketSettings(end="clock", seconds=8 / 120, overtime_seconds=60)
    referee = started()
    assert step(referee, settings).kickoff[0]
    assert referee.overtime[0]
    verdict = step(referee, settings, goals=BLUE_GOAL, now=ball(600), before=ball(600))
    assert verdict.over[0]
    assert ENDINGS[verdict.ending[0]] == "overtime"


def test_an_overtime_without_a_goal_ends_drawn():
    settings = RocketSettings(end="clock", seconds=8 / 120, overtime_seconds=8 / 120)
    referee = started()
    assert not step(referee, settings).over[0]
    verdict = step(referee, settings)
    assert verdict.over[0]
    assert ENDINGS[verdict.ending[0]] == "overtime"
    assert referee.winner[0] == 0


def test_a_level_match_without_overtime_ends_with_its_time():
    verdict = step(started(), RocketSettings(end="clock", seconds=8 / 120, overtime_seconds=0))
    assert verdict.over[0]
    assert ENDINGS[verdict.ending[0]] == "time"
