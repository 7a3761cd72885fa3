"""The pipeline in time, event by event: who collects, who learns, and who waits for whom.

Three things make it more than a sum: processes that learn together wait for the slowest at every gradient step; what
collectors on other machines have played comes over one link, a piece at a time; and a collector that is too far ahead
waits. How long each piece of work takes is drawn from what the rounds of a measurement took.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparring.core import InputError, optional

with optional("sparring plan", extra="plan"):
    import simpy

PIECES_AHEAD = 2
"""Pieces that a collector may have played and not handed over, each of which is this part of its share of a batch."""
_WARM_UP, _UPDATES = 4, 40
"""Updates that are simulated: so many before the clock is read, so many while it runs, fewer of very many processes."""
_MOST_LEARNERS = 4096
_PARTS = 8
"""Parts that a collection is drawn in, and gradient steps that processes wait for each other at, at most."""

_DOING = ("collecting", "learning", "waiting for episodes", "waiting for others", "rest")
"""What a process that learns does."""

Events = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The machines."""

    nodes: int
    processes: int
    """Of each node, that play and learn; with collectors there is one in all, which only learns."""
    collectors: int = 0
    """Processes that only play, spread over the nodes; 0: those that learn play."""
    cores: float
    """Of each node."""
    link: float
    """Bytes a second from one node to another."""

    @property
    def learners(self) -> int:
        """Processes that learn."""
        return 1 if self.collectors else self.nodes * self.processes


@dataclass(frozen=True, kw_only=True)
class Work:
    """What an update costs one process."""

    rows: int
    """Decisions that it learns from."""
    collect: float
    """Seconds a decision of collecting."""
    learn: float
    """Seconds a decision of learning."""
    lost: float
    """Seconds a decision that neither accounts for."""
    overlap: bool
    """Whether the next episodes are collected meanwhile."""
    steps: int
    """Gradient steps."""
    gradient: int
    """Bytes that processes exchange at each."""
    row: int
    """Bytes of a decision."""
    cores: float
    """That a process which plays and learns keeps busy."""
    playing_cores: float
    """That a collector keeps busy."""
    variation: Sequence[float] = (1.0,)
    """What pieces of work took, over what they take in the mean."""


@dataclass
class Timeline:
    """How the simulated updates went."""

    seconds: float
    """Of an update, in the mean."""
    rate: float
    """Decisions a second that are learned from, of all processes."""
    shares: dict[str, float] = field(default_factory=dict)
    """Of the time of a process that learns: what it did."""
    crowded: float = 1.0
    """How many times as long work takes on the fullest node because there are not enough cores."""


def simulate(work: Work, layout: Layout, *, seed: int = 0) -> Timeline:
    """Plays some updates through; raises `InputError` for more processes than can be."""
    if layout.learners > _MOST_LEARNERS:
        raise InputError(f"{layout.learners:,} processes that learn; allowed: {_MOST_LEARNERS:,} at most")
    run = _Run(work, layout, seed)
    run.env.run(until=run.done)
    whole = sum(run.spent.values())
    seconds = (run.ended - run.began) / run.updates
    return Timeline(
        seconds=seconds,
        rate=work.rows * layout.learners / seconds,
        shares={name: value / whole for name, value in run.spent.items() if value > 0},
        crowded=max(run.crowded),
    )


class _Run:
    """One simulation: its clock, and everybody in it."""

    def __init__(self, work: Work, layout: Layout, seed: int) -> None:
        self.env = simpy.Environment()
        self.done = self.env.event()
        self.spent = dict.fromkeys(
            ("collecting", "learning", "waiting for episodes", "waiting for others", "rest"), 0.0
        )
        self.began = self.ended = 0.0
        self.crowded = _crowded(work, layout)
        self.updates = max(5, min(_UPDATES, 4000 // layout.learners))
        self._work, self._layout = work, layout
        self._rng = np.random.default_rng(seed)
        self._link = simpy.Resource(self.env, capacity=1)
        self._steps = min(_PARTS, work.steps)
        self._meeting = _Meeting(self.env, layout.learners)
        if layout.collectors:
            self._arrived = simpy.Store(self.env)
            self._room = [simpy.Container(self.env, init=PIECES_AHEAD) for _ in range(layout.collectors)]
            for number in range(layout.collectors):
                self.env.process(self._collector(number))
        for number in range(layout.learners):
            self.env.process(self._learner(number))

    def _learner(self, number: int) -> Events:
        """A process that learns, update after update; the clock is that of the first."""
        work, env = self._work, self.env
        slow = self.crowded[0 if self._layout.collectors else number // self._layout.processes]
        room, ready = simpy.Container(env, init=1), simpy.Store(env)
        if work.overlap and not self._layout.collectors:
            env.process(self._ahead(room, ready, slow))
        for update in range(_WARM_UP + self.updates):
            if update == _WARM_UP and number == 0:
                self.began = env.now
                self.spent = dict.fromkeys(self.spent, 0.0)
            start = env.now
            if self._layout.collectors:
                yield from self._receive()
            elif work.overlap:
                yield ready.get()
                yield room.put(1)
            else:
                yield from self._collect(work.rows, slow)
            alone = not (work.overlap or self._layout.collectors)
            self._note(number, "collecting" if alone else "waiting for episodes", start)
            for _ in range(self._steps):
                start = env.now
                yield env.timeout(work.rows / self._steps * work.learn * slow * self._drawn())
                self._note(number, "learning", start)
                if self._layout.learners > 1:
                    start = env.now
                    yield self._meeting.join()
                    yield env.timeout(self._exchange() * work.steps / self._steps)
                    self._note(number, "waiting for others", start)
            start = env.now
            yield env.timeout(max(0.0, work.rows * work.lost) * slow)
            self._note(number, "rest", start)
        if number == 0:
            self.ended = env.now
            self.done.succeed()

    def _ahead(self, room: simpy.Container, ready: simpy.Store, slow: float) -> Events:
        """Collects the next episodes while the last are learned from."""
        while True:
            yield room.get(1)
            yield from self._collect(self._work.rows, slow)
            yield ready.put(self._work.rows)

    def _collector(self, number: int) -> Events:
        """Plays on another machine, or beside the learner, and sends what it has played piece by piece."""
        env, node = self.env, number % self._layout.nodes
        rows = -(-self._work.rows // (PIECES_AHEAD * self._layout.collectors))
        while True:
            yield self._room[number].get(1)
            yield from self._collect(rows, self.crowded[node])
            if node:
                with self._link.request() as turn:
                    yield turn
                    yield env.timeout(rows * self._work.row / self._layout.link)
            yield self._arrived.put((number, rows))

    def _receive(self) -> Events:
        """Takes pieces until there are enough for an update."""
        rows = 0
        while rows < self._work.rows:
            number, piece = yield self._arrived.get()
            rows += piece
            yield self._room[number].put(1)

    def _collect(self, rows: int, slow: float) -> Events:
        parts = min(_PARTS, rows)
        for _ in range(parts):
            yield self.env.timeout(rows / parts * self._work.collect * slow * self._drawn())

    def _drawn(self) -> float:
        variation = self._work.variation
        return variation[int(self._rng.integers(len(variation)))]

    def _exchange(self) -> float:
        """Seconds in which all nodes add up their gradients, in a ring; inside a node it is taken to cost nothing."""
        nodes = self._layout.nodes
        return 2 * (nodes - 1) / nodes * self._work.gradient / self._layout.link

    def _note(self, number: int, what: str, start: float) -> None:
        if number == 0:
            self.spent[what] += self.env.now - start


class _Meeting:
    """Where processes wait until all have come."""

    def __init__(self, env: simpy.Environment, size: int) -> None:
        self._env, self._size = env, size
        self._here, self._all = 0, env.event()

    def join(self) -> simpy.Event:
        """The event that all are here."""
        self._here += 1
        everyone = self._all
        if self._here == self._size:
            self._here, self._all = 0, self._env.event()
            everyone.succeed()
        return everyone


def _crowded(work: Work, layout: Layout) -> list[float]:
    """By node: how many times as long work takes, because more cores are wanted than there are."""
    if not layout.collectors:
        return [max(1.0, layout.processes * work.cores / layout.cores)] * layout.nodes
    wanted = [float(node == 0) for node in range(layout.nodes)]
    for number in range(layout.collectors):
        wanted[number % layout.nodes] += work.playing_cores
    return [max(1.0, cores / layout.cores) for cores in wanted]
