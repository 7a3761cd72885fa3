"""SplitMix64 gives the published numbers, in numpy and compiled."""

import numpy as np
from numba import njit

from sparring.core.splitmix import STEP, mix

PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
"""The first numbers of the stream that starts at 1234567."""


def test_numpy_and_numba_give_the_published_numbers() -> None:
    stream = np.array([1234567], np.uint64)
    compiled = njit(mix)
    for number in PUBLISHED:
        stream += STEP
        assert mix(stream).tolist() == [number]
        assert compiled(stream[0]) == number
