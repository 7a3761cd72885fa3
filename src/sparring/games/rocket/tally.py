"""The tally: how matches are played, in figures that say more than rewards do."""

from collections.abc import Iterable

import numba
import numpy as np
from numpy.typing import NDArray

from sparring.games.rocket import field
from sparring.games.rocket.referee import ENDINGS

_COUNTS = 9
_ROWS, _TOUCHES, _SPEED, _AIR, _BOOST, _STEPS, _GOALS, _ENDED, _DECIDED = range(_COUNTS)


class Tally:
    """Counts what is played until someone takes the figures."""

    def __init__(self) -> None:
        self._counts = np.zeros(_COUNTS)
        self._seconds = 0.0
        self._endings = np.zeros(len(ENDINGS))

    def step(
        self,
        cars: NDArray[np.float32],
        row_match: NDArray[np.int32],
        row_seat: NDArray[np.int32],
        goals: NDArray[np.int32],
    ) -> None:
        """A step of m matches: `cars: float32[m, seats, 34]`, the rows' places, `goals: int32[m, 2]` scored in it."""
        _count(cars, row_match, row_seat, self._counts)
        self._counts[_STEPS] += len(goals)
        self._counts[_GOALS] += goals.sum()

    def end(self, seconds: NDArray[np.float64], winner: NDArray[np.int32], ending: NDArray[np.int8]) -> None:
        """Matches that ended: how long they took, `float64[e]`, who won, `int32[e]`, 0 for nobody, and why they ended.

        `ending: int8[e]` is an index into `referee.ENDINGS`.
        """
        self._endings += np.bincount(ending, minlength=len(ENDINGS))
        self._counts[_ENDED] += len(seconds)
        self._counts[_DECIDED] += np.count_nonzero(winner)
        self._seconds += float(seconds.sum())

    @staticmethod
    def take(tallies: Iterable["Tally"], *, seconds: float) -> dict[str, float]:
        """Figures of all `tallies` together, which then start anew; a step is `seconds` long."""
        total, played, endings = np.zeros(_COUNTS), 0.0, np.zeros(len(ENDINGS))
        for tally in tallies:
            total += tally._counts
            played += tally._seconds
            endings += tally._endings
            tally._counts[:] = 0
            tally._endings[:] = 0
            tally._seconds = 0.0
        rows, steps, ended = (max(float(total[count]), 1.0) for count in (_ROWS, _STEPS, _ENDED))
        return {
            "touches_per_minute": float(total[_TOUCHES]) / (rows * seconds / 60),
            "goals_per_minute": float(total[_GOALS]) / (steps * seconds / 60),
            "speed": float(total[_SPEED]) / rows,
            "air_share": float(total[_AIR]) / rows,
            "boost": float(total[_BOOST]) / rows,
            "matches": float(total[_ENDED]),
            "match_seconds": played / ended,
            "decided_share": float(total[_DECIDED]) / ended,
            **{f"ended_by_{name}": float(count) / ended for name, count in zip(ENDINGS, endings, strict=True)},
        }


@numba.njit(cache=True, nogil=True)
def _count(
    cars: NDArray[np.float32], row_match: NDArray[np.int32], row_seat: NDArray[np.int32], counts: NDArray[np.float64]
) -> None:
    """Adds rows, touches, speeds, cars in the air and boost."""
    counts[0] += len(row_match)
    for row in range(len(row_match)):
        car = cars[row_match[row], row_seat[row]]
        x, y, z = car[9], car[10], car[11]
        counts[1] += car[29]
        counts[2] += np.sqrt(x * x + y * y + z * z)
        counts[3] += car[17] == 0
        counts[4] += car[15]


assert (field.VELOCITY.start, field.BOOST, field.ON_GROUND, field.TOUCHED) == (9, 15, 17, 29), "as `_count` reads them"
