"""Where matches start: kickoff, or a situation drawn at random so that rare ones are seen often.

A start is arrays, so that it can be drawn, tested and stored without RocketSim; `simulator` puts it on the field.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array
from sparring.games.rocket import field

Floats = Array
Random = np.random.Generator


@dataclass(frozen=True)
class Situation:
    """A moment of a match with n cars, the blue half of them first."""

    ball: Floats
    """`float32[9]` position, velocity, spin."""
    position: Floats
    """`float32[n, 3]`"""
    angles: Floats
    """`float32[n, 3]` yaw, pitch, roll."""
    velocity: Floats
    """`float32[n, 3]`"""
    spin: Floats
    """`float32[n, 3]`"""
    boost: Floats
    """`float32[n]`, 0 to 100."""
    pads: Floats
    """`float32[34]` seconds until each boost pad is back."""


def random_situation(rng: Random, team: int) -> Situation:
    """Anything anywhere: ball and cars on the ground or in the air, at any speed."""
    n = 2 * team
    position = _spread(rng, n, 3600, 4600)
    flying = rng.random(n) < 0.4
    position[:, 2] = np.where(flying, rng.uniform(100, 1800, n), field.CAR_REST)
    angles = np.stack([rng.uniform(-np.pi, np.pi, n), rng.uniform(-1.4, 1.4, n), rng.uniform(-np.pi, np.pi, n)], axis=1)
    angles[~flying, 1:] = 0.0
    velocity = _directions(rng, n) * rng.uniform(0, field.CAR_TOP_SPEED, (n, 1))
    ground = _heading(angles[:, 0]) * rng.uniform(-500, field.CAR_TOP_SPEED, (n, 1))
    velocity = np.where(flying[:, None], velocity, ground)
    spin = _directions(rng, n) * rng.uniform(0, field.CAR_TOP_SPIN, (n, 1)) * flying[:, None]
    ball = _ball(
        [rng.uniform(-3800, 3800), rng.uniform(-4700, 4700), rng.uniform(field.BALL_REST, 1900)],
        _directions(rng, 1)[0] * rng.uniform(0, 3500),
        _directions(rng, 1)[0] * rng.uniform(0, 6),
    )
    return _situation(ball, position, angles, velocity, spin, rng.uniform(0, 100, n), _pads(rng, 0.3))


def near_goal(rng: Random, team: int) -> Situation:
    """The ball lies or rolls in front of one goal, an attacker behind it with a clear run: scoring practice."""
    attack = 1.0 if rng.random() < 0.5 else -1.0
    ball = np.array([rng.uniform(-1800, 1800), attack * rng.uniform(2600, 4300), field.BALL_REST])
    goal = np.array([rng.uniform(-600, 600), attack * field.BACK_WALL, field.BALL_REST])
    line = (goal - ball) / np.linalg.norm(goal - ball)
    position = _spread(rng, 2 * team, 3400, 4400)
    shooter = 0 if attack > 0 else team
    position[shooter] = ball - line * rng.uniform(600, 1800) + [rng.uniform(-250, 250), 0, 0]
    position[shooter, 2] = field.CAR_REST
    velocity = line * rng.uniform(0, 700)
    return _on_ground(rng, _ball(ball, velocity, np.zeros(3)), _inside(position))


def attack(rng: Random, team: int) -> Situation:
    """A chance: an attacker close behind a slow ball, driving at it and at their goal; everyone else is further back.

    Whoever just drives on mostly scores, so that the first goals come early.
    """
    side = 1.0 if rng.random() < 0.5 else -1.0
    ball = np.array([rng.uniform(-2200, 2200), side * rng.uniform(-500, 4200), field.BALL_REST])
    goal = np.array([rng.uniform(-500, 500), side * field.BACK_WALL, field.BALL_REST])
    line = (goal - ball) / np.linalg.norm(goal - ball)
    shooter = 0 if side > 0 else team
    position = _spread(rng, 2 * team, 3400, 1200)
    position[:, 1] = np.clip(position[:, 1] + ball[1] - side * 3500, -4600, 4600)
    position[shooter] = ball - line * rng.uniform(350, 1400) + [rng.uniform(-120, 120), 0, 0]
    position[shooter, 2] = field.CAR_REST
    start = _on_ground(rng, _ball(ball, line * rng.uniform(0, 500), np.zeros(3)), _inside(position))
    yaw = np.arctan2(line[1], line[0]) + rng.normal(0, 0.12)
    start.angles[shooter, 0] = yaw
    start.velocity[shooter] = _heading(np.array([yaw]))[0] * rng.uniform(300, 1600)
    return start


def air_ball(rng: Random, team: int) -> Situation:
    """The ball is high and comes down, cars below it with boost: jumps, aerials and landings."""
    ball = np.array([rng.uniform(-2500, 2500), rng.uniform(-3500, 3500), rng.uniform(700, 1700)])
    velocity = np.array([rng.uniform(-500, 500), rng.uniform(-500, 500), rng.uniform(0, 700)])
    position = _spread(rng, 2 * team, 3400, 4400)
    around = rng.uniform(-1500, 1500, (2 * team, 2))
    position[:, :2] = ball[:2] + around
    start = _on_ground(rng, _ball(ball, velocity, np.zeros(3)), _inside(position))
    return Situation(**{**vars(start), "boost": rng.uniform(40, 100, 2 * team).astype(np.float32)})


def defence(rng: Random, team: int) -> Situation:
    """A shot is on its way to one goal; a defender stands between or beside, attackers follow up."""
    side = -1.0 if rng.random() < 0.5 else 1.0
    ball = np.array([rng.uniform(-2200, 2200), side * rng.uniform(1200, 3200), rng.uniform(field.BALL_REST, 500)])
    aim = np.array([rng.uniform(-700, 700), side * field.BACK_WALL, rng.uniform(100, 500)])
    flight = rng.uniform(1.2, 2.4)
    velocity = (aim - ball) / flight
    velocity[2] += 325.0 * flight if ball[2] > 150 else 0.0
    position = _spread(rng, 2 * team, 3400, 4400)
    keeper, striker = (0, team) if side < 0 else (team, 0)
    position[keeper] = [rng.uniform(-1200, 1200), side * rng.uniform(4000, 4900), field.CAR_REST]
    position[striker] = ball - [rng.uniform(-300, 300), side * rng.uniform(500, 1200), 0]
    position[striker, 2] = field.CAR_REST
    return _on_ground(rng, _ball(ball, velocity, np.zeros(3)), _inside(position))


def replay_like(rng: Random, team: int) -> Situation:
    """Play as it goes on in real matches: teams goal-side of the ball, one challenger each, some pads taken."""
    ball = np.array([rng.normal(0, 1700), rng.normal(0, 2200), field.BALL_REST + rng.exponential(220)])
    ball = np.clip(ball, [-3700, -4600, field.BALL_REST], [3700, 4600, 1700])
    velocity = np.append(rng.normal(0, 800, 2), rng.normal(0, 250))
    position = np.empty((2 * team, 3))
    for seat in range(2 * team):
        own = -1.0 if seat < team else 1.0
        behind = rng.exponential(900) + 1500 * (seat % team)
        position[seat] = [ball[0] * 0.6 + rng.normal(0, 900), ball[1] + own * (300 + behind), field.CAR_REST]
    return _on_ground(rng, _ball(ball, velocity, rng.normal(0, 2, 3)), _inside(position))


Start = Callable[[Random, int], Situation]
"""(rng, cars a team) -> where a match starts."""

SITUATIONS: Mapping[str, Start] = {
    "random": random_situation,
    "near_goal": near_goal,
    "attack": attack,
    "air_ball": air_ball,
    "defence": defence,
    "replay": replay_like,
}
"""All starts but `kickoff`, which RocketSim sets up itself."""


def _on_ground(rng: Random, ball: Floats, position: NDArray[np.float64]) -> Situation:
    """Cars on their wheels, turned roughly towards the ball and rolling that way."""
    n = len(position)
    to_ball = ball[:2] - position[:, :2]
    yaw = np.arctan2(to_ball[:, 1], to_ball[:, 0]) + rng.normal(0, 0.5, n)
    angles = np.stack([yaw, np.zeros(n), np.zeros(n)], axis=1)
    velocity = _heading(yaw) * rng.uniform(0, 1500, (n, 1))
    boost = rng.choice([0.0, 12.0, 33.0, 60.0, 100.0], n)
    return _situation(ball, position, angles, velocity, np.zeros((n, 3)), boost, _pads(rng, 0.25))


def _situation(
    ball: Floats,
    position: NDArray[np.floating],
    angles: NDArray[np.floating],
    velocity: NDArray[np.floating],
    spin: NDArray[np.floating],
    boost: NDArray[np.floating],
    pads: Floats,
) -> Situation:
    return Situation(
        ball=ball,
        position=position.astype(np.float32),
        angles=angles.astype(np.float32),
        velocity=velocity.astype(np.float32),
        spin=spin.astype(np.float32),
        boost=boost.astype(np.float32),
        pads=pads,
    )


def _ball(position: object, velocity: object, spin: object) -> Floats:
    return np.concatenate([np.asarray(part, np.float32) for part in (position, velocity, spin)])


def _spread(rng: Random, n: int, x: float, y: float) -> NDArray[np.float64]:
    """`float64[n, 3]` places on the ground, no two closer than a car and a half's length."""
    while True:
        places = np.stack([rng.uniform(-x, x, n), rng.uniform(-y, y, n), np.full(n, field.CAR_REST)], axis=1)
        gaps = np.linalg.norm(places[:, None, :2] - places[None, :, :2], axis=2) + 1e4 * np.eye(n)
        if gaps.min() > 250:
            return places


def _inside(position: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pulls cars off the walls and apart along x where two would stand in each other."""
    position[:, 0] = np.clip(position[:, 0], -3700, 3700)
    position[:, 1] = np.clip(position[:, 1], -4800, 4800)
    for a in range(len(position)):
        for b in range(a):
            if np.linalg.norm(position[a, :2] - position[b, :2]) < 250:
                position[a, 0] += -400 if position[a, 0] > 0 else 400
    return position


def _directions(rng: Random, n: int) -> NDArray[np.float64]:
    vectors = rng.normal(size=(n, 3))
    unit: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _heading(yaw: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=1).astype(np.float64)


def _pads(rng: Random, taken: float) -> Floats:
    """Seconds until each pad is back, a share of `taken` of them being away."""
    full = np.where(field.PAD_IS_BIG, field.BIG_PAD_SECONDS, field.SMALL_PAD_SECONDS)
    away = rng.random(field.PADS) < taken
    return (away * full * rng.random(field.PADS)).astype(np.float32)
