"""Every component on a state worked out by hand."""

import numpy as np
import pytest

from sparring.games.rocket import field, rewards
from sparring.games.rocket.rewards import CONTINUOUS, EVENTS, Transition, components, mix
from sparring.games.rocket.settings import RewardSettings, Schedule


def one_match(seats=2, **changes):
    """A 1v1 with blue 1000 uu south of a resting ball at the centre, facing it, and orange likewise."""
    cars = np.zeros((1, seats, field.CAR_COLUMNS), np.float32)
    room = seats // 2
    for seat in range(seats):
        side = -1 if seat < room else 1
        cars[0, seat, field.POSITION] = (0, 1000 * side, field.BALL_REST)
        cars[0, seat, field.FORWARD] = (0, -side, 0)
        cars[0, seat, field.ON_GROUND] = 1
    ball = np.zeros((1, 9), np.float32)
    ball[0, 2] = field.BALL_REST
    parts = {
        "cars": cars,
        "cars_before": cars.copy(),
        "ball": ball,
        "ball_before": ball.copy(),
        "present": np.ones((1, seats), np.bool_),
        "scored": np.zeros(1, np.int32),
        "last_team": np.zeros(1, np.int32),
        "kickoff": np.zeros(1, np.bool_),
        "first": np.zeros(1, np.bool_),
    }
    return Transition(**{**parts, **changes})


def paid(name, step):
    return components(step, {name: 1.0}, seconds=1.0)[0, 0].tolist()


def test_a_goal_pays_every_car_of_the_team_and_costs_the_other():
    step = one_match(seats=4, scored=np.array([-1], np.int32))
    assert paid("goal", step) == [0, 0, 1, 1]
    assert paid("concede", step) == [-1, -1, 0, 0]


def test_touches_pay_and_touches_in_the_air_pay_by_height():
    step = one_match()
    step.cars[0, 1, field.TOUCHED] = 1
    assert paid("touch", step) == [0, 1]
    assert paid("air_touch", step) == [0, 0]
    step.cars[0, 1, field.ON_GROUND] = 0
    step.ball[0, 2] = (field.BALL_REST + field.CEILING) / 2
    assert paid("air_touch", step) == pytest.approx([0, 0.5])


def test_a_hit_pays_by_how_much_it_changed_the_balls_velocity_and_only_who_touched():
    step = one_match()
    step.cars[0, 1, field.TOUCHED] = 1
    step.ball_before[0, field.BALL_VELOCITY] = (0, 600, 0)
    step.ball[0, field.BALL_VELOCITY] = (0, -900, 0)
    assert paid("hit", step) == pytest.approx([0, 0.25])


def test_a_hit_to_goal_pays_for_the_speed_it_adds_towards_the_goal_and_costs_the_other_way():
    step = one_match()
    step.cars[0, :, field.TOUCHED] = 1
    step.ball[0, 2] = field.GOAL_HEIGHT / 2
    step.ball_before[0, field.BALL_VELOCITY] = (500, 600, 0)
    step.ball[0, field.BALL_VELOCITY] = (0, 2100, 0)
    assert paid("hit_to_goal", step) == pytest.approx([0.25, -0.25])
    step.cars[0, 1, field.TOUCHED] = 0
    assert paid("hit_to_goal", one_match(cars=step.cars, ball=step.ball, ball_before=step.ball_before))[1] == 0


def test_behind_ball_is_how_well_car_ball_and_goal_lie_in_line():
    step = one_match()
    step.ball[0, 2] = step.cars[0, :, 2] = field.GOAL_HEIGHT / 2
    assert paid("behind_ball", step) == pytest.approx([1.0, 1.0])
    step.cars[0, 0, field.POSITION] = (0, 1000, field.GOAL_HEIGHT / 2)
    step.cars[0, 1, field.POSITION] = (1000, 0, field.GOAL_HEIGHT / 2)
    moved = one_match(cars=step.cars, ball=step.ball)
    assert paid("behind_ball", moved) == pytest.approx([-1.0, 0.0], abs=1e-6)


def test_ball_to_goal_is_the_balls_speed_towards_the_opponents_goal():
    step = one_match()
    step.ball[0, 2] = field.GOAL_HEIGHT / 2
    step.ball[0, field.BALL_VELOCITY] = (0, 3000, 0)
    assert paid("ball_to_goal", step) == pytest.approx([0.5, -0.5])


def test_speed_to_ball_and_face_ball():
    step = one_match()
    step.cars[0, 0, field.VELOCITY] = (0, 1150, 0)
    step.cars[0, 1, field.VELOCITY] = (0, 2300, 0)
    step.cars[0, 1, field.FORWARD] = (1, 0, 0)
    assert paid("speed_to_ball", step) == pytest.approx([0.5, -1.0])
    assert paid("face_ball", step) == pytest.approx([1.0, 0.0])
    step.cars[0, 0, field.DEMO_SECONDS] = 2
    fresh = one_match(cars=step.cars)
    assert paid("speed_to_ball", fresh) == pytest.approx([0.0, -1.0])


def test_kickoff_pays_speed_to_ball_until_the_first_touch():
    step = one_match(kickoff=np.array([True]))
    step.cars[0, 0, field.VELOCITY] = (0, 2300, 0)
    assert paid("kickoff", step) == pytest.approx([1.0, 0.0])
    assert paid("kickoff", one_match(cars=step.cars)) == [0.0, 0.0]


def test_boost_pays_for_the_root_of_what_was_gained_and_kept():
    step = one_match()
    step.cars_before[0, :, field.BOOST] = (0, 100)
    step.cars[0, :, field.BOOST] = (25, 64)
    assert paid("boost_gained", step) == pytest.approx([0.5, 0.0])
    assert paid("boost_kept", step) == pytest.approx([0.5, 0.8])


def test_demolitions_saves_and_shots_pay_when_their_counters_grow():
    step = one_match()
    step.cars_before[0, 0, [field.DEMOS, field.SAVES, field.SHOTS]] = (1, 4, 2)
    step.cars[0, 0, [field.DEMOS, field.SAVES, field.SHOTS]] = (2, 5, 2)
    step.cars[0, 1, field.DEMO_SECONDS] = 3
    assert paid("demo", step) == [1, -1]
    assert paid("save", step) == [1, 0]
    assert paid("shot", step) == [0, 0]


def test_possession_is_the_last_touchs():
    assert paid("possession", one_match(last_team=np.array([-1], np.int32))) == [-1, 1]


def test_events_pay_at_once_and_continuous_components_by_the_second():
    step = one_match()
    step.cars[0, 0, field.TOUCHED] = 1
    rows = components(step, {"touch": 2.0, "face_ball": 3.0}, seconds=0.1)
    assert rows[:, 0].tolist() == [pytest.approx([2.0, 0.0]), pytest.approx([0.3, 0.3])]


def test_absent_cars_are_paid_nothing():
    step = one_match(seats=4, scored=np.array([1], np.int32), present=np.array([[True, False, True, False]]))
    assert components(step, {"goal": 1.0, "concede": 1.0}, seconds=0.1).sum(axis=0)[0].tolist() == [1, 0, -1, 0]


def test_mixing_shares_in_the_team_and_takes_from_the_opponents():
    own = np.array([[4.0, 0.0, 1.0, 1.0]], np.float32)
    everyone = np.ones((1, 4), np.bool_)
    assert mix(own, everyone, team_spirit=0.0, zero_sum=False)[0].tolist() == [4, 0, 1, 1]
    assert mix(own, everyone, team_spirit=0.5, zero_sum=False)[0].tolist() == [3, 1, 1, 1]
    assert mix(own, everyone, team_spirit=0.0, zero_sum=True)[0].tolist() == [3, -1, -1, -1]
    assert mix(own, everyone, team_spirit=1.0, zero_sum=True)[0].sum() == 0


def test_mixing_counts_only_cars_that_are_there():
    present = np.array([[True, False, True, False]])
    own = np.array([[4.0, 0.0, 1.0, 0.0]], np.float32)
    assert mix(own, present, team_spirit=1.0, zero_sum=True)[0].tolist() == [3, 0, -3, 0]


def test_schedules_go_from_start_to_end_and_stay_there():
    settings = RewardSettings(components={"touch": Schedule(start=1.0, end=0.0, over=100), "goal": 5.0})
    assert settings.weights(0) == {"touch": 1.0, "goal": 5.0}
    assert settings.weights(25)["touch"] == 0.75
    assert settings.weights(1000)["touch"] == 0.0
    assert RewardSettings(sparse=True).weights(0) == {"goal": 1.0, "concede": 1.0}


def test_no_component_is_both_an_event_and_continuous():
    assert not set(EVENTS) & set(CONTINUOUS)
    assert {*EVENTS, *CONTINUOUS} <= set(dir(rewards))
