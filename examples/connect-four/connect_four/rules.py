"""The rules as functions on batches of boards, shared by the arena, the forward model and the players.

A board is `int8[rows, columns]`, row 0 at the top: 1 where the seat to move has a stone, -1 where the other has one,
0 where nobody has. Seen like this both seats look alike, so one network plays both. Nothing loops over boards.
"""

import numpy as np
from numpy.typing import NDArray

from sparring.core import IllegalAction

Boards = NDArray[np.int8]


def open_columns(boards: Boards) -> NDArray[np.bool_]:
    """`bool[k, columns]` where a stone can still be dropped."""
    return np.equal(boards[:, 0], 0)


def drop(boards: Boards, columns: NDArray[np.integer]) -> Boards:
    """The boards after the mover's stone falls down `columns: int[k]`, seen from the other seat, which moves next."""
    board = np.arange(len(boards))
    row = (boards[board, :, columns] == 0).sum(axis=1) - 1
    if (row < 0).any():
        full = int((row < 0).argmax())
        raise IllegalAction(f"board {full}: column {int(columns[full])} is full")
    after = -boards
    after[board, row, columns] = -1
    return after


def four_in_a_row(stones: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`bool[k]` whether `stones: bool[k, rows, columns]`, those of one seat, contain four in a row."""
    k, rows, columns = stones.shape
    found = np.zeros(k, np.bool_)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        # The four stones of every possible line are four shifted views of the board.
        height, width = rows - 3 * down, columns - 3 * abs(right)
        line = np.ones((k, height, width), np.bool_)
        for step in range(4):
            top, side = step * down, (step if right >= 0 else 3 - step) * abs(right)
            line &= stones[:, top : top + height, side : side + width]
        found |= line.any(axis=(1, 2))
    return found


def winning_columns(boards: Boards) -> NDArray[np.bool_]:
    """`bool[k, columns]` where the seat to move would win at once."""
    wins = open_columns(boards)
    board, column = np.nonzero(wins)
    wins[board, column] = four_in_a_row(drop(boards[board], column) == -1)
    return wins


def lost_or_full(boards: Boards) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """`bool[k]` whether the seat to move has lost (only the other can have won), `bool[k]` a full board."""
    return four_in_a_row(boards == -1), np.all(boards[:, 0], axis=1)


def planes(boards: Boards) -> NDArray[np.uint8]:
    """`uint8[k, 2, rows, columns]` what a seat sees: its own stones, and the other's."""
    return np.stack((boards == 1, boards == -1), axis=1).astype(np.uint8)


def from_planes(seen: NDArray[np.uint8]) -> Boards:
    """The boards that `planes` showed."""
    return seen[:, 0].astype(np.int8) - seen[:, 1].astype(np.int8)
