"""A timer around each stage of the work, always on, so that the slow stage is known."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


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
