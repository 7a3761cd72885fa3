"""Rewards: components as pure functions of one car's step, and how their sum is mixed among the cars.

A component maps a `Moment` to a number. Those in `EVENTS` pay each time something happens; those in `CONTINUOUS` say
how well a car does at this moment, in [-1, 1], and pay that much a second. Every component is seen from the car's own
team, so one weight serves both teams. Absent cars get 0. All components of all cars are computed in one compiled pass.
"""

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from sparring.core import Array
from sparring.games.rocket import field
from sparring.games.rocket.vectors import Number, Vector, at, between, dot, length, unit

Floats = Array

EVENTS = ("goal", "concede", "touch", "hit", "hit_to_goal", "air_touch", "boost_gained", "demo", "save", "shot")
"""Paid each time."""

CONTINUOUS = ("ball_to_goal", "speed_to_ball", "face_ball", "behind_ball", "boost_kept", "kickoff", "possession")
"""Paid by the second."""

_ROW = {name: row for row, name in enumerate((*EVENTS, *CONTINUOUS))}
_GOAL_MIDDLE = field.GOAL_HEIGHT / 2
_POSITION, _NOSE, _VELOCITY, _BALL_VELOCITY = 0, 3, 9, 3


class Transition(NamedTuple):
    """One step of m matches, before and after. Seats 0..room-1 are blue, the others orange."""

    cars: Floats
    """`float32[m, seats, 34]` after the step; the columns are in `field`."""
    cars_before: Floats
    """`float32[m, seats, 34]`"""
    ball: Floats
    """`float32[m, 9]` after the step."""
    ball_before: Floats
    """`float32[m, 9]`"""
    present: NDArray[np.bool_]
    """`bool[m, seats]` which seats have a car in this match."""
    scored: NDArray[np.int32]
    """`int32[m]` 1 if blue scored in this step, -1 if orange did, else 0."""
    last_team: NDArray[np.int32]
    """`int32[m]` team of the last car that touched the ball, as a sign: 1 blue, -1 orange, 0 nobody yet."""
    kickoff: NDArray[np.bool_]
    """`bool[m]` the ball has not been touched since kickoff."""


class Moment(NamedTuple):
    """One car's share of a `Transition`."""

    car: Floats
    """`float32[34]`"""
    before: Floats
    """`float32[34]`"""
    ball: Floats
    """`float32[9]`"""
    ball_before: Floats
    """`float32[9]`"""
    side: float
    """1 for blue, -1 for orange."""
    scored: float
    """1 if the car's team scored, -1 if the opponents did, else 0."""
    last_team: float
    """1 if the car's team touched the ball last, -1 if the opponents did, 0 if nobody has."""
    kickoff: bool


def components(step: Transition, weights: Mapping[str, float], *, seconds: float) -> Floats:
    """`float32[len(weights), m, seats]`: each component times its weight, before mixing, for a step of `seconds`."""
    measured = np.zeros((len(_ROW), *step.present.shape), np.float32)
    _measure(step, measured)
    rates = [weight if name in EVENTS else weight * seconds for name, weight in weights.items()]
    paid: Floats = measured[[_ROW[name] for name in weights]]
    paid *= np.array(rates, np.float32)[:, None, None]
    return paid


def mix(paid: Floats, present: NDArray[np.bool_], *, team_spirit: float, zero_sum: bool) -> Floats:
    """`float32[m, seats]`: what each car gets of `paid: float32[m, seats]`.

    With team spirit t a car gets (1 - t) of its own and t of its team's mean; zero-sum then takes the
    opponents' mean from it, so that what one team gains the other loses.
    """
    m, seats = paid.shape
    teams = paid.reshape(m, 2, seats // 2)
    counts = present.reshape(m, 2, seats // 2).sum(axis=2)
    means = teams.sum(axis=2) / np.maximum(counts, 1)
    mixed = teams if team_spirit == 0.0 else (1 - team_spirit) * teams + team_spirit * means[:, :, None]
    if zero_sum:
        mixed = mixed - means[:, ::-1, None]
    return (mixed.reshape(m, seats) * present).astype(np.float32)


@numba.njit(cache=True, nogil=True)
def goal(now: Moment) -> Number:
    """1 for every car of the team that scored."""
    return max(now.scored, 0.0)


@numba.njit(cache=True, nogil=True)
def concede(now: Moment) -> Number:
    """-1 for every car of the team that let one in."""
    return min(now.scored, 0.0)


@numba.njit(cache=True, nogil=True)
def touch(now: Moment) -> Number:
    """1 for a touch of the ball."""
    return 1.0 if now.car[field.TOUCHED] > 0 else 0.0


@numba.njit(cache=True, nogil=True)
def hit(now: Moment) -> Number:
    """For a touch: how much the ball's velocity changed, as a share of its top speed. Pinning it pays little."""
    change = between(now.ball_before, _BALL_VELOCITY, now.ball, _BALL_VELOCITY)
    return touch(now) * length(change) / field.BALL_TOP_SPEED


@numba.njit(cache=True, nogil=True)
def hit_to_goal(now: Moment) -> Number:
    """For a touch: how much faster it made the ball towards the opponents' goal, as a share of its top speed.

    Negative for a touch that sends it the other way: what a shot is worth is paid at once, not while it rolls.
    """
    change = between(now.ball_before, _BALL_VELOCITY, now.ball, _BALL_VELOCITY)
    return touch(now) * dot(change, _to_goal(now)) / field.BALL_TOP_SPEED


@numba.njit(cache=True, nogil=True)
def air_touch(now: Moment) -> Number:
    """For a touch off the ground: how high the ball is, 0 at rest to 1 at the ceiling."""
    height = (now.ball[2] - field.BALL_REST) / (field.CEILING - field.BALL_REST)
    return touch(now) * min(max(height, 0.0), 1.0) if now.car[field.ON_GROUND] == 0 else 0.0


@numba.njit(cache=True, nogil=True)
def boost_gained(now: Moment) -> Number:
    """Growth of the square root of the boost share: the first drops are worth most."""
    return max(_boost_root(now.car) - _boost_root(now.before), 0.0)


@numba.njit(cache=True, nogil=True)
def demo(now: Moment) -> Number:
    """1 for demolishing an opponent, -1 for being demolished."""
    suffered = now.car[field.DEMO_SECONDS] > 0 and now.before[field.DEMO_SECONDS] == 0
    return _gained(now, field.DEMOS) - (1.0 if suffered else 0.0)


@numba.njit(cache=True, nogil=True)
def save(now: Moment) -> Number:
    """1 for a save, as the game counts them."""
    return _gained(now, field.SAVES)


@numba.njit(cache=True, nogil=True)
def shot(now: Moment) -> Number:
    """1 for a shot on goal, as the game counts them."""
    return _gained(now, field.SHOTS)


@numba.njit(cache=True, nogil=True)
def ball_to_goal(now: Moment) -> Number:
    """Speed of the ball towards the opponents' goal, as a share of its top speed."""
    return dot(at(now.ball, _BALL_VELOCITY), _to_goal(now)) / field.BALL_TOP_SPEED


@numba.njit(cache=True, nogil=True)
def speed_to_ball(now: Moment) -> Number:
    """Speed of the car towards the ball, as a share of its top speed."""
    return _driving(now) * dot(at(now.car, _VELOCITY), _to_ball(now)) / field.CAR_TOP_SPEED


@numba.njit(cache=True, nogil=True)
def face_ball(now: Moment) -> Number:
    """Cosine of the angle between the car's nose and the ball."""
    return _driving(now) * dot(at(now.car, _NOSE), _to_ball(now))


@numba.njit(cache=True, nogil=True)
def behind_ball(now: Moment) -> Number:
    """Cosine of the angle between the way to the ball and the ball's way to the opponents' goal: 1 in line to shoot."""
    return _driving(now) * dot(_to_ball(now), _to_goal(now))


@numba.njit(cache=True, nogil=True)
def boost_kept(now: Moment) -> Number:
    """Square root of the boost share in the tank."""
    return _driving(now) * _boost_root(now.car)


@numba.njit(cache=True, nogil=True)
def kickoff(now: Moment) -> Number:
    """`speed_to_ball` for as long as nobody has touched the ball since kickoff."""
    return speed_to_ball(now) if now.kickoff else 0.0


@numba.njit(cache=True, nogil=True)
def possession(now: Moment) -> Number:
    """1 for the team that touched the ball last, -1 for the other."""
    return now.last_team


@numba.njit(cache=True, nogil=True)
def _measure(step: Transition, out: Floats) -> None:
    """Every component of every car that is there, to `out: float32[components, m, seats]`, in the order of `_ROW`."""
    matches, seats = step.present.shape
    for match in range(matches):
        for seat in range(seats):
            if not step.present[match, seat]:
                continue
            side = 1.0 if seat < seats // 2 else -1.0
            now = Moment(
                step.cars[match, seat],
                step.cars_before[match, seat],
                step.ball[match],
                step.ball_before[match],
                side,
                side * step.scored[match],
                side * step.last_team[match],
                step.kickoff[match],
            )
            events = (
                goal(now),
                concede(now),
                touch(now),
                hit(now),
                hit_to_goal(now),
                air_touch(now),
                boost_gained(now),
                demo(now),
                save(now),
                shot(now),
            )
            continuous = (
                ball_to_goal(now),
                speed_to_ball(now),
                face_ball(now),
                behind_ball(now),
                boost_kept(now),
                kickoff(now),
                possession(now),
            )
            for row, value in enumerate(events):
                out[row, match, seat] = value
            for row, value in enumerate(continuous):
                out[len(events) + row, match, seat] = value


@numba.njit(cache=True, nogil=True)
def _driving(now: Moment) -> Number:
    """0 for a demolished car, else 1."""
    return 1.0 if now.car[field.DEMO_SECONDS] == 0 else 0.0


@numba.njit(cache=True, nogil=True)
def _gained(now: Moment, column: int) -> Number:
    """How much a counter grew; 0 where it was reset."""
    return max(float(now.car[column] - now.before[column]), 0.0)


@numba.njit(cache=True, nogil=True)
def _boost_root(car: Floats) -> Number:
    return sqrt(max(float(car[field.BOOST]), 0.0) / 100.0)


@numba.njit(cache=True, nogil=True)
def _to_ball(now: Moment) -> Vector:
    """The unit vector from the car to the ball."""
    return unit(between(now.car, _POSITION, now.ball, _POSITION))


@numba.njit(cache=True, nogil=True)
def _to_goal(now: Moment) -> Vector:
    """The unit vector from the ball to the goal that the car shoots at."""
    x, y, z = at(now.ball, _POSITION)
    return unit((-x, now.side * field.BACK_WALL - y, _GOAL_MIDDLE - z))


assert (field.POSITION.start, field.FORWARD.start, field.VELOCITY.start) == (_POSITION, _NOSE, _VELOCITY)
assert (field.BALL_POSITION.start, field.BALL_VELOCITY.start) == (_POSITION, _BALL_VELOCITY)
