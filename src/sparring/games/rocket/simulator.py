"""RocketSim behind arrays: one `Simulator` a match slot, and functions that step and read many of them.

This is the only module that talks to RocketSim. Calls on it are the unavoidable part of a step, so each is
chosen for its price: controls are prebuilt, a field is read right after it was stepped, while it lies in the
processor's cache, `get_gym_state` is called once a step (its touched flag means "since the last call", so a second call
would lose touches), and of `Car.get_state` only what the gym state lacks is read. Pad timers are not in the gym
state either: they are kept here, and a pad is asked only when it was just taken.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from struct import Struct
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from sparring.games.rocket import field
from sparring.games.rocket.actions import CONTROLS
from sparring.games.rocket.setup import start_rocketsim
from sparring.games.rocket.states import Situation

Floats = NDArray[np.float32]

_EXTRA_NAMES = (
    "demo_respawn_timer",
    "time_spent_boosting",
    "supersonic_time",
    "last_controls.jump",
    "handbrake_val",
    "has_jumped",
    "is_jumping",
    "has_flipped",
    "flip_time",
    "has_double_jumped",
    "air_time_since_jump",
)
_extras = attrgetter(*_EXTRA_NAMES)
_packed = Struct(f"{len(_EXTRA_NAMES)}f").pack
_TICK = np.float32(1.0 / field.TICKS)


class Simulator:
    """One RocketSim arena with `team` cars a side, blue first. Making one costs 40 ms, so they are reused."""

    def __init__(self, team: int) -> None:
        rocketsim = start_rocketsim()
        self.team = team
        self.arena: Any = rocketsim.Arena(rocketsim.GameMode.SOCCAR)
        teams = [rocketsim.Team.BLUE] * team + [rocketsim.Team.ORANGE] * team
        self.cars: list[Any] = [self.arena.add_car(side, rocketsim.CarConfig.OCTANE) for side in teams]
        self.pads: list[Any] = self.arena.get_boost_pads()
        self._rocketsim = rocketsim

    def kickoff(self, seed: int) -> None:
        """Cars on the kickoff spots that `seed` chooses, all pads there, controls released.

        RocketSim deals a team's spots in the order its cars lie in memory, which differs from process to process;
        here the seed deals them, the same way to both teams.
        """
        self.arena.reset_kickoff(seed)
        order = np.random.default_rng(seed).permutation(self.team).tolist()
        for cars, mirror in ((self.cars[: self.team], 1), (self.cars[self.team :], -1)):
            states = sorted((car.get_state() for car in cars), key=lambda state: _spot(state, mirror))
            for car, spot in zip(cars, order, strict=True):
                car.set_state(states[spot])
        self._release()

    def place(self, situation: Situation) -> None:
        """Puts ball, cars and pads where `situation` says, with nothing left of the match before."""
        rocketsim = self._rocketsim
        self.arena.reset_kickoff(0)
        ball = rocketsim.BallState()
        ball.pos = rocketsim.Vec(*situation.ball[field.BALL_POSITION].tolist())
        ball.vel = rocketsim.Vec(*situation.ball[field.BALL_VELOCITY].tolist())
        ball.ang_vel = rocketsim.Vec(*situation.ball[field.BALL_SPIN].tolist())
        self.arena.ball.set_state(ball)
        for row, car in enumerate(self.cars):
            state = rocketsim.CarState()
            state.pos = rocketsim.Vec(*situation.position[row].tolist())
            state.vel = rocketsim.Vec(*situation.velocity[row].tolist())
            state.ang_vel = rocketsim.Vec(*situation.spin[row].tolist())
            state.rot_mat = rocketsim.Angle(*situation.angles[row].tolist()).as_rot_mat()
            state.boost = float(situation.boost[row])
            grounded = bool(situation.position[row, 2] <= field.CAR_REST + 1)
            state.is_on_ground = grounded
            state.wheels_with_contact = (grounded,) * 4
            car.set_state(state)
        for pad, seconds in zip(self.pads, situation.pads.tolist(), strict=True):
            state = rocketsim.BoostPadState()
            state.cooldown = seconds
            state.is_active = seconds == 0.0
            pad.set_state(state)
        self._release()

    def _release(self) -> None:
        neutral = self._rocketsim.CarControls()
        for car in self.cars:
            car.set_controls(neutral)


def _spot(state: Any, mirror: int) -> tuple[float, float]:
    """A kickoff spot as its team sees it: the key that puts both teams' spots in the same order."""
    return mirror * state.pos.x, mirror * state.pos.y


def prebuilt_controls(table: Floats) -> list[Any]:
    """A RocketSim control object for each row of `table: float32[actions, 8]`."""
    rocketsim = start_rocketsim()
    controls = []
    for row in table.tolist():
        control = rocketsim.CarControls()
        for name, value in zip(CONTROLS, row, strict=True):
            setattr(control, name, bool(value) if name in ("jump", "boost", "handbrake") else value)
        controls.append(control)
    return controls


def advance(
    simulators: Sequence[Simulator], controls: Sequence[Any], actions: list[int], *, ticks: int, delay: int
) -> Iterator[Simulator]:
    """Holds the old controls for `delay` ticks, the new ones for the rest of `ticks`; yields each field once stepped.

    `actions` has one number a car, match by match. The GIL is free while RocketSim steps.
    """
    chosen = map(controls.__getitem__, actions)
    rest = ticks - delay
    for simulator in simulators:
        step = simulator.arena.step
        if delay:
            step(delay)
        for car, control in zip(simulator.cars, chosen, strict=False):
            car.set_controls(control)
        step(rest)
        yield simulator


class Readings:
    """What `read` found on n fields with r cars in all."""

    __slots__ = ("ball", "cars", "pads", "score")

    ball: Floats
    """`float32[n, 9]`"""
    cars: Floats
    """`float32[r, 34]`, match by match, in the order of their simulators' cars."""
    pads: NDArray[np.bool_]
    """`bool[n, 34]` which boost pads are there."""
    score: NDArray[np.int32]
    """`int32[n, 2]` goals of blue and orange since the simulator was made."""


def read(simulators: Iterable[Simulator]) -> Readings:
    """The state of every field; clears RocketSim's touched flags."""
    games, pads, balls, cars, extras = [], [], [], [], []
    for simulator in simulators:
        try:
            game, pad, ball, *drivers = simulator.arena.get_gym_state()
        except RuntimeError:  # RocketSim refuses to show a state with a NaN in it
            game, pad, ball, *drivers = _broken_state(simulator)
        games.append(game)
        pads.append(pad)
        balls.append(ball)
        cars += drivers
        extras += [_packed(*_extras(car.get_state())) for car in simulator.cars]
    readings = Readings()
    readings.cars = np.empty((len(cars), field.CAR_COLUMNS), np.float32)
    _assemble(_joined(cars), np.frombuffer(b"".join(extras), np.float32).reshape(len(cars), -1), readings.cars)
    ball_rows = _joined(balls)[::2]
    readings.ball = np.concatenate([ball_rows[:, :3], ball_rows[:, 7:13]], axis=1)
    readings.pads = _joined(pads)[::2] > 0
    readings.score = np.concatenate(games).reshape(-1, 4)[:, 2:4].astype(np.int32)
    return readings


def _joined(parts: list[Floats]) -> Floats:
    """`float32[2n, width]` the rows of n parts, two each, in C order; RocketSim's own arrays are in Fortran's."""
    joined = np.empty((2 * len(parts), parts[0].shape[1]), np.float32)
    return np.concatenate(parts, out=joined)


def _broken_state(simulator: Simulator) -> list[Floats]:
    """A gym state asked car by car, so that the arena sees which one is broken; the ball's if no car is."""
    cars = []
    for car in simulator.cars:
        state, rows = car.get_state(), np.zeros((2, 36), np.float32)
        rows[:, 11:14], rows[:, 18:21], rows[:, 21:24] = (
            part.as_tuple() for part in (state.pos, state.vel, state.ang_vel)
        )
        cars.append(rows)
    whole = all(np.isfinite(rows).all() for rows in cars)
    ball = np.full((2, 25), np.nan if whole else 0.0, np.float32)
    return [np.zeros(4, np.float32), np.ones((2, field.PADS), np.float32), ball, *cars]


@numba.njit(cache=True, nogil=True)
def _assemble(raw: Floats, extras: Floats, cars: Floats) -> None:
    """Gym rows `float32[2r, 36]` (upright and inverted in turn) and extras `float32[r, 11]` to car rows."""
    for row in range(len(cars)):
        gym, extra, car = raw[2 * row], extras[row], cars[row]
        car[0:3] = gym[11:14]
        car[3:6] = gym[24:27]
        car[6:9] = gym[30:33]
        car[9:12] = gym[18:21]
        car[12:15] = gym[21:24]
        car[15] = gym[10]
        car[16] = extra[0]
        car[17] = gym[8]
        car[18] = extra[1] > 0
        car[19] = extra[2] > 0
        car[20] = extra[3]
        car[21] = extra[4]
        car[22] = extra[5]
        car[23] = extra[6]
        car[24] = extra[7]
        car[25] = extra[7] > 0 and extra[8] < np.float32(0.65)
        car[26] = extra[9]
        ready = gym[8] == 0 and extra[3] == 0 and extra[7] == 0 and extra[9] == 0
        car[27] = ready and extra[10] < np.float32(1.25)
        car[28] = extra[10]
        car[29] = gym[9]
        car[30] = gym[3]
        car[31] = gym[4]
        car[32] = gym[5]
        car[33] = gym[6]


def count_down(timers: Floats, there: NDArray[np.bool_], simulators: Sequence[Simulator], *, ticks: int) -> None:
    """Moves pad timers `float32[n, 34]` on by `ticks`, in place, given which pads are `there: bool[n, 34]`.

    RocketSim subtracts a tick at a time in single precision, and so does this: the timers stay equal bit for bit.
    Pads that were just taken are asked.
    """
    taken = _count_down(timers, there, ticks)
    for match, pad in zip(*(index.tolist() for index in np.nonzero(taken)), strict=True):
        timers[match, pad] = simulators[match].pads[pad].get_state().cooldown


@numba.njit(cache=True, nogil=True)
def _count_down(timers: Floats, there: NDArray[np.bool_], ticks: int) -> NDArray[np.bool_]:
    unknown = np.zeros(timers.shape, np.bool_)
    for match in range(timers.shape[0]):
        for pad in range(timers.shape[1]):
            left = timers[match, pad]
            if there[match, pad]:
                left = np.float32(0.0)
            elif left > 0:
                for _ in range(ticks):
                    left = max(np.float32(left - _TICK), np.float32(0.0))
            timers[match, pad] = left
            unknown[match, pad] = left == 0 and not there[match, pad]
    return unknown


def pad_timers(simulator: Simulator) -> Floats:
    """`float32[34]` seconds until each pad of one field is back, asked pad by pad: at a match's start only."""
    return np.array([pad.get_state().cooldown for pad in simulator.pads], np.float32)
