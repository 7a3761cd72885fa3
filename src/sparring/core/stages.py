"""A timer around each stage of the work, always on, so that the slow stage is known.

Two clocks run. Wall time says where a run's time goes. CPU time of the thread that did the work leaves out what other
programs on the machine took, so that two runs can be compared.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import NamedTuple, Protocol, runtime_checkable


class Spent(NamedTuple):
    """A time by both clocks, in seconds."""

    wall: float
    cpu: float
    """Of one thread."""

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.wall - other.wall, self.cpu - other.cpu)

    def __neg__(self) -> "Spent":
        return Spent(-self.wall, -self.cpu)


def clocks() -> Spent:
    """Both clocks now; only differences mean anything, and those of CPU time only within a thread."""
    return Spent(perf_counter(), thread_time())


class Stages:
    """Seconds spent per named stage. Stages do not nest: each second is counted once."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        """Of the thread that was in the stage: waiting does not count."""

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Adds the time the block takes to `stage`."""
        start = clocks()
        try:
            yield
        finally:
            self.add(stage, clocks() - start)

    def add(self, stage: str, spent: Spent) -> None:
        """Counts what was measured elsewhere."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + spent.wall
        self.cpu_seconds[stage] = self.cpu_seconds.get(stage, 0.0) + spent.cpu

    def add_all(self, other: "Stages") -> None:
        """Counts every stage of another timer."""
        for stage, seconds in other.seconds.items():
            self.add(stage, Spent(seconds, other.cpu_seconds[stage]))

    def since(self, before: "Stages") -> "Stages":
        """What was added to each stage after `before` was copied; stages that restarted count from nothing."""
        spent = Stages()
        spent.seconds = _difference(self.seconds, before.seconds)
        spent.cpu_seconds = _difference(self.cpu_seconds, before.cpu_seconds)
        return spent

    def copy(self) -> "Stages":
        """The times so far."""
        return self.since(Stages())

    def shares(self) -> dict[str, float]:
        """Each stage's part of the whole, largest first."""
        total = sum(self.seconds.values())
        ordered = sorted(self.seconds.items(), key=lambda item: -item[1])
        return {stage: seconds / total for stage, seconds in ordered} if total > 0 else {}


def _difference(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {stage: max(0.0, seconds - before.get(stage, 0.0)) for stage, seconds in now.items()}


@runtime_checkable
class Staged(Protocol):
    """An arena that times the stages of its `wait` and `act`, for `sparring diagnose`.

    Stages are named KIND or KIND/PART, where the kind is `env` (the engine), `encode` (observations), `mask` (legal
    actions) or `reward`. The time of other arenas is all `env`.
    """

    @property
    def stages(self) -> Stages:
        """Seconds so far in the calling thread."""
        ...


@dataclass(frozen=True)
class Helpers:
    """Processes or threads that step matches while the caller waits for them."""

    count: int
    """How many; 0 if the caller does everything."""
    seconds: Mapping[str, float]
    """By stage: how long they have been busy so far, all together; empty if unknown."""
    waits: str
    """The stage in which the caller waits for them."""
    setting: str
    """The setting for their number."""


@runtime_checkable
class Helped(Protocol):
    """An arena that has helpers, or could have some."""

    def helpers(self) -> Helpers:
        """How busy they have been."""
        ...


@runtime_checkable
class Ticking(Protocol):
    """An arena whose engine runs in ticks, several to a decision."""

    @property
    def ticks(self) -> int:
        """Ticks of all matches so far."""
        ...
