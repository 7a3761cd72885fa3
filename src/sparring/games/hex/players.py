"""The built-in heuristic: `path`, which looks one move ahead and compares shortest paths.

A seat's distance is the number of stones it still needs to connect its edges. `path` plays the move after which the
opponent's distance exceeds its own by most, wins when it can and blocks when it must. There is no bonus for
defending bridges: measured, it won no more matches.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core import Answers, Decisions, SeededPlayer
from sparring.games.hex.settings import HexSettings

_FAR = 1 << 20
"""The distance when the edges can no longer be connected."""
_DECIDED = 1 << 24
"""Added to the score of a move that wins, and subtracted if the opponent can win next."""


class PathPlayer(SeededPlayer):
    """Plays the best move by shortest paths; ties are broken at random."""

    def __init__(self, settings: HexSettings, seed: int) -> None:
        super().__init__(seed)
        self._size = settings.size
        self._swap = settings.swap
        self._beside = neighbours(settings.size)

    def act(self, decisions: Decisions) -> Answers:
        """Answers each row by itself."""
        k, cells = len(decisions), self._size**2
        planes = np.ascontiguousarray(decisions.observation["planes"]).reshape(k, 2, cells)
        action = np.empty(k, np.int32)
        _choose(planes, self._size, self._beside, self._rng.random(k), action)
        if self._swap:
            action[decisions.legal[:, cells] & self._worth_swapping(planes)] = cells
        return Answers(action=action)

    def _worth_swapping(self, planes: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """`bool[k]` whether the opponent's first stone lies away from the edges, where it is strong."""
        row, column = np.divmod(planes[:, 1].argmax(axis=1), self._size)
        margin = self._size // 4
        inside = np.minimum(np.minimum(row, column), self._size - 1 - np.maximum(row, column))
        strong: NDArray[np.bool_] = inside >= margin
        return strong


def stones_short(size: int, stones: Sequence[int], seat: int) -> int:
    """How many stones `seat` still needs to connect its edges, on a board as `text.stones_after` gives it."""
    board = np.array(stones).reshape(size, size)
    board = board.T if seat == 1 else board
    cost = np.where(board == seat + 1, 0, np.where(board == 0, 1, -1)).astype(np.int32).ravel()
    room = np.empty(size * size, np.int32), np.empty((2, size * size), np.int32)
    return int(_distances(cost, size, neighbours(size), False, *room))


def neighbours(size: int) -> NDArray[np.int32]:
    """`int32[cells, 6]` the neighbours of each cell; -1 off the board."""
    row, column = np.divmod(np.arange(size * size), size)
    table = np.empty((size * size, 6), np.int32)
    for side, (down, right) in enumerate(((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))):
        r, c = row + down, column + right
        on_board = (r >= 0) & (r < size) & (c >= 0) & (c < size)
        table[:, side] = np.where(on_board, r * size + c, -1)
    return table


@njit(cache=True, nogil=True)
def _choose(planes: Any, size: int, beside: Any, uniform: Any, action: Any) -> None:
    """Writes the chosen cell of each row of `planes: uint8[k, 2, cells]`; `uniform: float64[k]` breaks ties."""
    cells = size * size
    own, other = np.empty(cells, np.int32), np.empty(cells, np.int32)
    own_near, own_far = np.empty(cells, np.int32), np.empty(cells, np.int32)
    other_near, other_far = np.empty(cells, np.int32), np.empty(cells, np.int32)
    detour = np.empty(cells, np.int32)
    stacks = np.empty((2, cells), np.int32)
    score = np.empty(cells, np.int32)
    for row in range(len(planes)):
        mine, theirs = planes[row, 0], planes[row, 1]
        for cell in range(cells):
            mirrored = cell % size * size + cell // size
            own[cell] = _cost(mine[cell], theirs[cell])
            other[mirrored] = _cost(theirs[cell], mine[cell])
        own_now = _distances(own, size, beside, False, own_near, stacks)
        _distances(own, size, beside, True, own_far, stacks)
        other_now = _distances(other, size, beside, False, other_near, stacks)
        _distances(other, size, beside, True, other_far, stacks)
        best, ties = np.int32(-(1 << 30)), 0
        for cell in range(cells):
            if mine[cell] or theirs[cell]:
                score[cell] = -(1 << 30)
                continue
            mirrored = cell % size * size + cell // size
            own_after = min(own_now, own_near[cell] + own_far[cell] - 2)
            other_after = other_now
            if other_near[mirrored] + other_far[mirrored] - 1 == other_now:
                other[mirrored] = -1
                other_after = _distances(other, size, beside, False, detour, stacks)
                other[mirrored] = 1
            score[cell] = other_after - own_after
            if own_after == 0:
                score[cell] += _DECIDED
            elif other_after <= 1:
                score[cell] -= _DECIDED
            if score[cell] > best:
                best, ties = score[cell], 0
            if score[cell] == best:
                ties += 1
        skip = int(uniform[row] * ties)
        for cell in range(cells):
            if score[cell] == best:
                if skip == 0:
                    action[row] = cell
                    break
                skip -= 1


@njit(cache=True, nogil=True)
def _cost(owned: int, blocked: int) -> int:
    """The stones that a path needs to add on a cell: 0 or 1, or -1 if it cannot pass."""
    if owned:
        return 0
    return -1 if blocked else 1


@njit(cache=True, nogil=True)
def _distances(cost: Any, size: int, beside: Any, from_far: bool, distance: Any, stacks: Any) -> int:
    """Fills `distance: int32[cells]`: the stones needed to connect each cell, itself included, to the top edge.

    With `from_far` it is the bottom edge. Returns the stones needed from one edge to the other.
    """
    cells = size * size
    begin = cells - size if from_far else 0
    end = 0 if from_far else cells - size
    distance[:] = _FAR
    now, later = 0, 1
    count_now, count_later = 0, 0
    for cell in range(begin, begin + size):
        if cost[cell] == 0:
            distance[cell] = 0
            stacks[now, count_now] = cell
            count_now += 1
        elif cost[cell] == 1:
            distance[cell] = 1
            stacks[later, count_later] = cell
            count_later += 1
    level = 0
    while count_now or count_later:
        while count_now:
            count_now -= 1
            cell = stacks[now, count_now]
            for side in range(6):
                to = beside[cell, side]
                if to >= 0 and cost[to] >= 0 and level + cost[to] < distance[to]:
                    distance[to] = level + cost[to]
                    if cost[to] == 0:
                        stacks[now, count_now] = to
                        count_now += 1
                    else:
                        stacks[later, count_later] = to
                        count_later += 1
        now, later = later, now
        count_now, count_later = count_later, 0
        level += 1
    shortest = _FAR
    for cell in range(end, end + size):
        shortest = min(shortest, distance[cell])
    return shortest
