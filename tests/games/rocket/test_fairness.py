"""On the real field: rewards reach the seat and the decision that earned them, and both sides see the same game."""

import numpy as np
import pytest

from sparring.core import Answers
from sparring.games.rocket import field
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.settings import RewardSettings, RocketSettings
from sparring.games.rocket.states import SITUATIONS, Situation
from sparring.rollout import Collector, everyone

COAST = 11
"""Of the small table: nothing is held."""
DRIVE = 4
"""Full throttle, straight on."""


def situation(*, ball, velocity=(0, 0, 0), blue=(-3000, -3000), orange=(3000, 3000), speed=0.0):
    """A ball and two cars on the ground, each looking at the goal it shoots at and driving there at `speed`."""
    return Situation(
        ball=np.array([*ball, *velocity, 0, 0, 0], np.float32),
        position=np.array([[*blue, field.CAR_REST], [*orange, field.CAR_REST]], np.float32),
        angles=np.array([[np.pi / 2, 0, 0], [-np.pi / 2, 0, 0]], np.float32),
        velocity=np.array([[0, speed, 0], [0, -speed, 0]], np.float32),
        spin=np.zeros((2, 3), np.float32),
        boost=np.full(2, 50, np.float32),
        pads=np.zeros(field.PADS, np.float32),
    )


def turned(start):
    """The same moment with the field turned round: blue is where orange was, and the other way round."""
    half_turn = np.array([-1, -1, 1], np.float32)
    return Situation(
        ball=start.ball * np.tile(half_turn, 3),
        position=start.position[::-1] * half_turn,
        angles=start.angles[::-1] + np.array([np.pi, 0, 0], np.float32),
        velocity=start.velocity[::-1] * half_turn,
        spin=start.spin[::-1] * half_turn,
        boost=start.boost[::-1].copy(),
        pads=start.pads[::-1].copy(),
    )


def arena_of(starts, components, **settings):
    """An arena whose matches stand at `starts`, one each."""
    rewards = RewardSettings(components=components, zero_sum=False)
    arena = RocketArena(RocketSettings(actions="small", rewards=rewards, **settings), matches=len(starts), seed=0)
    group = arena._groups[0]
    for simulator, start in zip(group._simulators, starts, strict=True):
        simulator.place(start)
    group._look(range(len(starts)))
    group._referee.kickoff[:] = False
    group._observe()
    return arena


class Always:
    """Plays one action and expects to gain 7 from everywhere."""

    def __init__(self, action):
        self._action = action

    def act(self, decisions):
        rows = len(decisions)
        return Answers(action=np.full(rows, self._action, np.int32), value=np.full(rows, 7, np.float32))


@pytest.mark.parametrize("scorer", [0, 1])
def test_a_goal_is_paid_to_the_last_decision_of_the_match_and_nothing_is_expected_after_it(scorer):
    rolling = situation(ball=(0, 4600, 100), velocity=(0, 2000, 0))
    arena = arena_of([rolling if scorer == 0 else turned(rolling)], {"goal": 4.0, "concede": 3.0})
    collector = Collector(arena, {"a": Always(COAST)}, everyone(0, 2), record=["a"], truncate_after=64)
    episodes = collector.collect(1)
    for number in range(2):
        first, rows = int(episodes.starts[number]), int(episodes.headers.lengths[number])
        paid = episodes.steps.reward[first : first + rows]
        won = int(episodes.headers.seat[number]) == scorer
        assert rows > 2
        assert paid[:-1].tolist() == [0.0] * (rows - 1)
        assert paid[-1] == (4.0 if won else -3.0)
        assert episodes.headers.outcome[number] == (1 if won else -1)
        assert bool(episodes.headers.complete[number])
        assert episodes.headers.last_value[number] == 0


def test_a_match_that_is_truncated_is_valued_and_one_out_of_time_is_not():
    far = situation(ball=(0, 0, field.BALL_REST))
    early = arena_of([far], {"goal": 1.0})
    truncated = Collector(early, {"a": Always(COAST)}, everyone(0, 2), record=["a"], truncate_after=8)
    assert truncated.collect(1).headers.last_value.tolist() == [7, 7]
    late = arena_of([far], {"goal": 1.0}, seconds=0.4)
    ended = Collector(late, {"a": Always(COAST)}, everyone(0, 2), record=["a"], truncate_after=8).collect(1)
    # the clock is in the observation, so that a draw is an end like others
    assert ended.headers.last_value.tolist() == [0, 0]
    assert ended.headers.outcome.tolist() == [0, 0]


@pytest.mark.parametrize("hitter", [0, 1])
def test_a_hit_pays_the_hitter_and_the_balls_way_pays_by_the_side(hitter):
    start = situation(ball=(0, 0, field.BALL_REST), blue=(0, -400), orange=(3000, 3000), speed=1400.0)
    arena = arena_of([start if hitter == 0 else turned(start)], {"hit": 1.0, "hit_to_goal": 1.0, "ball_to_goal": 1.0})
    paid = []
    for _ in range(6):
        decisions, _ = arena.wait()
        paid.append(decisions.reward.copy())
        arena.act(decisions, np.full(2, DRIVE, np.int32))
    other = 1 - hitter
    hit = int(np.argmax([step[hitter] for step in paid]))
    assert paid[hit][hitter] > 0.2  # more than 600 uu/s, and twice: any way, and towards the goal
    rolling = paid[hit + 1]
    assert rolling[hitter] > 0
    assert rolling[other] < 0
    assert all(step[other] <= 0 for step in paid)


@pytest.mark.parametrize("observation", ["default", "rlgym", "positions"])
def test_orange_sees_and_is_paid_what_blue_would_be_with_the_field_turned_round(observation):
    starts = [draw(np.random.default_rng(seed), 1) for seed, draw in enumerate(SITUATIONS.values())]
    everything = {"ball_to_goal": 1.0, "speed_to_ball": 1.0, "face_ball": 1.0, "behind_ball": 1.0, "boost_gained": 1.0}
    arena = arena_of([*starts, *map(turned, starts)], everything, observation=observation, idle_seconds=0)
    rng, half = np.random.default_rng(0), len(starts)
    for _ in range(4):
        decisions, _ = arena.wait()
        rewards = decisions.reward.reshape(2 * half, 2)
        np.testing.assert_allclose(rewards[:half], rewards[half:, ::-1], atol=1e-4)
        for name, rows in decisions.observation.items():
            seen = rows.reshape(2 * half, 2, -1)
            np.testing.assert_allclose(seen[:half], seen[half:, ::-1], atol=2e-3, err_msg=name)
        actions = rng.integers(23, size=(half, 2)).astype(np.int32)
        arena.act(decisions, np.concatenate([actions, actions[:, ::-1]]).reshape(-1))


def test_what_a_car_sees_in_its_own_axes():
    """Blue drives at 1000 along +y; the ball is 1000 ahead and 500 to its right, where x falls; orange 2000 behind."""
    start = situation(ball=(-500, 0, field.CAR_REST), blue=(0, -1000), orange=(0, -3000), speed=1000.0)
    arena = arena_of([start], {"goal": 1.0})
    seen = {name: rows[0] for name, rows in arena.wait()[0].observation.items()}
    world, opponent = seen["world"] * 2300, seen["cars"][1] * 2300
    np.testing.assert_allclose(world[65:68], (1000, 0, 0), atol=1)
    np.testing.assert_allclose(world[71:74], (6120, 0, field.GOAL_HEIGHT / 2 - field.CAR_REST), atol=1)
    np.testing.assert_allclose(world[74:77], (-4120, 0, field.GOAL_HEIGHT / 2 - field.CAR_REST), atol=1)
    np.testing.assert_allclose(opponent[27:33], (-2000, 0, 0, -2000, 0, 0), atol=1)
    np.testing.assert_allclose(seen["world"][77:80], np.array([1000, 500, 0]) / np.hypot(1000, 500), atol=1e-3)
    shot = np.array([500, field.BACK_WALL, field.GOAL_HEIGHT / 2 - field.CAR_REST])
    shot_unit = shot / np.linalg.norm(shot)
    np.testing.assert_allclose(seen["world"][80:83], shot_unit[[1, 0, 2]] * [1, -1, 1], atol=1e-3)
    np.testing.assert_allclose(world[83:85], (np.hypot(1000, 500), np.linalg.norm(shot)), atol=1)
    to_ball = np.array([-500, 1000, 0]) / np.hypot(1000, 500)
    np.testing.assert_allclose(seen["world"][85], to_ball @ shot_unit, atol=1e-3)
    np.testing.assert_allclose(world[86:88], (1000 * to_ball[1], 0), atol=1)


def test_positions_shows_nothing_of_how_anything_moves():
    still = situation(ball=(-500, 0, 300), speed=0.0)
    moving = situation(ball=(-500, 0, 300), velocity=(700, -300, 200), speed=900.0)
    moving.spin[:] = 1.5
    arena = arena_of([still, moving], {"goal": 1.0}, observation="positions")
    for name, rows in arena.wait()[0].observation.items():
        np.testing.assert_array_equal(rows[:2], rows[2:], err_msg=name)
