"""A timer around each stage of the work, always on, so that the slow stage is known."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol, runtime_checkable


class Stages:
    """Seconds spent per named stage. Stages do not nest: each second is counted once."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Adds the time the block takes to `stage`."""
        start = perf_counter()
        try:
            yield
        finally:
            self.add(stage, perf_counter() - start)

    def add(self, stage: str, seconds: float) -> None:
        """Counts `seconds` measured elsewhere."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def shares(self) -> dict[str, float]:
        """Each stage's part of the whole, largest first."""
        total = sum(self.seconds.values())
        ordered = sorted(self.seconds.items(), key=lambda item: -item[1])
        return {stage: seconds / total for stage, seconds in ordered} if total > 0 else {}


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
