"""Hex as text: cell names, drawn boards, HTP-style moves and SGF records, all in the absolute frame.

A move is a number as `HexArena.history` gives it: row * size + column for a cell, size * size for the swap.
Black is seat 0 (top and bottom), white is seat 1 (left and right); they move in turns, black first, unless it is said
who made each move. Stones that were set up are pairs of a seat and a cell.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sparring.core import InputError
from sparring.core.text import printable

COLOURS = ("black", "white")
SIGNS = (".", "X", "O")
"""How `draw_board` shows an empty cell, black and white."""
CHAINED = ("", "#", "@")
"""How it shows the stones of a chain that connects the edges of black, of white."""
_STEPS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
"""From a cell to its neighbours, in rows and columns."""
_SWAPS = ("swap", "swap-pieces")
_SETUP = ("AB", "AW")
"""The keys of stones that are set up, by their seat."""
_KEY = re.compile(r"[A-Z]+")
_VALUE = re.compile(r"\[((?:\\.|[^\]\\])*)\]", re.DOTALL)
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Record:
    """One match as a file keeps it."""

    size: int
    moves: tuple[int, ...]
    seats: tuple[int, ...] = ()
    """Who made each of `moves`; if left out, they were made in turns, black first."""
    setup: tuple[tuple[int, int], ...] = ()
    """The stones that lay there before them."""
    to_move: int | None = None
    """Who moves after them, None if the record does not say."""
    black: str = ""
    """The name of who played seat 0."""
    white: str = ""
    """The name of who played seat 1."""
    winner: int | None = None
    """The seat that won, None if the record does not say."""
    resigned: bool = False
    """The other seat gave the match up."""

    def __post_init__(self) -> None:
        if not self.seats:
            object.__setattr__(self, "seats", in_turns(len(self.moves)))

    def stones(self) -> list[int]:
        """The cells in the end; see `stones_after`."""
        return stones_after(self.size, self.moves, seats=self.seats, setup=self.setup)

    @property
    def seat(self) -> int:
        """Who moves in the end: as the record says, else the other one, else who has fewer stones."""
        if self.to_move is not None:
            return self.to_move
        if self.moves:
            return 1 - self.seats[-1]
        white = sum(seat for seat, _ in self.setup)
        return int(len(self.setup) > 2 * white)

    def before(self, number: int) -> "Record":
        """The record up to, and without, its move `number`, counted from 0; who made that move is then to move."""
        if number >= len(self.moves):
            return self
        return replace(self, moves=self.moves[:number], seats=self.seats[:number], to_move=self.seats[number])


def in_turns(moves: int) -> tuple[int, ...]:
    """Who makes each of so many moves, black first."""
    return tuple(number % 2 for number in range(moves))


def cell_name(size: int, move: int) -> str:
    """`a1` is the first column's first row; the number after the last cell is `swap`."""
    if move == size * size:
        return "swap"
    if not 0 <= move < size * size:
        raise InputError(f"{move} is no move on a {size}x{size} board; moves are 0 to {size * size}")
    row, column = divmod(move, size)
    return f"{chr(ord('a') + column)}{row + 1}"


def parse_move(size: int, text: str) -> int:
    """The move that `c4`, `swap` or `swap-pieces` names, in any case."""
    word = text.strip().lower()
    if word in _SWAPS:
        return size * size
    cell = re.fullmatch(r"([a-z])([1-9][0-9]?)", word)
    if cell:
        column, row = ord(cell[1]) - ord("a"), int(cell[2]) - 1
        if column < size and row < size:
            return row * size + column
    raise InputError(
        f"{printable(text, 40)!r} is no move; allowed are cells a1 to {cell_name(size, size * size - 1)}, and swap"
    )


def mirrored(size: int, move: int) -> int:
    """The cell across the diagonal; the swap stays what it is. Turns seat 1's actions into moves and back."""
    return move if move == size * size else move % size * size + move // size


def stones_after(
    size: int, moves: Sequence[int], *, seats: Sequence[int] | None = None, setup: Sequence[tuple[int, int]] = ()
) -> list[int]:
    """Cells as 0 (empty), 1 (black) or 2 (white) after `moves`; raises `InputError` naming a move that cannot be.

    `seats` made the moves, in turns if that is left out, on a board with the stones of `setup`.
    """
    stones = [0] * (size * size)
    for seat, cell in setup:
        name = cell_name(size, cell)
        if cell == size * size:
            raise InputError("a swap cannot be set up")
        if stones[cell]:
            raise InputError(f"{name} is set up twice")
        stones[cell] = 1 + seat
    movers = in_turns(len(moves)) if seats is None else seats
    for number, (seat, move) in enumerate(zip(movers, moves, strict=True)):
        if move == size * size:
            if number != 1 or setup or seat == movers[0]:
                raise InputError(
                    f"move {number + 1} is a swap; only the second move may be one, by the other side, without set-up"
                )
            stones[moves[0]], stones[mirrored(size, moves[0])] = 0, 1 + seat
            continue
        name = cell_name(size, move)
        if stones[move]:
            raise InputError(f"move {number + 1} is {name}, which {COLOURS[stones[move] - 1]} holds already")
        stones[move] = 1 + seat
    return stones


def winning_chain(size: int, stones: Sequence[int], seat: int) -> list[int]:
    """The fewest stones that connect the edges of `seat`, from one to the other; none if it has not connected them."""

    def along(cell: int) -> int:
        return cell // size if seat == 0 else cell % size

    reached: dict[int, list[int]] = {}
    """The way to each stone that is connected to the first edge."""
    for cell, stone in enumerate(stones):
        if stone == seat + 1 and along(cell) == 0:
            reached[cell] = [cell]
    waiting = list(reached)
    for cell in waiting:
        if along(cell) == size - 1:
            return reached[cell]
        row, column = divmod(cell, size)
        for down, right in _STEPS:
            beside = cell + down * size + right
            on_board = 0 <= row + down < size and 0 <= column + right < size
            if on_board and stones[beside] == seat + 1 and beside not in reached:
                reached[beside] = [*reached[cell], beside]
                waiting.append(beside)
    return []


def draw_board(size: int, stones: Sequence[int], *, last: int | None = None, chain: Sequence[int] = ()) -> str:
    """The board as a rhombus of `SIGNS`, leaning right as it goes down, with letters and numbers around it.

    The cell `last` is in brackets, and the stones of `chain` have signs of their own.
    """
    signs = [CHAINED[stone] if cell in chain else SIGNS[stone] for cell, stone in enumerate(stones)]
    letters = " ".join(chr(ord("a") + column) for column in range(size))
    lines = ["   " + letters]
    for row in range(size):
        cells = " ".join(signs[row * size : (row + 1) * size])
        if last is not None and last // size == row:
            at = 2 * (last % size) + 1
            cells = f" {cells} "
            cells = f"{cells[: at - 1]}[{cells[at]}]{cells[at + 2 :]}"
            lines.append(" " * row + f"{row + 1:>2} {cells} {row + 1}")
        else:
            lines.append(" " * row + f"{row + 1:>2}  {cells}  {row + 1}")
    lines.append(" " * (size + 4) + letters)
    return "\n".join(lines)


def format_play(size: int, seat: int, move: int) -> str:
    """An HTP command such as `play black c4` or `play white swap-pieces`."""
    return f"play {COLOURS[seat]} {_move_text(size, move)}"


def parse_play(size: int, text: str) -> tuple[int, int]:
    """(seat, move) of an HTP command; colours may be shortened to `b` and `w`."""
    words = text.split()
    if len(words) != 3 or words[0].lower() != "play":
        raise InputError(f"{text.strip()!r} is no play command; allowed is: play black|white CELL")
    return parse_colour(words[1]), parse_move(size, words[2])


def parse_colour(word: str) -> int:
    """The seat that `black`, `white`, `b` or `w` names, in any case."""
    for seat, colour in enumerate(COLOURS):
        if word.lower() in (colour, colour[0]):
            return seat
    raise InputError(f"{printable(word, 20)!r} is no colour; allowed are black and white")


def write_sgf(record: Record) -> str:
    """An SGF game (FF[4], GM[11]) of one line."""
    record.stones()  # raises if it cannot be
    size = record.size
    head = f"FF[4]GM[11]CA[UTF-8]SZ[{size}]"
    for key, name in (("PB", record.black), ("PW", record.white)):
        if name:
            head += f"{key}[{_escape(name)}]"
    if record.winner is not None:
        head += f"RE[{'BW'[record.winner]}+{'R' if record.resigned else ''}]"
    for seat, key in enumerate(_SETUP):
        cells = "".join(f"[{cell_name(size, cell)}]" for owner, cell in record.setup if owner == seat)
        head += cells and key + cells
    moves = "".join(
        f";{'BW'[seat]}[{_move_text(size, move)}]" for seat, move in zip(record.seats, record.moves, strict=True)
    )
    turn = "" if record.to_move is None else f"{';' if moves else ''}PL[{'BW'[record.to_move]}]"
    return f"(;{head}{moves}{turn})\n"


def read_sgf(text: str) -> Record:
    """The one game that `text` holds, without variations; else `InputError` with line and column.

    Stones may be set up before the first move, and the colours need not move in turns.
    """
    size = 0
    names = {"PB": "", "PW": ""}
    winner: int | None = None
    to_move: int | None = None
    resigned = False
    laid: list[tuple[int, str, int]] = []
    """Seat, cell and place of each stone that is set up: the size may come after them."""
    setup: list[tuple[int, int]] = []
    moves: list[int] = []
    seats: list[int] = []

    def lay() -> None:
        for seat, value, at in laid:
            try:
                setup.append((seat, parse_move(size, value)))
                stones_after(size, moves, seats=seats, setup=setup)
            except InputError as error:
                raise InputError(f"{_where(text, at)}: {error}") from None
        laid.clear()

    for key, value, at in _sgf_properties(text):
        if key == "GM" and value != "11":
            raise InputError(f"{_where(text, at)}: GM[{printable(value, 20)}] is not Hex; allowed is GM[11]")
        if key == "AE" or (key in _SETUP and moves):
            allowed = "allowed are AB and AW before the first move"
            raise InputError(f"{_where(text, at)}: this set-up ({key}) cannot be read; {allowed}")
        if key == "SZ":
            if len(value) > 2 or not value.isdecimal() or not 3 <= int(value) <= 19 or moves:
                allowed = "allowed is one size from 3 to 19, before the moves"
                raise InputError(f"{_where(text, at)}: SZ[{printable(value, 20)}]; {allowed}")
            size = int(value)
        elif key in names:
            names[key] = value
        elif key == "RE":
            winner = {"B": 0, "W": 1}.get(value[:1].upper())
            resigned = value[1:].upper() in ("+R", "+RESIGN")
        elif key in _SETUP:
            laid.append((_SETUP.index(key), value, at))
        elif key == "PL":
            try:
                to_move = parse_colour(value)
            except InputError as error:
                raise InputError(f"{_where(text, at)}: PL: {error}") from None
        elif key in ("B", "W"):
            if not size:
                raise InputError(
                    f"{_where(text, at)}: a move before the board's size; allowed is SZ[3] to SZ[19] first"
                )
            lay()
            try:
                moves.append(parse_move(size, value))
                seats.append("BW".index(key))
                stones_after(size, moves, seats=seats, setup=setup)
            except InputError as error:
                raise InputError(f"{_where(text, at)}: {error}") from None
            to_move = None
    if not size:
        raise InputError("the record has no board size; allowed is SZ[3] to SZ[19]")
    lay()
    return Record(
        size,
        tuple(moves),
        tuple(seats),
        setup=tuple(sorted(setup)),
        to_move=to_move,
        black=names["PB"],
        white=names["PW"],
        winner=winner,
        resigned=resigned,
    )


def load_sgf(path: Path) -> Record:
    """The game record in the file `path`; raises `InputError` that names it."""
    try:
        return read_sgf(path.read_text())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _sgf_properties(text: str) -> Iterator[tuple[str, str, int]]:
    """(key, value, position) of every property of a single line of nodes."""
    at = _skip(text, 0)
    if text[at : at + 1] != "(":
        raise InputError(f"{_where(text, at)}: expected ( at the start of a game")
    at = _skip(text, at + 1)
    if text[at : at + 1] != ";":
        raise InputError(f"{_where(text, at)}: expected ; at the start of a node")
    while True:
        sign = text[at : at + 1]
        if sign == ";":
            at = _skip(text, at + 1)
        elif sign == ")":
            at = _skip(text, at + 1)
            if at < len(text):
                raise InputError(f"{_where(text, at)}: text after the end of the game; allowed is one game")
            return
        elif sign == "(":
            raise InputError(f"{_where(text, at)}: variations cannot be read; allowed is one line of moves")
        else:
            key = _KEY.match(text, at)
            if not key:
                raise InputError(f"{_where(text, at)}: expected a property such as B[a1], a ; or the closing )")
            name, start = key[0], at
            at = _skip(text, key.end())
            if text[at : at + 1] != "[":
                raise InputError(f"{_where(text, at)}: expected [ after {name}")
            while text[at : at + 1] == "[":
                value = _VALUE.match(text, at)
                if not value:
                    raise InputError(f"{_where(text, at)}: the value of {name} has no closing ]")
                yield name, re.sub(r"\\(.)", r"\1", value[1], flags=re.DOTALL), start
                at = _skip(text, value.end())


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _where(text: str, at: int) -> str:
    line = text.count("\n", 0, at)
    return f"line {line + 1}, column {at - (text.rfind(chr(10), 0, at) + 1) + 1}"


def _move_text(size: int, move: int) -> str:
    return "swap-pieces" if move == size * size else cell_name(size, move)


def _escape(value: str) -> str:
    return re.sub(r"([\]\\])", r"\\\1", value)
