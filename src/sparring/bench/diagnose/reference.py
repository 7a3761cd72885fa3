"""A piece of work that is always the same: how fast the machine is at the moment, to compare figures of two moments.

It is measured as closely beside what is measured as can be: the speed of a core that others share changes by half from
one second to the next.
"""

from collections.abc import Sequence

import numpy as np
import torch

from sparring.core.stages import Spent, clocks


def reference() -> Spent:
    """How long the work takes now: a few milliseconds."""
    start = clocks()
    total = 0
    for number in range(60_000):  # the interpreter
        total += number & 7
    table = _TABLE[_ORDER]  # memory
    table.sort()
    torch.mm(_MATRIX, _MATRIX)  # arithmetic
    return clocks() - start


def mean_of(times: Sequence[Spent]) -> Spent:
    """The mean by both clocks."""
    return Spent(sum(one.wall for one in times) / len(times), sum(one.cpu for one in times) / len(times))


_TABLE = np.random.default_rng(0).random(200_000, np.float32)
_ORDER = np.random.default_rng(1).permutation(200_000)[:40_000]
_MATRIX = torch.ones(256, 256)
