"""The course of matches as a player's rows show it: moves in order, for programs that must be told them one by one."""

import numpy as np

from sparring.core import Decisions
from sparring.games.hex.text import mirrored, stones_after


class Courses:
    """The moves of every match that a player sits in, in the absolute frame; see `text`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._moves: dict[tuple[int, int], list[int]] = {}

    def follow(self, decisions: Decisions, row: int) -> list[int]:
        """The moves that led to the position of a row. Stones that lay there at first come in any order of turns."""
        size, key = self._size, (int(decisions.match[row]), int(decisions.seat[row]))
        mine, others = decisions.observation["planes"][row]
        black, white = (mine, others) if key[1] == 0 else (others.T, mine.T)
        stones = (black + 2 * white).ravel().tolist()
        moves = [] if decisions.first[row] else self._moves.get(key, [])
        if not moves:
            moves = _interleaved(*(np.flatnonzero(colour.ravel()).tolist() for colour in (black, white)))
        elif len(moves) == 1 and stones == stones_after(size, [*moves, size * size]):
            moves = [*moves, size * size]
        else:
            before = stones_after(size, moves)
            moves = [*moves, *(cell for cell, stone in enumerate(stones) if stone != before[cell])]
        self._moves[key] = moves
        return moves

    def play(self, decisions: Decisions, row: int, move: int) -> int:
        """Notes the player's own move of a row; the action that it is."""
        key = (int(decisions.match[row]), int(decisions.seat[row]))
        self._moves[key] = [*self._moves[key], move]
        return move if key[1] == 0 else mirrored(self._size, move)


def _interleaved(black: list[int], white: list[int]) -> list[int]:
    """Stones in turns, black first."""
    return [(black, white)[turn % 2][turn // 2] for turn in range(len(black) + len(white))]
