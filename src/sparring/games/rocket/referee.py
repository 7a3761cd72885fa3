"""The referee: clock, score, overtime, and when a match is over, for n matches at once."""

from math import inf
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from sparring.games.rocket import field
from sparring.games.rocket.settings import RocketSettings

Floats = NDArray[np.float32]
_SLACK = 1e-6
_TOUCHING = 2.0
"""Height above rest below which the ball counts as lying on the ground."""
_BOUNCE = 400.0
"""Height above rest that a ball may regain within a step after it bounced."""


ENDINGS = ("goal", "time", "idle", "overtime")
"""Why a match ends: the goal of a match to one goal, its time, too long without a touch, in overtime (by a goal or, if
it is drawn, by its end)."""
_GOAL, _TIME, _IDLE, _OVERTIME = range(len(ENDINGS))


class Verdict(NamedTuple):
    """What follows from a step of n matches."""

    over: NDArray[np.bool_]
    """`bool[n]`"""
    kickoff: NDArray[np.bool_]
    """`bool[n]` the ball goes back to the centre: after a goal, and when overtime begins."""
    ending: NDArray[np.int8]
    """`int8[n]` why the match is over, an index into `ENDINGS`; means nothing where it is not."""


class Referee:
    """Keeps the clock and score of n matches."""

    def __init__(self, n: int) -> None:
        self.seconds = np.zeros(n)
        """`float64[n]` of game time played."""
        self.idle = np.zeros(n)
        """`float64[n]` since the last touch."""
        self.goals = np.zeros((n, 2), np.int32)
        """`int32[n, 2]` of blue and orange."""
        self.overtime = np.zeros(n, np.bool_)
        self.kickoff = np.zeros(n, np.bool_)
        """`bool[n]` nobody has touched the ball since kickoff."""
        self.last_team = np.zeros(n, np.int32)
        """`int32[n]` who touched the ball last: 1 blue, -1 orange, 0 nobody."""

    @property
    def ahead(self) -> NDArray[np.int32]:
        """`int32[n]` goals that blue is ahead."""
        return self.goals[:, 0] - self.goals[:, 1]

    @property
    def winner(self) -> NDArray[np.int32]:
        """`int32[n]`: 1 blue leads, -1 orange leads, 0 level."""
        return np.sign(self.ahead)

    def begin(self, index: int, *, kickoff: bool) -> None:
        """A match starts in slot `index`."""
        self.seconds[index] = self.idle[index] = 0.0
        self.goals[index] = 0
        self.last_team[index] = 0
        self.overtime[index] = False
        self.kickoff[index] = kickoff

    def watch(self, settings: RocketSettings, cars: Floats, present: NDArray[np.bool_]) -> None:
        """Moves the clocks on by a step and notes who touched the ball in it: `cars: float32[n, seats, 34]`."""
        step = settings.tick_skip / field.TICKS
        _note_touches(step, cars, present, self.seconds, self.idle, self.kickoff, self.last_team)

    def judge(self, settings: RocketSettings, goals: NDArray[np.int32], ball: Floats, ball_before: Floats) -> Verdict:
        """What follows from the step that was watched.

        `goals: int32[n, 2]` of blue and orange in it, `ball: float32[n, 9]` after and before it.
        """
        n = len(goals)
        verdict = Verdict(np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int8))
        self.goals += goals
        limits = _Limits(
            seconds=settings.seconds, idle=settings.idle_seconds or inf, overtime=settings.overtime_seconds
        )
        if settings.end == "goal":
            _judge_to_a_goal(limits, goals, self.seconds, self.idle, verdict.over, verdict.ending)
        else:
            landed = _landed(ball, ball_before)
            _judge_by_the_clock(limits, goals, self.ahead, landed, self.seconds, self.overtime, *verdict)
            self.kickoff |= verdict.kickoff
            self.last_team[verdict.kickoff] = 0
            self.idle[verdict.kickoff] = 0.0
        return verdict

    def clock(self, settings: RocketSettings) -> Floats:
        """`float32[n, 5]`: share of regular time left, goals that blue is ahead / 5, overtime, kickoff, idle s / 10."""
        clock = np.empty((len(self.seconds), 5), np.float32)
        clock[:, 0] = np.maximum(1.0 - self.seconds / settings.seconds, 0.0)
        clock[:, 1] = np.minimum(np.maximum(self.ahead / 5.0, -1.0), 1.0)
        clock[:, 2] = self.overtime
        clock[:, 3] = self.kickoff
        clock[:, 4] = self.idle / 10.0
        return clock


class _Limits(NamedTuple):
    """Seconds: of regular time, without a touch, of overtime."""

    seconds: float
    idle: float
    overtime: float


@numba.njit(cache=True, nogil=True)
def _note_touches(
    step: float,
    cars: Floats,
    present: NDArray[np.bool_],
    seconds: NDArray[np.float64],
    idle: NDArray[np.float64],
    kickoff: NDArray[np.bool_],
    last_team: NDArray[np.int32],
) -> None:
    """Moves the clocks on, and starts those anew that count from a touch.

    Where both teams touched the ball in one step nobody can say who was last: it stays with whoever had it.
    """
    matches, seats = present.shape
    for match in range(matches):
        seconds[match] += step
        idle[match] += step
        blue = orange = False
        for seat in range(seats):
            if present[match, seat] and cars[match, seat, field.TOUCHED] > 0:
                blue |= seat < seats // 2
                orange |= seat >= seats // 2
        if blue != orange:
            last_team[match] = 1 if blue else -1
        if blue or orange:
            idle[match] = 0.0
            kickoff[match] = False


@numba.njit(cache=True, nogil=True)
def _judge_to_a_goal(
    limits: _Limits,
    goals: NDArray[np.int32],
    seconds: NDArray[np.float64],
    idle: NDArray[np.float64],
    over: NDArray[np.bool_],
    ending: NDArray[np.int8],
) -> None:
    """The first goal ends a match; so does its time, or too long without a touch."""
    for match in range(len(over)):
        scored = goals[match, 0] + goals[match, 1] > 0
        late = seconds[match] >= limits.seconds - _SLACK
        over[match] = scored or late or idle[match] >= limits.idle
        ending[match] = _GOAL if scored else _TIME if late else _IDLE


@numba.njit(cache=True, nogil=True)
def _landed(ball: Floats, before: Floats) -> NDArray[np.bool_]:
    """`bool[n]`: whether the ball lies on the ground, or bounced off it during the step."""
    landed = np.zeros(len(ball), np.bool_)
    for match in range(len(ball)):
        resting = ball[match, 2] < field.BALL_REST + _TOUCHING
        bounced = before[match, 5] < 0 < ball[match, 5] and ball[match, 2] < field.BALL_REST + _BOUNCE
        landed[match] = resting or bounced
    return landed


@numba.njit(cache=True, nogil=True)
def _judge_by_the_clock(
    limits: _Limits,
    goals: NDArray[np.int32],
    ahead: NDArray[np.int32],
    landed: NDArray[np.bool_],
    seconds: NDArray[np.float64],
    overtime: NDArray[np.bool_],
    over: NDArray[np.bool_],
    kickoff: NDArray[np.bool_],
    ending: NDArray[np.int8],
) -> None:
    """A goal is followed by a kickoff; a match that is level when its time is up goes on to the next goal.

    When the clock shows 0:00 play goes on until the ball lands or a goal is scored.
    """
    for match in range(len(over)):
        scored = goals[match, 0] + goals[match, 1] > 0
        late = seconds[match] >= limits.seconds - _SLACK and (landed[match] or scored or overtime[match])
        too_late = seconds[match] >= limits.seconds + limits.overtime - _SLACK
        over[match] = too_late or (late and ahead[match] != 0)
        ending[match] = _OVERTIME if overtime[match] else _TIME
        begins = late and not over[match] and not overtime[match]
        overtime[match] |= begins
        kickoff[match] = not over[match] and (begins or scored)
