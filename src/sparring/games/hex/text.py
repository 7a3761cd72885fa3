"""Hex as text: cell names, drawn boards, SGF records and HTP-style moves, all in the absolute frame.

A move is a number as `HexArena.history` gives it: row * size + column for a cell, size * size for the swap.
Black is seat 0 (top and bottom), white is seat 1 (left and right); they move in turns, black first.
"""

import re

from sparring.core import InputError

COLOURS = ("black", "white")
_CELL = re.compile(r"([a-z])([1-9][0-9]?)")


def cell_name(size: int, move: int) -> str:
    """`a1` is the first column's first row; the number after the last cell is `swap`."""
    if move == size * size:
        return "swap"
    if not 0 <= move < size * size:
        raise InputError(f"{move} is no move on a {size}x{size} board; moves are 0 to {size * size}")
    row, column = divmod(move, size)
    return f"{chr(ord('a') + column)}{row + 1}"
