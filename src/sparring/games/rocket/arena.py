"""The arena: many Rocket League matches at the same time, in groups (see `group`) that are stepped in threads.

With threads, one group more than there are threads keeps every thread busy while the caller answers the group that is
ready. The arena also knows the stage of the curriculum and adds up what its groups report.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    ClosingArena,
    Decisions,
    GameSpec,
    Helpers,
    Results,
    Stages,
    check_actions,
    check_argument,
    check_rows,
    check_settings,
    illegal_action,
    nothing_to_wait_for,
)
from sparring.core.settings import Count, NonNegativeInt
from sparring.games.rocket import field
from sparring.games.rocket.actions import action_table
from sparring.games.rocket.curriculum import Curriculum, elo
from sparring.games.rocket.group import FieldView, Group
from sparring.games.rocket.observation import observation_fields
from sparring.games.rocket.own import Own, own_observation
from sparring.games.rocket.referee import ENDINGS
from sparring.games.rocket.settings import OBSERVATIONS, STORED, RocketSettings
from sparring.games.rocket.tally import Tally

_THREADS = "env/threads"
"""The stage in which the caller waits for the threads that step groups."""


def rocket_spec(settings: RocketSettings) -> GameSpec:
    """What rows look like under `settings`."""
    check_settings(settings, RocketSettings)
    kind, own = settings.observation, 0
    if kind not in OBSERVATIONS:
        _, own = own_observation(kind, settings.room)
        kind = STORED + kind
    return GameSpec(
        game="rocket",
        settings={
            "room": settings.room,
            "actions": settings.actions,
            "observation": kind,
            "tick_skip": settings.tick_skip,
            "action_delay": settings.action_delay,
        },
        seats=2 * settings.room,
        actions=len(action_table(settings.actions)),
        observation=observation_fields(kind, settings.room, own=own),
    )


class RocketArena(ClosingArena):
    """Matches of mixed modes. In a match of a smaller mode only the first seats of each team have rows."""

    endings: Sequence[str] = ENDINGS
    """See `sparring.core.Explaining`."""

    def __init__(self, settings: RocketSettings, *, matches: int, seed: int) -> None:
        self._spec = rocket_spec(settings)
        check_argument("matches", matches, Count)
        check_argument("seed", seed, NonNegativeInt)
        self._settings = settings
        self._curriculum = Curriculum(settings.curriculum, settings.stage)
        self._elo: float | None = None
        staged = settings.at(settings.stage)
        count = 1 if settings.threads == 0 else min(settings.threads + 1, matches)
        bounds = np.linspace(0, matches, count + 1).astype(int).tolist()
        self._groups = [
            Group(self._spec, staged, range(low, high), seed=seed, played=lambda: self.rows, own=Own.of(settings))
            for low, high in pairwise(bounds)
        ]
        self._matches = matches
        self._group_of = np.repeat(np.arange(count), np.diff(bounds))
        self._pool = ThreadPoolExecutor(settings.threads, "rocket") if settings.threads else None
        self._waiting = Stages()
        self._listeners: list[Callable[[Decisions, Results], None]] = []
        self._ready = list(self._groups)
        self._running: dict[Future[None], Group] = {}
        self.rows = settings.played or 0

    @property
    def spec(self) -> GameSpec:
        """What the rows look like."""
        return self._spec

    @property
    def matches(self) -> int:
        """How many matches are played at the same time."""
        return self._matches

    def wait(self) -> tuple[Decisions, Results]:
        """The rows and results of the group that has been ready the longest."""
        self._check_open()
        if not self._ready:
            if not self._running:
                raise nothing_to_wait_for()
            with self._waiting.time(_THREADS):
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                group = self._running.pop(future)
                future.result()
                self._ready.append(group)
        decisions, results = self._ready.pop(0).offer()
        for listener in self._listeners:
            listener(decisions, results)
        return decisions, results

    def listen(self, listener: Callable[[Decisions, Results], None]) -> None:
        """Shows `listener` from now on what `wait` returns."""
        self._listeners.append(listener)

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Plays `actions: int32[k]`; a group steps when its last row is answered."""
        self._check_open()
        check_actions(decisions, actions)
        check_rows(decisions.match, decisions.seat, np.concatenate([group.awaited for group in self._groups]))
        wrong = np.flatnonzero((actions < 0) | (actions >= self._spec.actions))
        if len(wrong):
            row = int(wrong[0])
            where = f"match {decisions.match[row]}, seat {decisions.seat[row]}"
            raise illegal_action(where, actions[row], np.ones(self._spec.actions, np.bool_))
        owners = self._group_of[decisions.match]
        if len(owners) == 0 or (owners == owners[0]).all():  # as it came from `wait`
            parts = [(owners[0], slice(None))] if len(owners) else []
        else:
            parts = [(number, owners == number) for number in np.unique(owners)]
        for number, rows in parts:
            group = self._groups[number]
            if group.answer(decisions.match[rows], decisions.seat[rows], actions[rows]):
                self._go(group)

    def close(self) -> None:
        """Stops the threads and lets the simulators go."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        super().close()
        self._groups.clear()

    @property
    def stages(self) -> Stages:
        """See `sparring.core.Staged`; with threads this one only waits for them."""
        return self._groups[0].stages if self._pool is None else self._waiting

    def helpers(self) -> Helpers:
        """The threads, if there are any."""
        busy: dict[str, float] = {}
        for group in self._groups if self._pool is not None else []:
            for stage, seconds in group.stages.seconds.items():
                busy[stage] = busy.get(stage, 0.0) + seconds
        return Helpers(self._settings.threads, busy, waits=_THREADS, setting="settings.threads")

    @property
    def ticks(self) -> int:
        """Ticks of RocketSim so far, of all matches."""
        return sum(group.ticks for group in self._groups)

    def look(self, match: int) -> FieldView:
        """The whole field of one match as it is now, for pictures and streams; no player may use it."""
        return self._groups[int(self._group_of[match])].look(match)

    def report(self) -> dict[str, float]:
        """Since the last call: `reward/COMPONENT` a row, and how it was played; the last Elo; the stage."""
        metrics = {f"reward/{name}": paid for name, paid in self.reward_report().items()} | self.play_report()
        if self._elo is not None:
            metrics["elo"] = self._elo
        return metrics | ({"stage": float(self._curriculum.stage)} if self._settings.curriculum else {})

    def adapt(self, measures: Mapping[str, float]) -> str | None:
        """Goes to the next stage of the curriculum when `measures` say so."""
        measures = {name.removeprefix("play/").removeprefix("rating/"): value for name, value in measures.items()}
        measures.pop("elo", None)  # that of an earlier update
        rating = elo(measures)
        if rating is not None:
            self._elo = measures["elo"] = rating
        if not self._curriculum.observe(measures):
            return None
        self._play_stage()
        return f"stage {self._curriculum.stage + 1} of {len(self._settings.curriculum)}: {self._curriculum.name}"

    def go_on_after(self, decisions: int) -> str | None:
        """Reward schedules go on from there, unless the settings say where they begin."""
        if self._settings.played is not None or decisions == 0 or not self._groups[0].settings.rewards.scheduled:
            return None
        self.rows = decisions
        return f"reward schedules go on after {decisions:,} rows, those of its weights; settings.played=0 begins anew"

    def standing(self) -> dict[str, int]:
        """Where curriculum and reward schedules stand."""
        return {"stage": self._curriculum.stage, "reached": self._curriculum.reached, "rows": self.rows}

    def stand_at(self, standing: Mapping[str, int]) -> None:
        """Goes to where `standing` was taken; slots change to its stage with their next matches."""
        self._curriculum = Curriculum(self._settings.curriculum, standing["stage"], standing["reached"])
        self.rows = standing["rows"]
        self._play_stage()

    def _play_stage(self) -> None:
        staged = self._settings.at(self._curriculum.stage)
        for group in self._groups:
            group.settings = staged

    def reward_report(self) -> dict[str, float]:
        """What a row was paid on average since the last call, by component, weighted, before mixing."""
        totals: dict[str, float] = {}
        rows = 0
        for group in self._groups:
            for name, paid in group.paid.items():
                totals[name] = totals.get(name, 0.0) + paid
            rows += group.paid_rows
            group.paid, group.paid_rows = {}, 0
        return {name: paid / max(rows, 1) for name, paid in totals.items()}

    def play_report(self) -> dict[str, float]:
        """How it was played since the last call: see `Tally.take`."""
        seconds = int(self._spec.settings["tick_skip"]) / field.TICKS
        return Tally.take((group.tally for group in self._groups), seconds=seconds)

    @property
    def rows(self) -> int:
        """Rows played so far: what reward schedules count."""
        return sum(group.rows for group in self._groups)

    @rows.setter
    def rows(self, rows: int) -> None:
        share = rows // len(self._groups)
        for group in self._groups:
            group.rows = share
        self._groups[0].rows += rows - share * len(self._groups)

    def _go(self, group: Group) -> None:
        if self._pool is None:
            group.step()
            self._ready.append(group)
        else:
            self._running[self._pool.submit(group.step)] = group
