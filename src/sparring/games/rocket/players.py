"""Built-in players. They see what a network sees (the observation arrays, nothing else) and answer all rows at once.

`toward-ball` drives at the ball, always. `rule` plays: it races for kickoffs, comes back goal-side, lines up behind the
ball for shots, fetches boost when it has time, shadows an opponent who has the ball, covers for a team mate who
is closer, dodges into the ball, and lands on its wheels.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Array, Decisions
from sparring.games.rocket import field
from sparring.games.rocket.actions import (
    BOOST,
    HANDBRAKE,
    JUMP,
    PITCH,
    ROLL,
    STEER,
    THROTTLE,
    YAW,
    action_table,
    nearest_actions,
)
from sparring.games.rocket.settings import RocketSettings

Floats = Array
Bools = NDArray[np.bool_]

OWN_GOAL = field.BLUE_GOAL[:2]
THEIR_GOAL = field.ORANGE_GOAL[:2]


@dataclass(frozen=True)
class View:
    """What k seats see, in field units, their own goal at -y. Read from either kind of observation."""

    ball: Floats
    """`float32[k, 3]`"""
    ball_velocity: Floats
    """`float32[k, 3]`"""
    cars: Floats
    """`float32[k, places, 3]` own car, team mates, opponents."""
    there: Bools
    """`bool[k, places]` cars that are present and not demolished."""
    nose: Floats
    """`float32[k, 3]` of the own car, as all below."""
    roof: Floats
    velocity: Floats
    spin: Floats
    boost: Floats
    """`float32[k]`, 0 to 1."""
    on_ground: Bools
    has_jumped: Bools
    holding_jump: Bools
    can_flip: Bools
    pads: Floats
    """`float32[k, 34]` seconds until each is back."""

    @property
    def own(self) -> Floats:
        """`float32[k, 3]` where the own car is."""
        return self.cars[:, 0]


def view(observation: Mapping[str, Array]) -> View:
    """Reads the arrays of observation `default`, `positions` or `rlgym`."""
    if "flat" in observation:
        flat = observation["flat"]
        world, rows = flat[:, :52], flat[:, 52:].reshape(len(flat), -1, 20)
        present = (rows[..., 3:6] != 0).any(axis=2)
    else:
        world, rows = observation["world"], observation["cars"][..., 1:]
        present = observation["cars"][..., 0] > 0
    own, flags = rows[:, 0], world[:, 43:52]
    return View(
        ball=world[:, 0:3] * 2300,
        ball_velocity=world[:, 3:6] * 2300,
        cars=rows[..., 0:3] * 2300,
        there=present & (rows[..., 16] == 0),
        nose=own[:, 3:6],
        roof=own[:, 6:9],
        velocity=own[:, 9:12] * 2300,
        spin=own[:, 12:15] * np.float32(np.pi),
        boost=own[:, 15],
        on_ground=own[:, 17] > 0,
        has_jumped=flags[:, 2] > 0,
        holding_jump=flags[:, 0] > 0,
        can_flip=flags[:, 7] > 0,
        pads=world[:, 9:43] * 10,
    )


class TowardBallPlayer:
    """Full throttle at the ball, boosting while it is far ahead. The least an agent must beat."""

    def __init__(self, settings: RocketSettings, seed: int) -> None:
        self._table = action_table(settings.actions)

    def act(self, decisions: Decisions) -> Answers:
        """One action a row."""
        seen = view(decisions.observation)
        controls = drive(seen, seen.ball[:, :2])
        recover(seen, controls)
        return Answers(action=nearest_actions(self._table, controls))


class RulePlayer:
    """Plays by hand-written rules, without memory: each row is judged by what it shows."""

    def __init__(self, settings: RocketSettings, seed: int) -> None:
        self._table = action_table(settings.actions)

    def act(self, decisions: Decisions) -> Answers:
        """One action a row."""
        seen = view(decisions.observation)
        target, hurry = choose_target(seen)
        controls = drive(seen, target, hurry=hurry)
        dodge(seen, controls, target)
        recover(seen, controls)
        return Answers(action=nearest_actions(self._table, controls))


def choose_target(seen: View) -> tuple[Floats, Bools]:
    """Where each car should go `float32[k, 2]`, and whether it should spend boost on it `bool[k]`."""
    own, room = seen.own[:, :2], seen.cars.shape[1] // 2
    meet = _meeting_point(seen)
    gaps = np.where(seen.there, _length(seen.cars[..., :2] - meet[:, None]), np.float32(1e6))
    mine = gaps[:, 0] <= gaps[:, 1:room].min(axis=1, initial=1e6)
    rival = gaps[:, room:].argmin(axis=1) + room
    rows = np.arange(len(own))
    behind_ball = seen.cars[rows, rival, 1] > meet[:, 1] + 100
    theirs_first = (gaps[rows, rival] + 700 < gaps[:, 0]) & behind_ball
    to_goal = _unit(_aim(meet) - meet)
    nearer_home = _length(own - OWN_GOAL) < _length(meet - OWN_GOAL) - 100
    goal_side = (own[:, 1] < meet[:, 1] - 100) | nearer_home
    danger = (meet[:, 1] < -2500) | (seen.ball_velocity[:, 1] < -900)

    # Attack: come in along the line from the ball to their goal, from further back the worse the angle is.
    approach = np.clip((gaps[:, 0] - 250) * 0.45, 0, 900)
    target = meet - to_goal * approach[:, None]
    hurry = gaps[:, 0] > 450
    # Clear: near the own goal, what matters is to hit the ball away from it.
    away = _unit(meet - OWN_GOAL)
    clearing = danger & goal_side
    target = np.where(clearing[:, None], meet - away * np.clip(approach, 0, 350)[:, None], target)
    # Shadow: an opponent gets there first, so keep between the ball and the own goal.
    shadow = OWN_GOAL + (meet - OWN_GOAL) * np.float32(0.7)
    waiting = theirs_first & goal_side & ~danger
    target = np.where(waiting[:, None], shadow, target)
    hurry &= ~waiting
    # Goal-side recovery: past the ball, go round it on the side that is further from it.
    side = np.where(own[:, 0] < meet[:, 0], -1.0, 1.0).astype(np.float32)
    back = np.stack([meet[:, 0] + side * 900, meet[:, 1] - 1300], axis=1)
    home = np.stack([np.clip(own[:, 0] * 0.3, -700, 700), np.full(len(own), -4600, np.float32)], axis=1)
    back = np.where((meet[:, 1] < -3300)[:, None], home, back)
    target = np.where(goal_side[:, None], target, back)
    hurry |= ~goal_side & danger
    # Support: a team mate is closer, so cover behind.
    cover = OWN_GOAL + (meet - OWN_GOAL) * np.float32(0.5)
    cover[:, 0] += np.where(own[:, 0] < 0, -500, 500)
    target = np.where(mine[:, None], target, cover)
    hurry &= mine
    # Boost: with time to spare and little in the tank, by way of a pad that is there.
    pad, detour = _best_pad(seen, target)
    spare = (seen.boost < 0.35) & ~danger & (~mine | waiting | ~goal_side | (gaps[:, 0] > 2500))
    target = np.where((spare & (detour < 1800))[:, None], pad, target)
    # Kickoff: straight at it, all boost.
    kickoff = (np.abs(seen.ball[:, :2]).max(axis=1) < 5) & (_length(seen.ball_velocity) < 5) & mine & goal_side
    target = np.where(kickoff[:, None], seen.ball[:, :2], target)
    inside = np.clip(target, [-3900, -5050], [3900, 5050])
    return inside.astype(np.float32), hurry | kickoff


def drive(seen: View, target: Floats, *, hurry: Bools | None = None) -> Floats:
    """Controls `float32[k, 8]` that take a car on the ground to `target: float32[k, 2]`."""
    offset = target - seen.own[:, :2]
    distance = _length(offset)
    ahead = (offset * seen.nose[:, :2]).sum(axis=1)
    right = _cross(seen.roof, seen.nose)
    aside = (offset * right[:, :2]).sum(axis=1)
    angle = np.arctan2(aside, ahead)
    speed = (seen.velocity * seen.nose).sum(axis=1)
    controls = np.zeros((len(target), 8), np.float32)
    controls[:, STEER] = np.where(np.abs(angle) < 0.03, 0, np.sign(angle))
    controls[:, YAW] = controls[:, STEER]
    tight = (np.abs(angle) > 0.9) & (distance < 700) & (speed > 800)
    controls[:, THROTTLE] = np.where(tight, -1, 1)
    controls[:, HANDBRAKE] = (np.abs(angle) > 1.7) & (speed > 500) & seen.on_ground
    straight = (np.abs(angle) < 0.25) & (seen.boost > 0) & (speed < 2150) & seen.on_ground
    controls[:, BOOST] = straight & ((distance > 900) if hurry is None else hurry)
    return controls


def dodge(seen: View, controls: Floats, target: Floats) -> None:
    """Jumps and flips, in place: into a ball in front, and along a long straight when there is no boost to burn.

    A flip hits hardest just after it begins, and comes two decisions after the jump: so the jump is timed by the
    seconds that are left until the car meets the ball.
    """
    to_ball = seen.ball - seen.own
    towards = _unit(to_ball[:, :2])
    gap = _length(to_ball[:, :2]) - 160
    closing = ((seen.velocity - seen.ball_velocity)[:, :2] * towards).sum(axis=1)
    left = gap / np.maximum(closing, 1)
    facing = (towards * _unit(seen.nose[:, :2])).sum(axis=1)
    useful = (facing > 0.95) & (towards[:, 1] > 0.3) & (closing > 500) & (seen.ball[:, 2] < 230)
    strike = useful & (left > 0.16) & (left < 0.30)
    offset = target - seen.own[:, :2]
    speed = (seen.velocity * seen.nose).sum(axis=1)
    aligned = (_unit(offset) * _unit(seen.nose[:, :2])).sum(axis=1) > 0.997
    away = (seen.ball[:, 1] < seen.own[:, 1]) | (seen.boost == 0)
    travel = (
        (_length(offset) > 3200)
        & aligned
        & away
        & (seen.boost < 0.05)
        & (_length(seen.ball_velocity) > 5)
        & (speed > 1050)
        & (speed < 1750)
    )
    jump = seen.on_ground & (strike | travel) & ~seen.holding_jump
    flip = ~seen.on_ground & seen.can_flip & seen.has_jumped & ((useful & (left < 0.17)) | travel)
    controls[jump | flip, JUMP] = 1
    controls[flip, PITCH] = -1
    controls[flip, YAW] = 0
    controls[flip, STEER] = 0


def recover(seen: View, controls: Floats) -> None:
    """In the air and not flipping: turns the wheels down and the nose along the flight, in place."""
    flying = ~seen.on_ground & (controls[:, JUMP] == 0)
    ahead = seen.velocity.copy()
    ahead[:, 2] = 0
    ahead = np.where((_length(ahead) > 200)[:, None], _unit(ahead), _unit(seen.nose * [1, 1, 0]))
    right = _cross(seen.roof, seen.nose)
    spin_pitch = (seen.spin * right).sum(axis=1)
    spin_roll = (seen.spin * seen.nose).sum(axis=1)
    spin_yaw = (seen.spin * seen.roof).sum(axis=1)
    pitch = -seen.nose[:, 2] * 2 + spin_pitch * 0.4
    roll = right[:, 2] * 2 + spin_roll * 0.4
    roll = np.where((seen.roof[:, 2] < 0) & (np.abs(roll) < 0.5), 1.0, roll)
    yaw = (ahead * right).sum(axis=1) * 2 - spin_yaw * 0.4
    for column, wish in ((PITCH, pitch), (ROLL, roll), (YAW, yaw)):
        controls[:, column] = np.where(flying, np.where(np.abs(wish) < 0.35, 0, np.sign(wish)), controls[:, column])
    controls[flying, STEER] = controls[flying, YAW]
    controls[flying, THROTTLE] = 0
    controls[flying, BOOST] = 0


def _meeting_point(seen: View) -> Floats:
    """`float32[k, 2]`: where the ball will be about when the car can be there, kept on the field."""
    gap = _length(seen.ball[:, :2] - seen.own[:, :2])
    pace = np.clip(_length(seen.velocity), 1000, field.CAR_TOP_SPEED)
    fall = np.clip((seen.ball[:, 2] - 200) / 900, 0, 1.2)
    seconds = np.clip(np.maximum(gap / pace * 0.8, fall), 0, 1.8)
    meet = seen.ball[:, :2] + seen.ball_velocity[:, :2] * seconds[:, None]
    limit = np.array([field.SIDE_WALL, field.BACK_WALL], np.float32) - np.float32(field.BALL_RADIUS)
    over = np.clip(meet, -limit, limit)
    kept: Floats = over - (meet - over) * np.float32(0.5)
    return kept


def _aim(meet: Floats) -> Floats:
    """`float32[k, 2]`: a point in their goal; from the side, the far half of it."""
    x = np.clip(-meet[:, 0] * 0.15, -500, 500)
    return np.stack([x, np.full(len(meet), field.BACK_WALL, np.float32)], axis=1).astype(np.float32)


def _best_pad(seen: View, target: Floats) -> tuple[Floats, Floats]:
    """The pad that is the least detour `float32[k, 2]`, and the detour `float32[k]`; a big one may cost 1200 more."""
    places = field.PAD_POSITIONS[None, :, :2]
    own = seen.own[:, None, :2]
    detour = _length(places - own) + _length(places - target[:, None]) - _length(target[:, None] - own)
    cost = np.where(seen.pads > 0.3, np.float32(1e6), detour - 1200 * field.PAD_IS_BIG)
    best = cost.argmin(axis=1)
    return field.PAD_POSITIONS[best, :2], cost[np.arange(len(best)), best]


def _length(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt((vectors * vectors).sum(axis=-1))
    return lengths


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(_length(vectors), 1e-3)[..., None]
    return unit


def _cross(a: Floats, b: Floats) -> Floats:
    """`float32[k, 3]`: the right-hand side of a car with roof `a` and nose `b`, as RocketSim names it."""
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )
