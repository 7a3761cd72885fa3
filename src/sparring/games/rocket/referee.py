"""The referee: clock, score, overtime, and when a match is over, for n matches at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.games.rocket.settings import RocketSettings

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Verdict:
    """What follows from a step, `bool[n]` each."""

    over: NDArray[np.bool_]
    kickoff: NDArray[np.bool_]
    """The ball goes back to the centre: after a goal, and when overtime begins."""


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

    def judge(
        self, settings: RocketSettings, goals: NDArray[np.int32], touched: NDArray[np.bool_], *, seconds: float
    ) -> Verdict:
        """Takes in a step of `seconds` with `goals: int32[n, 2]` and `touched: bool[n, 2]` of blue and orange."""
        self.seconds += seconds
        self.goals += goals
        anyone = touched.any(axis=1)
        only = touched[:, 0].astype(np.int32) - touched[:, 1]
        self.last_team = np.where(anyone, only, self.last_team)
        self.idle = np.where(anyone, 0.0, self.idle + seconds)
        self.kickoff &= ~anyone
        scored = goals.any(axis=1)
        late = self.seconds >= settings.seconds - 1e-6
        if settings.end == "goal":
            idle = (self.idle >= settings.idle_seconds) if settings.idle_seconds > 0 else False
            return Verdict(scored | late | idle, np.zeros_like(scored))
        too_late = self.seconds >= settings.seconds + settings.overtime_seconds - 1e-6
        over = (late & (self.ahead != 0)) | too_late
        begins = late & ~over & ~self.overtime
        self.overtime |= begins
        restart = (scored | begins) & ~over
        self.kickoff |= restart
        self.last_team[restart] = 0
        self.idle[restart] = 0.0
        return Verdict(over, restart)

    def clock(self, settings: RocketSettings) -> Floats:
        """`float32[n, 5]`: share of regular time left, goals that blue is ahead / 5, overtime, kickoff, idle s / 10."""
        clock = np.empty((len(self.seconds), 5), np.float32)
        clock[:, 0] = np.maximum(1.0 - self.seconds / settings.seconds, 0.0)
        clock[:, 1] = np.minimum(np.maximum(self.ahead / 5.0, -1.0), 1.0)
        clock[:, 2] = self.overtime
        clock[:, 3] = self.kickoff
        clock[:, 4] = self.idle / 10.0
        return clock
