"""Rewards: components as pure functions of one car's step, and how their sum is mixed among the cars.

A built-in component is a function here that maps a `Moment` to a number. An `event` pays each time something happens; a
`continuous` one says how well a car does at this moment, in [-1, 1], and pays that much a second. Every component is
seen from the car's own team, so one weight serves both teams. Absent cars get 0. One compiled pass computes all
built-in components of all cars. A component of the user's own (`OwnReward`) works on the arrays of a whole step.
"""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from sparring.core import Array, InputError
from sparring.core.code import blamed, returned
from sparring.games.rocket import field
from sparring.games.rocket.vectors import Number, Vector, at, between, dot, length, unit

Floats = Array

F = TypeVar("F", bound=Callable[..., Any])

EVENTS: dict[str, Callable[..., Any]] = {}
"""Components that are paid each time, by name."""
CONTINUOUS: dict[str, Callable[..., Any]] = {}
"""Components that are paid by the second, by name."""

_GOAL_MIDDLE = field.GOAL_HEIGHT / 2
_POSITION, _NOSE, _VELOCITY, _BALL_VELOCITY = 0, 3, 9, 3


class Transition(NamedTuple):
    """One step of m matches, before and after. Seats 0..room-1 are blue, the others orange.

    All seats are in the one frame of the field: blue attacks towards +y, orange towards -y.

        cars          float32[m, seats, 34]  after the step; the columns are in `field`, absent cars' mean nothing
        cars_before   float32[m, seats, 34]  before it
        ball          float32[m, 9]          after the step: position, velocity, spin
        ball_before   float32[m, 9]          before it
        present       bool[m, seats]         which seats have a car in this match
        scored        int32[m]               1 if blue scored in this step, -1 if orange did, else 0
        last_team     int32[m]               team that touched the ball last, this step included: 1 blue, -1 orange,
                                             0 nobody since the kickoff or start
        kickoff       bool[m]                the match or the play began with a kickoff and nobody has touched the ball
        first         bool[m]                the step is the first of its match: what remembers something starts anew
    """

    cars: Floats
    cars_before: Floats
    ball: Floats
    ball_before: Floats
    present: NDArray[np.bool_]
    scored: NDArray[np.int32]
    last_team: NDArray[np.int32]
    kickoff: NDArray[np.bool_]
    first: NDArray[np.bool_]


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


def event(function: F) -> F:
    """Makes a function of a `Moment` a component that is paid each time."""
    return _component(function, EVENTS)


def continuous(function: F) -> F:
    """Makes a function of a `Moment` a component that is paid by the second."""
    return _component(function, CONTINUOUS)


def _component(function: F, kind: dict[str, Callable[..., Any]]) -> F:
    compiled: Any = numba.njit(cache=True, nogil=True)(function)
    kind[function.__name__] = compiled
    return cast("F", compiled)


OwnReward = Callable[[Transition, float], Floats]
"""A component of the user's own: (step, seconds that it took) -> `float32[m, seats]`, what each car is paid for it."""


def components(
    step: Transition, weights: Mapping[str, float], *, seconds: float, own: Mapping[str, OwnReward] | None = None
) -> Floats:
    """`float32[len(weights), m, seats]`: each component times its weight, before mixing, for a step of `seconds`.

    `own` has the components among `weights` that are not built in.
    """
    rows = {name: row for row, name in enumerate((*EVENTS, *CONTINUOUS))}
    measured = np.zeros((len(rows) + 1, *step.present.shape), np.float32)
    _measure(step, measured)
    rates = [weight * seconds if name in CONTINUOUS else weight for name, weight in weights.items()]
    paid: Floats = measured[[rows.get(name, -1) for name in weights]]
    for number, name in enumerate(weights):
        if name not in rows:
            paid[number] = _own_pay(name, (own or {})[name], step, seconds)
    paid *= np.array(rates, np.float32)[:, None, None]
    return paid


def _own_pay(name: str, reward: OwnReward, step: Transition, seconds: float) -> Floats:
    """What a component of the user's own pays, `float32[m, seats]`; raises `InputError` for what is no payment."""
    with blamed(f"reward {name}"):
        given = reward(step, seconds)
        value = np.asarray(given)
    if value.shape != step.present.shape:
        raise InputError(
            f"reward {name}: {returned(given)}, but an array of {step.present.shape} is needed (matches, seats)"
        )
    paid = np.where(step.present, value, 0).astype(np.float32)
    if not np.isfinite(paid).all():
        match, seat = np.argwhere(~np.isfinite(paid))[0].tolist()
        raise InputError(f"reward {name}: {paid[match, seat]} for seat {seat} of match {match} is not finite")
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


@event
def goal(now: Moment) -> Number:
    """1 for every car of the team that scored."""
    return max(now.scored, 0.0)


@event
def concede(now: Moment) -> Number:
    """-1 for every car of the team that let one in."""
    return min(now.scored, 0.0)


@event
def touch(now: Moment) -> Number:
    """1 for a touch of the ball."""
    return 1.0 if now.car[field.TOUCHED] > 0 else 0.0


@event
def hit(now: Moment) -> Number:
    """For a touch: how much the ball's velocity changed, as a share of its top speed. Pinning it pays little."""
    change = between(now.ball_before, _BALL_VELOCITY, now.ball, _BALL_VELOCITY)
    return touch(now) * length(change) / field.BALL_TOP_SPEED


@event
def hit_to_goal(now: Moment) -> Number:
    """For a touch: how much faster it made the ball towards the opponents' goal, as a share of its top speed.

    Negative for a touch that sends it the other way: what a shot is worth is paid at once, not while it rolls.
    """
    change = between(now.ball_before, _BALL_VELOCITY, now.ball, _BALL_VELOCITY)
    return touch(now) * dot(change, _to_goal(now)) / field.BALL_TOP_SPEED


@event
def air_touch(now: Moment) -> Number:
    """For a touch off the ground: how high the ball is, 0 at rest to 1 at the ceiling."""
    height = (now.ball[2] - field.BALL_REST) / (field.CEILING - field.BALL_REST)
    return touch(now) * min(max(height, 0.0), 1.0) if now.car[field.ON_GROUND] == 0 else 0.0


@event
def boost_gained(now: Moment) -> Number:
    """Growth of the square root of the boost share: the first drops are worth most."""
    return max(_boost_root(now.car) - _boost_root(now.before), 0.0)


@event
def demo(now: Moment) -> Number:
    """1 for demolishing an opponent, -1 for being demolished."""
    suffered = now.car[field.DEMO_SECONDS] > 0 and now.before[field.DEMO_SECONDS] == 0
    return _gained(now, field.DEMOS) - (1.0 if suffered else 0.0)


@event
def save(now: Moment) -> Number:
    """1 for a save, as the game counts them."""
    return _gained(now, field.SAVES)


@event
def shot(now: Moment) -> Number:
    """1 for a shot on goal, as the game counts them."""
    return _gained(now, field.SHOTS)


@continuous
def ball_to_goal(now: Moment) -> Number:
    """Speed of the ball towards the opponents' goal, as a share of its top speed."""
    return dot(at(now.ball, _BALL_VELOCITY), _to_goal(now)) / field.BALL_TOP_SPEED


@continuous
def speed_to_ball(now: Moment) -> Number:
    """Speed of the car towards the ball, as a share of its top speed."""
    return _driving(now) * dot(at(now.car, _VELOCITY), _to_ball(now)) / field.CAR_TOP_SPEED


@continuous
def face_ball(now: Moment) -> Number:
    """Cosine of the angle between the car's nose and the ball."""
    return _driving(now) * dot(at(now.car, _NOSE), _to_ball(now))


@continuous
def behind_ball(now: Moment) -> Number:
    """Cosine of the angle between the way to the ball and the ball's way to the opponents' goal: 1 in line to shoot."""
    return _driving(now) * dot(_to_ball(now), _to_goal(now))


@continuous
def boost_kept(now: Moment) -> Number:
    """Square root of the boost share in the tank."""
    return _driving(now) * _boost_root(now.car)


@continuous
def kickoff(now: Moment) -> Number:
    """`speed_to_ball` for as long as nobody has touched the ball since kickoff."""
    return speed_to_ball(now) if now.kickoff else 0.0


@continuous
def possession(now: Moment) -> Number:
    """1 for the team that touched the ball last, -1 for the other."""
    return now.last_team


def _write_all(now: Moment, out: Floats, match: int, seat: int) -> None:
    """Every component of one moment, to `out: float32[components + 1, m, seats]`; only compiled code can call it."""
    raise NotImplementedError


@overload(_write_all, strict=False, inline="always")
def _compile_write_all(now: Any, out: Any, match: Any, seat: Any) -> Callable[..., None]:
    """The code of `_write_all`: a call of each component that there is, one after the other."""
    parts = {**EVENTS, **CONTINUOUS}
    calls = [f"    out[{row}, match, seat] = {name}(now)" for row, name in enumerate(parts)]
    exec("\n".join(["def write(now, out, match, seat):", *calls]), parts)
    return parts["write"]


@numba.njit(cache=True, nogil=True)
def _measure(step: Transition, out: Floats) -> None:
    """Every built-in component of every car that is there, to `out: float32[components + 1, m, seats]`."""
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
            _write_all(now, out, match, seat)


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
