"""What a seat sees: the field from its own side, orange's turned by half a turn so that everyone attacks +y.

`default` has two arrays. `cars: float32[2 * room, 33]`: the seat's own car, its team mates, its opponents, each in
seat order, rows of absent cars all 0:

    0        1 if there is such a car
    1-3      position / 2300          10-12  velocity / 2300
    4-6      nose, unit vector        13-15  spin / pi
    7-9      roof, unit vector        16     boost, 0..1
    17       seconds until a demolished car is back
    18-20    on the ground, boosting, supersonic
    21-23    ball from that car, in that car's axes (nose, right, roof) / 2300
    24-26    velocity of the ball relative to that car, in the same axes / 2300
    27-29    that car from the own car, in the own car's axes / 2300
    30-32    its velocity relative to the own car, in the same axes / 2300

`world: float32[88]`:

    0-8      ball position / 2300, velocity / 2300, spin / pi
    9-42     seconds / 10 until each boost pad is back, own goal first
    43-51    own jump held, handbrake, has jumped, is jumping, has flipped, is flipping, has double jumped,
             can flip, seconds since the jump
    52-59    the controls of the last action
    60-64    share of the match left, goals ahead / 5, overtime, kickoff (nobody has touched the ball yet),
             seconds / 10 since the last touch
    65-70    own velocity / 2300 and spin / pi, in the own car's axes
    71-76    their goal, own goal from the own car, in its axes / 2300
    77-79    unit vector from the own car to the ball, in its axes
    80-82    unit vector from the ball to their goal, in the own car's axes
    83-84    distances / 2300 from the own car to the ball, from the ball to their goal
    85       cosine between the last two directions: 1 where driving at the ball pushes it to their goal
    86-87    speed / 2300 of the own car to the ball, of the ball to their goal

What is in a car's own axes could be worked out from the rest; a small network need not learn how.

An observation of the user's own is a third array, `own: float32[width]`, made from the other two, which built-in
players read; a network sees `own` alone.

`positions` is the same with velocities and spins at 0. `rlgym` is one array `flat: float32[52 + 40 * room]`, equal to
RLGym's `DefaultObs(zero_padding=room)`.
"""

from collections.abc import Callable
from math import pi

import numba
import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Field
from sparring.games.rocket import field
from sparring.games.rocket.actions import CONTROLS
from sparring.games.rocket.vectors import Number, Vector, between, dot, length

Floats = Array
Rows = NDArray[np.int32]

OwnObservation = Callable[[Array, Array], Array]
"""Of the user: (`cars: float32[k, 2 * room, 33]`, `world: float32[k, 88]`) -> `float32[k, width]`."""

CAR_FEATURES = 33
WORLD_FEATURES = 88

_LENGTH = np.float32(1 / 2300)
_SPIN = np.float32(1 / pi)
_BACK_WALL = np.float32(field.BACK_WALL)
_GOAL_MIDDLE = np.float32(field.GOAL_HEIGHT / 2)


def observation_fields(kind: str, room: int, *, own: int = 0) -> dict[str, Field]:
    """The arrays of observation `kind`, for a spec; `own` is the width of one of the user's own."""
    if kind == "rlgym":
        return {"flat": Field((52 + 40 * room,), "float32")}
    fields = {"cars": Field((2 * room, CAR_FEATURES), "float32"), "world": Field((WORLD_FEATURES,), "float32")}
    return fields | ({"own": Field((own,), "float32")} if own else {})


def input_columns(kind: str, room: int) -> list[str]:
    """The name of every input of a flat row: the arrays of `observation_fields` in the order of their names."""
    cars = ["own", *(f"mate_{n}" for n in range(1, room)), *(f"opponent_{n}" for n in range(1, room + 1))]
    if kind == "rlgym":
        return [*_WORLD[:52], *(f"{car}.{name}" for car in cars for name in _CAR[1:21])]
    return [*(f"{car}.{name}" for car in cars for name in _CAR), *_WORLD]


def column_divisor(column: str) -> float:
    """What a length, speed, spin, time or count is divided by in an input column; 1 for flags and unit vectors."""
    name = column.split(".", 1)[1]
    what = name.rsplit("_", 1)[0] if name.rsplit("_", 1)[-1] in ("x", "y", "z", *_OWN) else name
    if what == "spin":
        return pi
    if what == "boost":
        return 100.0
    if what == "goals_ahead":
        return 5.0
    if what == "idle_seconds" or column.startswith("pad."):
        return 10.0
    return 2300.0 if what in _LENGTHS else 1.0


def is_motion(column: str) -> bool:
    """Whether an input column is a velocity or a spin: what `positions` hides."""
    return column.split(".", 1)[1].split("_")[0] in ("velocity", "spin", "speed")


def _axes(name: str, axes: tuple[str, str, str] = ("x", "y", "z")) -> list[str]:
    return [f"{name}_{axis}" for axis in axes]


_OWN = ("nose", "right", "roof")
_LENGTHS = (
    *("position", "velocity", "ball", "velocity_of_ball", "from_own", "velocity_from_own", "their_goal", "own_goal"),
    *("ball_distance", "goal_distance", "speed_to_ball", "speed_of_ball_to_goal"),
)
_CAR = [
    "present",
    *(name for part in ("position", "nose", "roof", "velocity", "spin") for name in _axes(part)),
    *("boost", "demolished_seconds", "on_ground", "boosting", "supersonic"),
    *_axes("ball", _OWN),
    *_axes("velocity_of_ball", _OWN),
    *_axes("from_own", _OWN),
    *_axes("velocity_from_own", _OWN),
]
_WORLD = [
    *(name for part in ("position", "velocity", "spin") for name in _axes(f"ball.{part}")),
    *(f"pad.{pad}_seconds" for pad in range(field.PADS)),
    *(f"jump.{name}" for name in ("held", "handbrake", "jumped", "jumping", "flipped", "flipping", "double_jumped")),
    *("jump.can_flip", "jump.air_seconds"),
    *(f"last.{control}" for control in CONTROLS),
    *(f"match.{name}" for name in ("share_left", "goals_ahead", "overtime", "kickoff", "idle_seconds")),
    *_axes("aim.velocity", _OWN),
    *_axes("aim.spin", _OWN),
    *_axes("aim.their_goal", _OWN),
    *_axes("aim.own_goal", _OWN),
    *_axes("aim.to_ball", _OWN),
    *_axes("aim.ball_to_goal", _OWN),
    *("aim.ball_distance", "aim.goal_distance", "aim.in_line", "aim.speed_to_ball", "aim.speed_of_ball_to_goal"),
]


def observe(
    kind: str,
    out: dict[str, Array],
    *,
    ball: Floats,
    cars: Floats,
    present: NDArray[np.bool_],
    pads: Floats,
    last: Floats,
    match: Floats,
    row_match: Rows,
    row_seat: Rows,
) -> None:
    """Writes the observation of k rows into `out`.

    States of m matches: `ball: float32[m, 9]`, `cars: float32[m, seats, 34]`, `present: bool[m, seats]`,
    `pads: float32[m, 34]`, `last: float32[m, seats, 8]` controls, `match: float32[m, 5]` as blue sees it;
    `row_match`, `row_seat: int32[k]` say whose view each row is.
    """
    if kind == "rlgym":
        _rlgym(ball, cars, present, pads, row_match, row_seat, out["flat"])
    else:
        hide = kind == "positions"
        _default(ball, cars, present, pads, last, match, row_match, row_seat, hide, out["world"], out["cars"])


@numba.njit(cache=True, nogil=True)
def _default(
    ball: Floats,
    cars: Floats,
    present: NDArray[np.bool_],
    pads: Floats,
    last: Floats,
    match: Floats,
    row_match: Rows,
    row_seat: Rows,
    hide: bool,
    world_out: Floats,
    cars_out: Floats,
) -> None:
    seats = cars.shape[1]
    room = seats // 2
    still = np.float32(0.0 if hide else 1.0)
    for row in range(len(row_match)):
        m, seat = row_match[row], row_seat[row]
        orange = seat >= room
        turn = np.float32(-1.0 if orange else 1.0)
        world = world_out[row]
        b = ball[m]
        for axis in range(3):
            sign = turn if axis < 2 else np.float32(1.0)
            world[axis] = b[axis] * sign * _LENGTH
            world[3 + axis] = b[3 + axis] * sign * _LENGTH * still
            world[6 + axis] = b[6 + axis] * sign * _SPIN * still
        for pad in range(34):
            world[9 + pad] = pads[m, 33 - pad if orange else pad] * np.float32(0.1)
        for flag in range(9):
            world[43 + flag] = cars[m, seat, 20 + flag]
        for control in range(8):
            world[52 + control] = last[m, seat, control]
        world[60] = match[m, 0]
        world[61] = match[m, 1] * turn
        world[62] = match[m, 2]
        world[63] = match[m, 3]
        world[64] = match[m, 4]
        own = cars[m, seat]
        right = _right(own)
        _aims(b, own, right, turn, still, world[65:])
        for place in range(seats):
            shown = _seat_at(place, seat, room)
            if not present[m, shown]:
                cars_out[row, place] = 0
                continue
            car = cars[m, shown]
            out = cars_out[row, place]
            _car(b, car, turn, still, out)
            _own_axes(between(own, 0, car, 0), own, right, _LENGTH, out[27:30])
            _own_axes(between(own, 9, car, 9), own, right, _LENGTH * still, out[30:33])


@numba.njit(cache=True, nogil=True)
def _seat_at(place: int, seat: int, room: int) -> int:
    """The seat shown at `place` to `seat`: itself, its team mates in order, its opponents in order."""
    own = seat // room * room
    if place == 0:
        return seat
    if place < room:
        mate = own + place - 1
        return mate if mate < seat else mate + 1
    return room - own + place - room


@numba.njit(cache=True, nogil=True)
def _car(ball: Floats, car: Floats, turn: np.float32, still: np.float32, out: Floats) -> None:
    """Columns 0-26 of `cars`."""
    out[0] = 1
    for axis in range(3):
        sign = turn if axis < 2 else np.float32(1.0)
        out[1 + axis] = car[axis] * sign * _LENGTH
        out[4 + axis] = car[3 + axis] * sign
        out[7 + axis] = car[6 + axis] * sign
        out[10 + axis] = car[9 + axis] * sign * _LENGTH * still
        out[13 + axis] = car[12 + axis] * sign * _SPIN * still
    out[16] = car[15] * np.float32(0.01)
    out[17] = car[16]
    out[18] = car[17]
    out[19] = car[18]
    out[20] = car[19]
    right = _right(car)
    _own_axes(between(car, 0, ball, 0), car, right, _LENGTH, out[21:24])
    _own_axes(between(car, 9, ball, 3), car, right, _LENGTH * still, out[24:27])


@numba.njit(cache=True, nogil=True)
def _aims(ball: Floats, own: Floats, right: Vector, turn: np.float32, still: np.float32, out: Floats) -> None:
    """Columns 65-87 of `world`: what the own car must know to drive and to shoot."""
    x, y, z = own[0], own[1], own[2]
    back = turn * _BACK_WALL
    velocity, ball_velocity = (own[9], own[10], own[11]), (ball[3], ball[4], ball[5])
    _own_axes(velocity, own, right, _LENGTH * still, out[0:3])
    _own_axes((own[12], own[13], own[14]), own, right, _SPIN * still, out[3:6])
    _own_axes((-x, back - y, _GOAL_MIDDLE - z), own, right, _LENGTH, out[6:9])
    _own_axes((-x, -back - y, _GOAL_MIDDLE - z), own, right, _LENGTH, out[9:12])
    to_ball = between(own, 0, ball, 0)
    shot = (-ball[0], back - ball[1], _GOAL_MIDDLE - ball[2])
    gap, way = length(to_ball), length(shot)
    _own_axes(to_ball, own, right, 1 / gap, out[12:15])
    _own_axes(shot, own, right, 1 / way, out[15:18])
    out[18] = gap * _LENGTH
    out[19] = way * _LENGTH
    out[20] = dot(to_ball, shot) / (gap * way)
    out[21] = dot(velocity, to_ball) / gap * _LENGTH * still
    out[22] = dot(ball_velocity, shot) / way * _LENGTH * still


@numba.njit(cache=True, nogil=True)
def _right(car: Floats) -> Vector:
    """The right-hand side of a car, from its nose and roof."""
    nose, roof = car[3:6], car[6:9]
    return (
        roof[1] * nose[2] - roof[2] * nose[1],
        roof[2] * nose[0] - roof[0] * nose[2],
        roof[0] * nose[1] - roof[1] * nose[0],
    )


@numba.njit(cache=True, nogil=True)
def _own_axes(vector: Vector, car: Floats, right: Vector, scale: Number, out: Floats) -> None:
    """Writes `vector` along the car's nose, right and roof, times `scale`, to `out: float32[3]`."""
    x, y, z = vector
    out[0] = (x * car[3] + y * car[4] + z * car[5]) * scale
    out[1] = dot(vector, right) * scale
    out[2] = (x * car[6] + y * car[7] + z * car[8]) * scale


@numba.njit(cache=True, nogil=True)
def _rlgym(
    ball: Floats,
    cars: Floats,
    present: NDArray[np.bool_],
    pads: Floats,
    row_match: Rows,
    row_seat: Rows,
    out: Floats,
) -> None:
    seats = cars.shape[1]
    room = seats // 2
    for row in range(len(row_match)):
        m, seat = row_match[row], row_seat[row]
        orange = seat >= room
        turn = np.float32(-1.0 if orange else 1.0)
        flat = out[row]
        flat[:] = 0
        for axis in range(3):
            sign = turn if axis < 2 else np.float32(1.0)
            flat[axis] = ball[m, axis] * sign * _LENGTH
            flat[3 + axis] = ball[m, 3 + axis] * sign * _LENGTH
            flat[6 + axis] = ball[m, 6 + axis] * sign * _SPIN
        for pad in range(34):
            flat[9 + pad] = pads[m, 33 - pad if orange else pad] * np.float32(0.1)
        for flag in range(9):
            flat[43 + flag] = cars[m, seat, 20 + flag]
        # RLGym packs the cars that are there to the front of each team's places.
        place = 52
        for order in range(seats):
            if order == room:
                place = 52 + 20 * room
            shown = _seat_at(order, seat, room)
            if present[m, shown]:
                car = cars[m, shown]
                for axis in range(3):
                    sign = turn if axis < 2 else np.float32(1.0)
                    flat[place + axis] = car[axis] * sign * _LENGTH
                    flat[place + 3 + axis] = car[3 + axis] * sign
                    flat[place + 6 + axis] = car[6 + axis] * sign
                    flat[place + 9 + axis] = car[9 + axis] * sign * _LENGTH
                    flat[place + 12 + axis] = car[12 + axis] * sign * _SPIN
                flat[place + 15] = car[15] * np.float32(0.01)
                flat[place + 16] = car[16]
                flat[place + 17] = car[17]
                flat[place + 18] = car[18]
                flat[place + 19] = car[19]
                place += 20


assert (len(_CAR), len(_WORLD)) == (CAR_FEATURES, WORLD_FEATURES)
assert (field.HOLDING_JUMP, field.AIR_SECONDS) == (20, 28), "the kernels copy columns 20..28 as they are"
