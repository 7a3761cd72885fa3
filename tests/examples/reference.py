"""Connect Four as one would first write it: one match, one stone at a time. The truth that the batched rules meet."""

import numpy as np


class Match:
    def __init__(self, rows=6, columns=7):
        self.grid = [[None] * columns for _ in range(rows)]
        self.moves = 0
        self.winner = None

    @property
    def seat(self):
        return self.moves % 2

    @property
    def legal(self):
        return [cell is None and not self.over for cell in self.grid[0]]

    @property
    def over(self):
        return self.winner is not None or all(cell is not None for cell in self.grid[0])

    def outcome(self, seat):
        return 0 if self.winner is None else 1 if self.winner == seat else -1

    def play(self, column):
        row = max(row for row, line in enumerate(self.grid) if line[column] is None)
        seat = self.seat
        self.grid[row][column] = seat
        self.moves += 1
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            if 1 + self._run(row, column, down, right) + self._run(row, column, -down, -right) >= 4:
                self.winner = seat
        return self

    def planes(self):
        """What the seat to move sees."""
        return np.array(
            [[[cell == seat for cell in line] for line in self.grid] for seat in (self.seat, 1 - self.seat)]
        )

    def _run(self, row, column, down, right):
        """Stones of the same seat that follow in one direction."""
        seat, length = self.grid[row][column], 0
        while True:
            row, column = row + down, column + right
            inside = 0 <= row < len(self.grid) and 0 <= column < len(self.grid[0])
            if not inside or self.grid[row][column] != seat:
                return length
            length += 1
