"""Starts are on the field, are what their names say, and are drawn from the seed alone."""

import numpy as np
import pytest

from sparring.games.rocket import field
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.settings import RocketSettings
from sparring.games.rocket.simulator import Simulator, read
from sparring.games.rocket.states import SITUATIONS


@pytest.mark.parametrize("name", list(SITUATIONS))
@pytest.mark.parametrize("team", [1, 3])
def test_everything_is_on_the_field_and_apart(name, team):
    for seed in range(60):
        start = SITUATIONS[name](np.random.default_rng(seed), team)
        places = np.concatenate([start.ball[None, :3], start.position])
        assert (np.abs(places[:, 0]) < field.SIDE_WALL).all()
        assert (np.abs(places[:, 1]) < field.BACK_WALL).all()
        assert ((places[:, 2] > 0) & (places[:, 2] < field.CEILING)).all()
        assert ((start.boost >= 0) & (start.boost <= 100)).all()
        gaps = np.linalg.norm(start.position[:, None] - start.position[None], axis=2) + 1e4 * np.eye(2 * team)
        assert gaps.min() > 100
        assert np.linalg.norm(start.velocity, axis=1).max() <= field.CAR_TOP_SPEED


def test_starts_are_what_their_names_say():
    draws = {name: [draw(np.random.default_rng(seed), 1) for seed in range(50)] for name, draw in SITUATIONS.items()}
    assert all(abs(start.ball[1]) > 2500 for start in draws["near_goal"])
    for start in draws["attack"]:  # the shooter is behind the ball and looks at it, the other one is further back
        shooter = int(np.abs(start.position[:, 1] - start.ball[1]).argmin())
        side = 1 if shooter == 0 else -1
        assert (side * (start.ball[1] - start.position[:, 1]) > 100).all()
        to_ball = start.ball[:2] - start.position[shooter, :2]
        off = np.arctan2(to_ball[1], to_ball[0]) - start.angles[shooter, 0]
        assert np.cos(off) > 0.7
    assert all(start.ball[2] > 600 for start in draws["air_ball"])
    assert all(start.ball[4] * np.sign(start.ball[1]) > 500 for start in draws["defence"])
    assert any((start.pads > 0).any() for start in draws["replay"])
    assert {True, False} == {bool(start.position[0, 2] > 50) for start in draws["random"]}


def test_a_placed_situation_is_what_the_simulator_then_shows():
    simulator = Simulator(2)
    start = SITUATIONS["random"](np.random.default_rng(5), 2)
    simulator.place(start)
    readings = read([simulator])
    np.testing.assert_allclose(readings.ball[0], start.ball, atol=0.05)
    np.testing.assert_allclose(readings.cars[:, field.POSITION], start.position, atol=0.05)
    np.testing.assert_allclose(readings.cars[:, field.VELOCITY], start.velocity, atol=0.05)
    np.testing.assert_allclose(readings.cars[:, field.BOOST], start.boost, atol=1e-3)
    heading = np.arctan2(readings.cars[:, 4], readings.cars[:, 3])
    np.testing.assert_allclose(np.cos(heading), np.cos(start.angles[:, 0]), atol=1e-3)
    assert (readings.pads[0] == (start.pads == 0)).all()


def test_the_seed_decides_every_start():
    def first_rows(seed):
        arena = RocketArena(RocketSettings(starts=dict.fromkeys(SITUATIONS, 1.0)), matches=6, seed=seed)
        return arena.wait()[0].observation["world"].copy()

    np.testing.assert_array_equal(first_rows(1), first_rows(1))
    assert not np.array_equal(first_rows(1), first_rows(2))
