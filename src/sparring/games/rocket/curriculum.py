"""The curriculum: which stage is played, when the next one begins, and the rating that may decide it. No arena here."""

from collections.abc import Mapping, Sequence

from sparring.core import InputError
from sparring.games.rocket.settings import Stage

RATINGS: Mapping[str, float] = {"random": 0.0, "toward-ball": 60.0, "rule": 125.0}
"""Elo of the built-in players in 1v1 to the first goal, `random` at 0; docs/rocket.md says how it was measured."""


def elo(measures: Mapping[str, float]) -> float | None:
    """The Elo at which the `win_rate/PLAYER` of `measures` are likeliest; None if no rated player is among them.

    Rates of 0 and 1 have no finite rating, so each counts as if one match in 200 had gone the other way.
    """
    rates = {
        RATINGS[name]: min(max(measures[f"win_rate/{name}"], 0.005), 0.995)
        for name in RATINGS
        if f"win_rate/{name}" in measures
    }
    if not rates:
        return None
    low, high = -2000.0, 4000.0
    while high - low > 0.01:
        middle = (low + high) / 2
        expected = sum(1 / (1 + 10 ** ((rating - middle) / 400)) for rating in rates)
        low, high = (middle, high) if expected < sum(rates.values()) else (low, middle)
    return (low + high) / 2


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
