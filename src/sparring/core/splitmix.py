"""SplitMix64 (Steele, Lea and Flood 2014): a random stream whose whole state is one 64-bit number.

An arena keeps one stream per slot in a `uint64` array, so that what is drawn in a slot depends on nothing else and is
saved with the slot. To draw from a stream: add `STEP` to its state and take `mix` of the sum, 64 random bits.
"""

from typing import Any

import numpy as np

STEP = np.uint64(0x9E3779B97F4A7C15)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mix(state: Any) -> Any:
    """The random bits of a state. Works on a `uint64` array, and on a single `uint64` when compiled by numba."""
    bits = (state ^ (state >> _SHIFTS[0])) * _FACTORS[0]
    bits = (bits ^ (bits >> _SHIFTS[1])) * _FACTORS[1]
    return bits ^ (bits >> _SHIFTS[2])
