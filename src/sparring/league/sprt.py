"""SPRT: is one player stronger than another by `elo1`, or by no more than `elo0`? In as few matches as possible.

It counts pairs of matches from one start with seats swapped, in which a player scores 0, 1/2, 1, 1 1/2 or 2 points (the
pentanomial model): results from one start are correlated, and single matches would look more certain than they are.
The test is Wald's with a generalised likelihood ratio: under each hypothesis the five probabilities are the most likely
ones with its mean. Strength is in Elo points of the mean score: 0.5 is 0, 0.64 is 100.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sparring.core import InputError

SCORES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""Points per match of the five results of a pair."""
_SEEN_NEVER = 1e-3
"""Stands in for a count of 0: it keeps every mean possible, even if all pairs were lost."""
_LARGEST = 1000.0

Verdict = Literal["elo0", "elo1"]


@dataclass(frozen=True)
class Sprt:
    """A test of `elo0` against `elo1`, with chances of at most `alpha` and `beta` of accepting the wrong one."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    """Of accepting `elo1` if `elo0` is true."""
    beta: float = 0.05
    """Of accepting `elo0` if `elo1` is true."""

    @classmethod
    def parse(cls, text: str, *, confidence: float) -> "Sprt":
        """The test that `elo0,elo1` names; raises `InputError` if malformed."""
        try:
            low, high = (float(word) for word in text.split(","))
        except ValueError:
            raise InputError(f"--sprt {text}: not of the form elo0,elo1, such as 0,20") from None
        if not -_LARGEST <= low < high <= _LARGEST:
            raise InputError(f"--sprt {text}: elo0 must be below elo1, and both within {_LARGEST:.0f} Elo points")
        return cls(low, high, alpha=1 - confidence, beta=1 - confidence)

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which `elo0` and `elo1` are accepted."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def ratio(self, pairs: NDArray[np.int64]) -> float:
        """The log-likelihood ratio of `elo1` to `elo0` after `pairs: int64[5]`, counted by result."""
        if not pairs.sum():
            return 0.0
        counts = np.where(pairs > 0, pairs.astype(np.float64), _SEEN_NEVER)
        likely = [_most_likely(counts / counts.sum(), _score(elo)) for elo in (self.elo0, self.elo1)]
        return float(counts @ (np.log(likely[1]) - np.log(likely[0])))

    def verdict(self, pairs: NDArray[np.int64]) -> Verdict | None:
        """The hypothesis that is accepted; None if more pairs are needed."""
        low, high = self.bounds
        ratio = self.ratio(pairs)
        return "elo0" if ratio <= low else "elo1" if ratio >= high else None


def pair_result(points: float) -> int:
    """The index in `SCORES` of a pair in which a player scored `points` of 2."""
    return round(2 * points)


def _score(elo: float) -> float:
    return float(1 / (1 + 10 ** (-elo / 400)))


def _most_likely(seen: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """`float64[5]` the most likely probabilities with mean score `mean`, given observed shares `seen: float64[5]`.

    They are seen / (1 + t (score - mean)), with the t that makes the mean right.
    """
    gap = SCORES - mean
    low, high = -1 / gap.max(), -1 / gap.min()
    room = 1e-9 * (high - low)
    found = brentq(lambda t: float(np.sum(seen * gap / (1 + t * gap))), low + room, high - room, xtol=1e-14)
    return np.asarray(seen / (1 + found * gap), np.float64)
