"""An independent Hex: plain Python, absolute frame, flood fill from scratch after every move. Slow and obvious."""


class ReferenceHex:
    def __init__(self, size: int, *, swap: bool = False) -> None:
        self.size = size
        self.swap = swap
        self.stones: dict[tuple[int, int], int] = {}
        self.moves = 0

    @property
    def seat(self) -> int:
        return self.moves % 2

    def cell(self, action: int) -> tuple[int, int]:
        """The absolute (row, column) of an action in the mover's frame."""
        row, column = divmod(action, self.size)
        return (row, column) if self.seat == 0 else (column, row)

    def legal(self) -> list[bool]:
        cells = [self.cell(action) not in self.stones for action in range(self.size**2)]
        return [*cells, self.moves == 1] if self.swap else cells

    def planes(self) -> list[list[list[int]]]:
        def plane(seat: int) -> list[list[int]]:
            return [
                [int(self.stones.get(self.cell(row * self.size + column)) == seat) for column in range(self.size)]
                for row in range(self.size)
            ]

        return [plane(self.seat), plane(1 - self.seat)]

    def play(self, action: int) -> None:
        if action == self.size**2:
            ((row, column),) = self.stones
            self.stones = {(column, row): 1}
        else:
            self.stones[self.cell(action)] = self.seat
        self.moves += 1

    def connected(self, seat: int) -> bool:
        """Whether a chain of the seat's stones joins its edges: rows for seat 0, columns for seat 1."""
        frontier = [place for place, owner in self.stones.items() if owner == seat and place[seat] == 0]
        seen = set(frontier)
        while frontier:
            row, column = frontier.pop()
            if (row, column)[seat] == self.size - 1:
                return True
            for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
                place = (row + down, column + right)
                if place not in seen and self.stones.get(place) == seat:
                    seen.add(place)
                    frontier.append(place)
        return False
