"""A measurement kept in a file, and another compared with it: what has changed beyond noise.

Two runs are taken at different times, on a machine that may be busier in one of them. So stages are compared in CPU
time, which other programs do not take, and each round's figures are divided by what a piece of work that is always the
same took in that round, by the same clock. The rounds of both runs are compared by rank (Mann and Whitney), which a few
disturbed rounds do not move. The interval of the change is that of Hodges and Lehmann. Rounds of one run resemble each
other more than those of two runs, so a change counts only if the whole interval lies beyond what two runs of the same
program differ by.
"""

from math import erfc, sqrt
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.bench.diagnose.result import FORMAT, Diagnosis, Figure
from sparring.core import InputError
from sparring.core.files import write_file

Verdict = Literal["slower", "faster", "the same", "not enough evidence", "too few rounds"]

NOISE = 0.35
"""A margin for what two runs of one program differ by on a machine that others use too; twice the cost is beyond it."""
_ALPHA = 0.001
"""The probability that rounds of equal speed would be ranked so."""
_SMALLEST = 0.02
"""Stages that take less than this share of the whole are too short to be told apart from the clock's own cost."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One figure in both runs."""

    name: str
    before: float
    """Median seconds a row, as measured."""
    now: float
    change: float
    """Normalised: 0.5 is half as slow again, -0.5 twice as fast."""
    low: float
    high: float
    verdict: Verdict


def save_baseline(path: Path, found: Diagnosis) -> None:
    """Writes `found` for `compare`."""
    write_file(path, msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def load_baseline(path: Path) -> Diagnosis:
    """What `save_baseline` wrote; raises `InputError` for anything else."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    try:
        about = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        version = about.get("format") if isinstance(about, dict) else None
        raise InputError(f"{path}: not a measurement of this version: format {version!r}, allowed: {FORMAT}")
    try:
        found = msgspec.convert(about, Diagnosis)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error
    for figure in found.figures.values():
        values = [*figure.seconds, *figure.reference]
        if not np.isfinite(values).all() or min(values, default=1.0) < 0:
            raise InputError(f"{path}: a figure is negative or not finite")
        if len(figure.reference) != len(figure.seconds) or min(figure.reference, default=1.0) <= 0:
            raise InputError(f"{path}: there is no reference of the machine's speed")
    return found


def check_comparable(path: Path, before: Diagnosis, game: str) -> None:
    """Raises `InputError` if `before` is of another game."""
    if before.game != game:
        raise InputError(f"{path}: measured with {before.game}, not with {game}")


def differences(before: Diagnosis, now: Diagnosis) -> list[str]:
    """What else differs between the two runs, a line each."""
    lines = []
    if before.machine.processor != now.machine.processor or before.machine.cores != now.machine.cores:
        lines.append(f"another machine: {before.machine.cores} cores, {before.machine.processor}")
    for name, version in now.machine.versions.items():
        if before.machine.versions.get(name) != version:
            lines.append(f"{name} was {before.machine.versions.get(name)}, now {version}")
    if before.threads != now.threads:
        lines.append(f"torch's threads were {before.threads}, now {now.threads}")
    keys = before.settings | now.settings
    lines += [
        f"{key} was {before.settings.get(key)}, now {now.settings.get(key)}"
        for key in keys
        if before.settings.get(key) != now.settings.get(key)
    ]
    for clock in ("CPU", "wall"):
        was, here = (_speed(found, clock.lower()) for found in (before, now))
        if was and here and not 0.8 < here / was < 1.25:
            word = "slower" if here > was else "faster"
            times = max(here / was, was / here)
            lines.append(f"by {clock} time the machine is {times:.2f} times {word} now; changes are corrected for it")
    return lines


def _speed(found: Diagnosis, clock: str) -> float:
    """Seconds of the same work by one clock: how fast the machine was; 0 if no figure is by that clock."""
    took = [one for figure in found.figures.values() if figure.clock == clock for one in figure.reference]
    return float(np.median(took)) if took else 0.0


def compare(before: Diagnosis, now: Diagnosis) -> list[Change]:
    """Every figure that both have by the same clock, but for stages too short to measure."""
    changes = []
    medians = {name: float(np.median(one.seconds)) for name, one in now.figures.items() if one.seconds}
    stages = {stage for part in now.shares.values() for stage in part} & medians.keys()
    pipeline = sum(medians[stage] for stage in stages)
    for name, here in medians.items():
        was = before.figures.get(name)
        if was is None or not was.seconds or was.clock != now.figures[name].clock:
            continue
        there = float(np.median(was.seconds))
        whole = pipeline if name in stages else medians["arena"] if name.startswith("arena") else 0.0
        if max(here, there) < _SMALLEST * whole or min(here, there) <= 0:
            continue
        first, second = _normalised(was), _normalised(now.figures[name])
        change, low, high = shift(first, second)
        verdict = _verdict(first, second, low, high)
        changes.append(Change(name=name, before=there, now=here, change=change, low=low, high=high, verdict=verdict))
    return changes


def shift(before: NDArray[np.float64], now: NDArray[np.float64]) -> tuple[float, float, float]:
    """Hodges and Lehmann: the change of the logarithms as a share, and its 99.9% interval."""
    pairs = np.sort((now[:, None] - before[None, :]).ravel())
    n, m = len(before), len(now)
    spread = 3.2905 * sqrt(n * m * (n + m + 1) / 12)
    skip = int(max(0, np.floor(n * m / 2 - spread)))
    return tuple(float(np.expm1(value)) for value in (np.median(pairs), pairs[skip], pairs[-1 - skip]))  # type: ignore[return-value]


def rank_test(before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """Mann and Whitney, two-sided: the probability that rounds of equal speed would be ranked so unevenly."""
    n, m = len(before), len(now)
    less = (now[:, None] > before[None, :]).sum() + 0.5 * (now[:, None] == before[None, :]).sum()
    distance = max(0.0, abs(float(less) - n * m / 2) - 0.5)
    return erfc(distance / sqrt(n * m * (n + m + 1) / 12) / sqrt(2))


def can_decide(before: int, now: int) -> bool:
    """Whether so many rounds of each run could be told apart at all: if every one of the one were below the other's."""
    return before > 0 < now and rank_test(np.zeros(before), np.ones(now)) < _ALPHA


def _verdict(before: NDArray[np.float64], now: NDArray[np.float64], low: float, high: float) -> Verdict:
    if not can_decide(len(before), len(now)):
        return "too few rounds"
    slower, faster = 1 + NOISE, 1 / (1 + NOISE)
    if rank_test(before, now) < _ALPHA:
        if 1 + low > slower:
            return "slower"
        if 1 + high < faster:
            return "faster"
    return "the same" if faster <= 1 + low and 1 + high <= slower else "not enough evidence"


def _normalised(figure: Figure) -> NDArray[np.float64]:
    """Logarithms of each round's figure over that round's reference; rounds without a figure are left out."""
    took, speed = np.asarray(figure.seconds, float), np.asarray(figure.reference, float)
    kept = took > 0
    logarithms: NDArray[np.float64] = np.log(took[kept] / speed[kept])
    return logarithms
