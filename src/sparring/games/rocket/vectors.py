"""Vectors in compiled code: tuples of three numbers, because an array would be allocated for each."""

from math import sqrt

import numba
import numpy as np

from sparring.core import Array

Number = float | np.float32
Vector = tuple[Number, Number, Number]
_NEAR: Number = np.float32(1e-3)


@numba.njit(cache=True, nogil=True)
def at(row: Array, column: int) -> Vector:
    """The vector that begins at `row[column]`."""
    return row[column], row[column + 1], row[column + 2]


@numba.njit(cache=True, nogil=True)
def between(a: Array, at: int, b: Array, there: int) -> Vector:
    """From the vector that begins at `a[at]` to the one at `b[there]`."""
    return b[there] - a[at], b[there + 1] - a[at + 1], b[there + 2] - a[at + 2]


@numba.njit(cache=True, nogil=True)
def dot(a: Vector, b: Vector) -> Number:
    """The scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@numba.njit(cache=True, nogil=True)
def length(vector: Vector) -> Number:
    """The length, at least 0.001, so that one may divide by it."""
    size: Number = sqrt(dot(vector, vector))
    return size if size > _NEAR else _NEAR


@numba.njit(cache=True, nogil=True)
def unit(vector: Vector) -> Vector:
    """The vector with length 1; one shorter than 0.001 stays shorter."""
    size = length(vector)
    return vector[0] / size, vector[1] / size, vector[2] / size
