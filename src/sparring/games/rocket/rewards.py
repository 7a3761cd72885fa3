"""Rewards: components as pure functions of state arrays, and how their sum is mixed among the cars.

A component maps a `Transition` to `float32[m, seats]`. Those in `EVENTS` pay each time something happens; those in
`CONTINUOUS` say how well a car does at this moment, in [-1, 1], and pay that much a second. Every component is
seen from the car's own team, so one weight serves both teams. Absent cars get 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array
from sparring.games.rocket import field

Floats = Array

_GOALS = np.stack([field.ORANGE_GOAL, field.BLUE_GOAL])
"""`float32[2, 3]` what blue and orange shoot at."""


@dataclass
class Transition:
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

    @cached_property
    def sign(self) -> Floats:
        """`float32[seats]`: 1 for blue seats, -1 for orange ones."""
        seats = self.cars.shape[1]
        return np.where(np.arange(seats) < seats // 2, 1.0, -1.0).astype(np.float32)

    @cached_property
    def to_ball(self) -> Floats:
        """`float32[m, seats, 3]`: unit vectors from each car to the ball."""
        offset = self.ball[:, None, field.BALL_POSITION] - self.cars[..., field.POSITION]
        return offset / np.maximum(_length(offset), 1e-3)[..., None]

    @cached_property
    def to_goal(self) -> Floats:
        """`float32[m, 2, 3]`: unit vectors from the ball to the goals that blue and orange shoot at."""
        offset = _GOALS - self.ball[:, None, field.BALL_POSITION]
        return offset / np.maximum(_length(offset), 1e-3)[..., None]

    @cached_property
    def touched(self) -> NDArray[np.bool_]:
        """`bool[m, seats]`."""
        return self.cars[..., field.TOUCHED] > 0

    @cached_property
    def driving(self) -> Floats:
        """`float32[m, seats]`: 1 for cars that are present and not demolished."""
        driving: Floats = (self.present & (self.cars[..., field.DEMO_SECONDS] == 0)).astype(np.float32)
        return driving

    def gained(self, column: int) -> Floats:
        """`float32[m, seats]`: how much a counter grew; 0 where it was reset."""
        growth: Floats = np.maximum(self.cars[..., column] - self.cars_before[..., column], 0.0)
        return growth


def goal(step: Transition) -> Floats:
    """1 for every car of the team that scored."""
    return np.maximum(step.scored[:, None] * step.sign, 0.0)


def concede(step: Transition) -> Floats:
    """-1 for every car of the team that let one in."""
    return np.minimum(step.scored[:, None] * step.sign, 0.0)


def touch(step: Transition) -> Floats:
    """1 for a touch of the ball."""
    return step.touched.astype(np.float32)


def hit(step: Transition) -> Floats:
    """For a touch: how much the ball's velocity changed, as a share of its top speed. Pinning it pays little."""
    change = _length(step.ball[:, field.BALL_VELOCITY] - step.ball_before[:, field.BALL_VELOCITY])
    paid: Floats = step.touched * (change / np.float32(field.BALL_TOP_SPEED))[:, None]
    return paid


def hit_to_goal(step: Transition) -> Floats:
    """For a touch: how much faster it made the ball towards the opponents' goal, as a share of its top speed.

    Negative for a touch that sends it the other way: what a shot is worth is paid at once, not while it rolls.
    """
    change = step.ball[:, field.BALL_VELOCITY] - step.ball_before[:, field.BALL_VELOCITY]
    towards = _along(change[:, None], step.to_goal).repeat(len(step.sign) // 2, axis=1)
    paid: Floats = step.touched * towards / np.float32(field.BALL_TOP_SPEED)
    return paid


def air_touch(step: Transition) -> Floats:
    """For a touch off the ground: how high the ball is, 0 at rest to 1 at the ceiling."""
    height = (step.ball[:, 2] - field.BALL_REST) / (field.CEILING - field.BALL_REST)
    flying = step.touched & (step.cars[..., field.ON_GROUND] == 0)
    paid: Floats = flying * np.clip(height, 0.0, 1.0)[:, None]
    return paid


def boost_gained(step: Transition) -> Floats:
    """Growth of the square root of the boost share: the first drops are worth most."""
    paid: Floats = np.maximum(_boost_root(step.cars) - _boost_root(step.cars_before), 0.0)
    return paid


def demo(step: Transition) -> Floats:
    """1 for demolishing an opponent, -1 for being demolished."""
    suffered = (step.cars[..., field.DEMO_SECONDS] > 0) & (step.cars_before[..., field.DEMO_SECONDS] == 0)
    paid: Floats = step.gained(field.DEMOS) - suffered
    return paid


def save(step: Transition) -> Floats:
    """1 for a save, as the game counts them."""
    return step.gained(field.SAVES)


def shot(step: Transition) -> Floats:
    """1 for a shot on goal, as the game counts them."""
    return step.gained(field.SHOTS)


def ball_to_goal(step: Transition) -> Floats:
    """Speed of the ball towards the opponents' goal, as a share of its top speed."""
    towards = _along(step.ball[:, None, field.BALL_VELOCITY], step.to_goal)
    return (towards / np.float32(field.BALL_TOP_SPEED)).repeat(len(step.sign) // 2, axis=1)


def speed_to_ball(step: Transition) -> Floats:
    """Speed of the car towards the ball, as a share of its top speed."""
    return step.driving * _along(step.cars[..., field.VELOCITY], step.to_ball) / field.CAR_TOP_SPEED


def face_ball(step: Transition) -> Floats:
    """Cosine of the angle between the car's nose and the ball."""
    return step.driving * _along(step.cars[..., field.FORWARD], step.to_ball)


def behind_ball(step: Transition) -> Floats:
    """Cosine of the angle between the way to the ball and the ball's way to the opponents' goal: 1 in line to shoot."""
    return step.driving * _along(step.to_ball, step.to_goal.repeat(len(step.sign) // 2, axis=1))


def boost_kept(step: Transition) -> Floats:
    """Square root of the boost share in the tank."""
    return step.driving * _boost_root(step.cars)


def kickoff(step: Transition) -> Floats:
    """`speed_to_ball` for as long as nobody has touched the ball since kickoff."""
    return speed_to_ball(step) * step.kickoff[:, None]


def possession(step: Transition) -> Floats:
    """1 for the team that touched the ball last, -1 for the other."""
    return step.last_team[:, None] * step.sign


EVENTS: Mapping[str, Callable[[Transition], Floats]] = {
    "goal": goal,
    "concede": concede,
    "touch": touch,
    "hit": hit,
    "hit_to_goal": hit_to_goal,
    "air_touch": air_touch,
    "boost_gained": boost_gained,
    "demo": demo,
    "save": save,
    "shot": shot,
}
"""Paid each time."""

CONTINUOUS: Mapping[str, Callable[[Transition], Floats]] = {
    "ball_to_goal": ball_to_goal,
    "speed_to_ball": speed_to_ball,
    "face_ball": face_ball,
    "behind_ball": behind_ball,
    "boost_kept": boost_kept,
    "kickoff": kickoff,
    "possession": possession,
}
"""Paid by the second."""


def components(step: Transition, weights: Mapping[str, float], *, seconds: float) -> Floats:
    """`float32[len(weights), m, seats]`: each component times its weight, before mixing, for a step of `seconds`."""
    paid = np.zeros((len(weights), *step.present.shape), np.float32)
    for row, (name, weight) in zip(paid, weights.items(), strict=True):
        if weight == 0.0:
            continue
        if name in EVENTS:
            np.multiply(EVENTS[name](step), weight, out=row)
        else:
            np.multiply(CONTINUOUS[name](step), weight * seconds, out=row)
    paid *= step.present
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


def _along(vectors: Floats, others: Floats) -> Floats:
    """Dot products of `float32[..., 3]` vectors."""
    products: Floats = np.einsum("...k,...k->...", vectors, others)
    return products


def _length(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(_along(vectors, vectors))
    return lengths


def _boost_root(cars: Floats) -> Floats:
    roots: Floats = np.sqrt(np.maximum(cars[..., field.BOOST], 0.0) / 100.0)
    return roots
