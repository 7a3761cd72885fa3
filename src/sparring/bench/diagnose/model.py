"""The pipeline model: from the cost of each stage to the rate end to end, as it is and as it would be.

Stages of one thread follow each other: their costs add up. Parts that go on at once, which are the arena's helpers
beside whoever collects, and with `overlap` collecting beside learning, wait for the slowest: the largest counts. What
the parts lose by waiting for each other is taken to stay as it is.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sparring.core import InputError


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds a decision that is learned from, by stage."""

    acting: dict[str, float]
    """Of collecting, without waiting for helpers."""
    waits: str
    """The stage in which helpers are waited for; "" without any."""
    waited: float
    """How long."""
    helpers: dict[str, float]
    """How long the helpers are busy, all of them together."""
    helper_count: int
    learning: dict[str, float]
    overlap: bool
    """Whether collecting and learning go on at once."""
    wall: float
    """As measured, end to end."""

    def predict(self, speeds: Mapping[str, float]) -> float:
        """Seconds a decision if stages were so many times as fast: `{"encode": 2.0}`."""
        joined = max if self.overlap else sum
        return joined(self.parts(speeds)) + self.lost

    @property
    def lost(self) -> float:
        """Seconds a decision that collecting and learning do not account for; below 0 where timers overlap."""
        joined = max if self.overlap else sum
        return self.wall - joined(self.parts({}))

    def parts(self, speeds: Mapping[str, float]) -> tuple[float, float]:
        """Seconds a decision of collecting and of learning, if stages were so many times as fast."""
        acting, helping = _total(self.acting, speeds), _total(self.helpers, speeds) / max(1, self.helper_count)
        if self.helpers:
            usual, helped = _total(self.acting, {}), _total(self.helpers, {}) / max(1, self.helper_count)
            collecting = max(acting, helping) + max(0.0, usual + self.waited - max(usual, helped))
        else:
            collecting = acting + self.waited / _speed(self.waits, speeds)
        return collecting, _total(self.learning, speeds)

    @property
    def stages(self) -> set[str]:
        """Every stage that can be asked about, and every kind of stage."""
        names = {*self.acting, *self.learning, *self.helpers}
        return names | {name.partition("/")[0] for name in names}


def parse_whatif(texts: list[str]) -> dict[str, float]:
    """Speeds by stage from `encode=2x`, `learner=0.5`; raises `InputError` for anything else."""
    speeds: dict[str, float] = {}
    for text in texts:
        stage, equals, factor = text.partition("=")
        try:
            speeds[stage] = float(factor.removesuffix("x"))
        except ValueError:
            speeds[stage] = 0.0
        if not equals or not stage or not 1e-3 <= speeds[stage] <= 1e3:
            raise InputError(f"--whatif {text!r}: not of the form STAGE=2x; allowed factors: 0.001x to 1000x")
    return speeds


def check_stages(speeds: Mapping[str, float], model: Model) -> None:
    """Raises `InputError` for a stage that the run does not have."""
    for stage in speeds:
        if stage not in model.stages:
            raise InputError(
                f"--whatif {stage}: there is no such stage here; stages: {', '.join(sorted(model.stages))}"
            )


def _total(stages: Mapping[str, float], speeds: Mapping[str, float]) -> float:
    return sum(seconds / _speed(stage, speeds) for stage, seconds in stages.items())


def _speed(stage: str, speeds: Mapping[str, Any]) -> float:
    """How many times as fast `stage` is: as its own name says, or that of its kind."""
    return float(speeds.get(stage, speeds.get(stage.partition("/")[0], 1.0)))
