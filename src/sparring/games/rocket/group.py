"""A group of matches that step together: controls out, RocketSim, one read, then all the rest in array kernels.

Everything of a step happens here, in this order: physics, rewards, ends, new matches, observations. A group owns its
arrays, so that groups can step in threads of their own; `arena` deals rows to groups and keeps the threads.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from sparring.core import Decisions, GameSpec, Results, Stages
from sparring.games.rocket import field
from sparring.games.rocket.actions import action_table
from sparring.games.rocket.observation import observe
from sparring.games.rocket.own import Own
from sparring.games.rocket.referee import Referee
from sparring.games.rocket.rewards import Transition, components, mix
from sparring.games.rocket.settings import TEAM_SIZE, RocketSettings, weight_at
from sparring.games.rocket.simulator import Simulator, advance, count_down, pad_timers, prebuilt_controls, read
from sparring.games.rocket.states import SITUATIONS
from sparring.games.rocket.tally import Tally

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FieldView:
    """Everything on one field, from blue's side."""

    ball: NDArray[np.float32]
    """`float32[9]`"""
    cars: NDArray[np.float32]
    """`float32[n, 34]`, the columns of `field`."""
    orange: NDArray[np.bool_]
    """`bool[n]` which cars are orange."""
    pads: NDArray[np.float32]
    """`float32[34]`"""
    seconds: float
    goals: tuple[int, int]


class Group:
    """A contiguous range of slots that step together. Owns their arrays; no two threads share one.

    `spec` is what rows look like, `settings` what is played (a stage's, without the curriculum), `played` says how many
    rows the whole arena has played, which reward schedules count, `own` is the user's code of all stages.
    """

    def __init__(
        self, spec: GameSpec, settings: RocketSettings, slots: range, *, seed: int, played: Callable[[], int], own: Own
    ) -> None:
        self.settings = settings
        self.stages = Stages()
        self.ticks = 0
        self._own = own
        self._slots = slots
        self._played = played
        self._table = action_table(settings.actions)
        self._controls = prebuilt_controls(self._table)
        self._random = [np.random.default_rng([seed, slot]) for slot in slots]
        self._started = list(slots)  # counts matches of a slot; the offset spreads the modes
        n, seats = len(slots), spec.seats
        self._simulators: list[Simulator] = []
        self._spare: list[dict[int, Simulator]] = [{} for _ in slots]
        self._present = np.zeros((n, seats), np.bool_)
        self._ball = np.zeros((n, field.BALL_COLUMNS), np.float32)
        self._cars = np.zeros((n, seats, field.CAR_COLUMNS), np.float32)
        self._before = np.zeros_like(self._cars)
        self._pads = np.zeros((n, field.PADS), np.float32)
        self._last = np.zeros((n, seats, 8), np.float32)
        self._score = np.zeros((n, 2), np.int32)
        self._action = np.zeros((n, seats), np.int32)
        self.awaited = np.zeros((n, seats), np.bool_)
        """Which seats' rows were shown and have no action yet."""
        self._reward = np.zeros((n, seats), np.float32)
        self._first = np.ones(n, np.bool_)
        self._referee = Referee(n)
        self._results = Results.none(seats)
        self._legal = np.ones((n * seats, spec.actions), np.bool_)
        self._observation = {name: part.zeros(n * seats) for name, part in spec.observation.items()}
        self.rows = 0
        self.paid: dict[str, float] = {}
        self.paid_rows = 0
        self.tally = Tally()
        for index in range(n):
            self._simulators.append(self._simulator(index))
        self._begin(list(range(n)))
        self._observe()

    def look(self, match: int) -> FieldView:
        """Copies of one match's state."""
        index = match - self._slots.start
        seats = np.flatnonzero(self._present[index])
        return FieldView(
            ball=self._ball[index].copy(),
            cars=self._cars[index, seats],
            orange=seats >= self._present.shape[1] // 2,
            pads=self._pads[index].copy(),
            seconds=float(self._referee.seconds[index]),
            goals=(int(self._referee.goals[index, 0]), int(self._referee.goals[index, 1])),
        )

    def offer(self) -> tuple[Decisions, Results]:
        """The group's rows and results, as views."""
        k = len(self._row_match)
        self.awaited[self._row_match, self._row_seat] = True
        decisions = Decisions(
            match=self._row_match + np.int32(self._slots.start),
            seat=self._row_seat,
            observation={name: array[:k] for name, array in self._observation.items()},
            legal=self._legal[:k],
            reward=self._reward[self._row_match, self._row_seat],
            first=self._first[self._row_match],
        )
        return decisions, self._results

    def answer(self, match: NDArray[np.int32], seat: NDArray[np.int32], actions: NDArray[np.int32]) -> bool:
        """Notes actions; true when no row is left to answer."""
        local = match - self._slots.start
        self.awaited[local, seat] = False
        self._action[local, seat] = actions
        return not self.awaited.any()

    def step(self) -> None:
        """One step of every match of the group: physics, rewards, ends, new matches, observations."""
        settings, stages = self.settings, self.stages
        actions = self._action[self._row_match, self._row_seat]
        with stages.time("env/physics"):
            stepped = advance(
                self._simulators,
                self._controls,
                actions.tolist(),
                ticks=settings.tick_skip,
                delay=settings.action_delay,
            )
            readings = read(stepped)  # each field is stepped when it is read
        self.ticks += settings.tick_skip * len(self._simulators)
        self._cars, self._before = self._before, self._cars
        self._ball, ball_before = readings.ball, self._ball
        self._cars[self._row_match, self._row_seat] = readings.cars
        count_down(self._pads, readings.pads, self._simulators, ticks=settings.tick_skip)
        self._last[self._row_match, self._row_seat] = self._table[actions]
        first = self._first.copy()
        self._first[:] = False
        goals = readings.score - self._score
        self._score = readings.score
        failed = self._find_broken()
        self.tally.step(self._cars, self._row_match, self._row_seat, goals)
        self._referee.watch(settings, self._cars, self._present)
        with stages.time("reward"):
            self._pay(np.sign(goals[:, 0] - goals[:, 1]).astype(np.int32), ball_before, first)
        verdict = self._referee.judge(settings, goals, self._ball, ball_before)
        ended = np.flatnonzero(verdict.over | failed)
        self._close(ended, failed, verdict.ending)
        restart = np.flatnonzero(verdict.kickoff & ~verdict.over & ~failed)
        if len(restart):
            for index in restart.tolist():
                self._simulators[index].kickoff(self._draw(index))
            self._look(restart.tolist())
            self._last[restart] = 0
        if len(ended):
            with stages.time("env/begin"):
                self._begin(ended.tolist())
        with stages.time("encode"):
            self._observe()

    def _pay(self, scored: NDArray[np.int32], ball_before: NDArray[np.float32], first: NDArray[np.bool_]) -> None:
        """Rewards of the step, and what the reports count."""
        rewards = self.settings.rewards
        weights = rewards.weights(self._played())
        transition = Transition(
            cars=self._cars,
            cars_before=self._before,
            ball=self._ball,
            ball_before=ball_before,
            present=self._present,
            scored=scored,
            last_team=self._referee.last_team,
            kickoff=self._referee.kickoff,
            first=first,
        )
        seconds = self.settings.tick_skip / field.TICKS
        paid = components(transition, weights, seconds=seconds, own=self._own.rewards)
        for name, total in zip(weights, paid.sum(axis=(1, 2)).tolist(), strict=True):
            self.paid[name] = self.paid.get(name, 0.0) + total
        spirit = weight_at(rewards.team_spirit, self._played())
        self._reward = mix(paid.sum(axis=0), self._present, team_spirit=spirit, zero_sum=rewards.zero_sum)
        rows = len(self._row_match)
        self.rows += rows
        self.paid_rows += rows

    def _find_broken(self) -> NDArray[np.bool_]:
        """`bool[n]`: matches whose state is no longer finite; each is named in the log and set to rest."""
        broken = _broken(self._cars, self._ball)
        for index in np.flatnonzero(broken).tolist():
            log.error("match %d broke off: %s", self._slots.start + index, self._name_broken(index))
            self._cars[index] = 0
            self._ball[index] = 0
        return broken

    def _name_broken(self, index: int) -> str:
        parts: dict[str, Any] = {
            "position": field.POSITION,
            "velocity": field.VELOCITY,
            "spin": field.SPIN,
            "boost": field.BOOST,
        }
        for seat in range(self._cars.shape[1]):
            if not np.isfinite(self._cars[index, seat]).all():
                bad = [name for name, part in parts.items() if not np.isfinite(self._cars[index, seat, part]).all()]
                return f"{' and '.join(bad) or 'state'} of the car in seat {seat} is not finite"
        return "the ball's state is not finite"

    def _close(self, ended: NDArray[np.intp], failed: NDArray[np.bool_], ending: NDArray[np.int8]) -> None:
        """Results of matches that ended."""
        seats = self._present.shape[1]
        if len(ended) == 0:
            self._results = Results.none(seats)
            return
        sign = np.where(np.arange(seats) < seats // 2, 1, -1)
        winner = np.where(failed[ended], 0, self._referee.winner[ended])
        present = self._present[ended]
        self._results = Results(
            match=(ended + self._slots.start).astype(np.int32),
            outcome=(winner[:, None] * sign * present).astype(np.float32),
            reward=np.where(failed[ended, None], 0, self._reward[ended]).astype(np.float32),
            failed=failed[ended],
            points=np.repeat(self._referee.goals[ended], seats // 2, axis=1).astype(np.float32),
            minutes=(self._referee.seconds[ended] / 60).astype(np.float32),
            ending=ending[ended],
        )
        self.tally.end(self._referee.seconds[ended], winner, ending[ended])
        for index in np.flatnonzero(failed).tolist():  # what broke may stay broken
            self._spare[index].pop(self._simulators[index].team, None)

    def _begin(self, indices: list[int]) -> None:
        """Starts the next match of these slots."""
        shares = self.settings.starts
        total = sum(shares.values())
        starts, odds = list(shares), [share / total for share in shares.values()]
        for index in indices:
            simulator = self._simulators[index] = self._simulator(index)
            self._started[index] += 1
            start = starts[0] if len(starts) == 1 else self._random[index].choice(starts, p=odds)
            if start == "kickoff":
                simulator.kickoff(self._draw(index))
            else:
                situation = SITUATIONS[start] if start in SITUATIONS else self._own.starts[start]
                simulator.place(situation(self._random[index], simulator.team))
            self._referee.begin(index, kickoff=start == "kickoff")
        room = self._present.shape[1] // 2
        for index in indices:
            team = self._simulators[index].team
            self._present[index] = np.tile(np.arange(room) < team, 2)
        match, seat = np.nonzero(self._present)
        self._row_match, self._row_seat = match.astype(np.int32), seat.astype(np.int32)
        self._look(indices)
        self._last[indices] = 0
        self._reward[indices] = 0
        self._first[indices] = True

    def _look(self, indices: Sequence[int]) -> None:
        """Reads fields that were just set up."""
        simulators = [self._simulators[index] for index in indices]
        readings = read(simulators)
        readings.cars[:, field.TOUCHED] = 0
        self._ball[indices] = readings.ball
        self._cars[indices] = 0
        rows = np.nonzero(self._present[indices])
        self._cars[np.asarray(indices)[rows[0]], rows[1]] = readings.cars
        self._score[indices] = readings.score
        for index, simulator in zip(indices, simulators, strict=True):
            self._pads[index] = pad_timers(simulator)

    def _simulator(self, index: int) -> Simulator:
        """The simulator for a slot's next match, made when its mode is played there for the first time."""
        modes = self.settings.modes
        team = TEAM_SIZE[modes[self._started[index] % len(modes)]]
        if team not in self._spare[index]:
            self._spare[index][team] = Simulator(team)
        return self._spare[index][team]

    def _draw(self, index: int) -> int:
        return int(self._random[index].integers(2**30))

    def _observe(self) -> None:
        observe(
            self.settings.observation,
            self._observation,
            ball=self._ball,
            cars=self._cars,
            present=self._present,
            pads=self._pads,
            last=self._last,
            match=self._referee.clock(self.settings),
            row_match=self._row_match,
            row_seat=self._row_seat,
        )
        if self._own.observe is not None:
            k = len(self._row_match)
            cars, world = (self._observation[name][:k] for name in ("cars", "world"))
            self._observation["own"][:k] = self._own.observe(cars, world)


@numba.njit(cache=True, nogil=True)
def _broken(cars: NDArray[np.float32], ball: NDArray[np.float32]) -> NDArray[np.bool_]:
    """`bool[n]`: which of n matches have a number in their state that is not finite."""
    broken = np.zeros(len(ball), np.bool_)
    for match in range(len(ball)):
        total = ball[match].sum() + cars[match].sum()
        broken[match] = not np.isfinite(total)
    return broken
