"""The physics is RocketSim's own, and RLGym's observation is what RLGym shows."""

from pathlib import Path

import numpy as np
import pytest

from sparring.games.rocket import field
from sparring.games.rocket.actions import CONTROLS, action_table
from sparring.games.rocket.arena import RocketArena
from sparring.games.rocket.observation import observation_fields, observe
from sparring.games.rocket.settings import RewardSettings, RocketSettings
from sparring.games.rocket.setup import start_rocketsim
from sparring.games.rocket.simulator import Simulator, advance, count_down, pad_timers, prebuilt_controls, read
from sparring.games.rocket.states import Situation

GOLDEN = Path(__file__).with_name("golden_rlgym.npz")


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_an_arena_plays_what_rocketsim_driven_by_hand_plays(delay):
    """Same kickoff, same actions: positions, velocities and rotations equal bit for bit."""
    settings = RocketSettings(modes=["2v2"], room=2, action_delay=delay, seconds=1000, idle_seconds=0)
    arena = RocketArena(settings, matches=1, seed=5)
    rng = np.random.default_rng(1)
    actions = rng.integers(90, size=(40, 4)).astype(np.int32)

    rocketsim = start_rocketsim()
    bare = rocketsim.Arena(rocketsim.GameMode.SOCCAR)
    cars = [bare.add_car(team) for team in (0, 0, 1, 1)]
    for car, placed in zip(cars, arena._groups[0]._simulators[0].cars, strict=True):
        car.set_state(placed.get_state())
    table = action_table("full")
    for row in actions:
        decisions, results = arena.wait()
        assert len(results) == 0
        arena.act(decisions, row)
        bare.step(delay)
        for car, action in zip(cars, row, strict=True):
            controls = rocketsim.CarControls()
            for name, value in zip(CONTROLS, table[action], strict=True):
                setattr(controls, name, type(getattr(controls, name))(value))
            car.set_controls(controls)
        bare.step(8 - delay)
    group = arena._groups[0]
    for seat, car in enumerate(cars):
        state = car.get_state()
        for columns, truth in ((field.POSITION, state.pos), (field.VELOCITY, state.vel), (field.SPIN, state.ang_vel)):
            np.testing.assert_array_equal(group._cars[0, seat, columns], np.float32(truth.as_tuple()))
        np.testing.assert_array_equal(group._cars[0, seat, field.FORWARD], np.float32(state.rot_mat.forward.as_tuple()))
        np.testing.assert_array_equal(group._cars[0, seat, field.UP], np.float32(state.rot_mat.up.as_tuple()))
        assert group._cars[0, seat, field.BOOST] == np.float32(state.boost)
    np.testing.assert_array_equal(group._ball[0, :3], np.float32(bare.ball.get_state().pos.as_tuple()))
    np.testing.assert_array_equal(group._pads[0], np.float32([p.get_state().cooldown for p in bare.get_boost_pads()]))


def test_a_seed_deals_the_same_kickoff_spots_wherever_the_cars_lie_in_memory():
    rng = np.random.default_rng(0)
    kept, seen = [Simulator(3)], set()
    for _ in range(40):
        kept[0].arena.add_car(0)  # leaves holes of a car's size once its simulator goes
        del kept[: rng.integers(len(kept))]
        kept += [Simulator(3) for _ in range(rng.integers(1, 3))]
        kept[-1].kickoff(7)
        seen.add(tuple(car.get_state().pos.as_tuple() for car in kept[-1].cars))
    assert len(seen) == 1
    spots = np.array(seen.pop())
    np.testing.assert_array_equal(spots[:3, :2], -spots[3:, :2])


def test_rlgym_observation_equals_rlgyms_own_on_a_thousand_states():
    golden = np.load(GOLDEN)
    controls = prebuilt_controls(action_table("full"))
    errors = []
    for number in range(len(golden["actions"])):
        team = number % 3 + 1
        n = 2 * team
        simulator = Simulator(team)
        parts = {name: golden[name][number][:n] for name in ("position", "angles", "velocity", "spin", "boost")}
        simulator.place(Situation(ball=golden["ball"][number], pads=golden["pads"][number], **parts))
        read([simulator])
        timers = pad_timers(simulator)[None]
        seats = np.concatenate([np.arange(team), 3 + np.arange(team)]).astype(np.int32)
        cars, present = np.zeros((1, 6, field.CAR_COLUMNS), np.float32), np.zeros((1, 6), np.bool_)
        present[0, seats] = True
        out = {name: part.zeros(1) for name, part in observation_fields("rlgym", 3).items()}
        for step in range(golden["actions"].shape[1]):
            actions = golden["actions"][number, step, :n].tolist()
            readings = read(advance([simulator], controls, actions, ticks=8, delay=1))
            count_down(timers, readings.pads, [simulator], ticks=8)
            cars[0, seats] = readings.cars
            observe(
                "rlgym",
                out,
                ball=readings.ball,
                cars=cars,
                present=present,
                pads=timers,
                last=np.zeros((1, 6, 8), np.float32),
                match=np.zeros((1, 4), np.float32),
                row_match=np.zeros(1, np.int32),
                row_seat=seats[golden["seat"][number, step] :][:1],
            )
            expected = golden["observation"][number, step] * float(golden["grid"])
            errors.append(float(np.abs(out["flat"][0] - expected).max()))
    assert len(errors) >= 1000
    # CPUs round differently, and a bounce magnifies it: most states are equal, none is far off
    assert np.mean(np.array(errors) < 1e-5) > 0.9
    assert max(errors) < 0.01


def test_the_full_table_is_rlgyms():
    table = action_table("full")
    assert table.shape == (90, 8)
    assert len(np.unique(table, axis=0)) == 90
    assert table[0].tolist() == [-1, -1, 0, -1, 0, 0, 0, 0]  # reverse left
    assert table[23].tolist() == [1, 1, 0, 1, 0, 0, 1, 1]  # boost right, sliding
    assert table[24].tolist() == [0, -1, -1, -1, -1, 0, 0, 0]  # the first aerial action
    assert table[-1].tolist() == [1, 1, 1, 1, 1, 0, 1, 0]


def test_ten_touches_are_ten_touches():
    """RocketSim's touched flag is cleared by reading; nothing here reads it twice."""
    settings = RocketSettings(
        starts={"near_goal": 1.0}, rewards=RewardSettings(components={"touch": 1.0}, zero_sum=False)
    )
    arena = RocketArena(settings, matches=8, seed=0)
    from sparring.games.rocket.players import TowardBallPlayer

    player, paid = TowardBallPlayer(settings, 0), 0.0
    for _ in range(120):
        decisions, results = arena.wait()
        paid += float(decisions.reward.sum() + results.reward.sum())
        arena.act(decisions, player.act(decisions).action)
    touches = arena.play_report()["touches_per_minute"] * arena.rows * 8 / 120 / 60
    assert paid >= 8
    assert paid == pytest.approx(touches, abs=8)  # the last step's pay is not yet handed out
