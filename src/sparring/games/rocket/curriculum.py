"""The curriculum: which stage is played, and when the next one begins. Pure bookkeeping, no arena."""

from collections.abc import Mapping, Sequence

from sparring.core import InputError
from sparring.games.rocket.settings import Stage


class Curriculum:
    """Goes through `stages` in order, one at a time, never back."""

    def __init__(self, stages: Sequence[Stage], stage: int = 0, reached: int = 0) -> None:
        if stage and not 0 <= stage < len(stages):
            raise InputError(f"stage: {stage} is not one of the {len(stages)} stages")
        self._stages = stages
        self.stage = stage
        """Number of the stage that is played."""
        self.reached = reached
        """Measurements in a row that reached its aim."""

    @property
    def name(self) -> str:
        """Of the stage that is played; empty without stages."""
        return self._stages[self.stage].name if self._stages else ""

    def observe(self, measures: Mapping[str, float]) -> bool:
        """Takes in what was measured; true when the next stage begins. Measures that are missing change nothing."""
        advance = self._stages[self.stage].advance if self._stages else None
        if advance is None or advance.measure not in measures:
            return False
        self.reached = self.reached + 1 if measures[advance.measure] >= advance.at_least else 0
        if self.reached < advance.times:
            return False
        self.stage, self.reached = self.stage + 1, 0
        return True
