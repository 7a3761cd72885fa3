"""A person at the terminal as a player: sees the board, types `c4`, `swap`, or a command such as `undo`."""

from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.text import Text

from sparring.core import Answers, Decisions, InputError
from sparring.core.by_hand import Course, Keyboard, Resigned, TakenBack
from sparring.core.text import printable
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import (
    CHAINED,
    SIGNS,
    Record,
    cell_name,
    draw_board,
    mirrored,
    parse_move,
    winning_chain,
    write_sgf,
)

_SIDES = ("You are X and connect top and bottom.", "You are O and connect left and right.")
_STYLES = {
    r"(?m)^ +[a-s]( [a-s])*$": "red",
    r"(?m)^ *\d+|\d+$": "blue",
    SIGNS[1]: "bold red",
    SIGNS[2]: "bold blue",
    CHAINED[1]: "bold reverse red",
    CHAINED[2]: "bold reverse blue",
    r"\.": "dim",
    rf"\[[{SIGNS[1]}{SIGNS[2]}]\]": "reverse",
}
"""What is coloured, where colours can be shown: stones, and the edges that each side connects."""
_HELP = {
    "c4": "put a stone on column c, row 4",
    "swap": "take over the first stone, as your first move in seat 1",
    "hint": "what your opponent would play in your place",
    "undo": "take back your last move and the answer to it",
    "resign": "give the match up",
    "quit": "leave; so does Ctrl-D",
}


def print_text(text: str) -> None:
    """Prints with stones coloured on a terminal, plainly elsewhere."""
    drawn = Text(text)
    if text.lstrip().startswith("a b"):  # a board
        for sign, style in _STYLES.items():
            drawn.highlight_regex(sign, style)
    Console(soft_wrap=True).print(drawn, highlight=False)


class HumanPlayer:
    """Asks for each row's move until it is legal. `EOFError` from `ask` (the end of the input) goes to the caller."""

    def __init__(
        self,
        settings: HexSettings,
        *,
        ask: Callable[[str], str] | None = None,
        tell: Callable[[str], None] = print_text,
    ) -> None:
        self._size = settings.size
        self._opening = settings.opening
        self._swap = settings.swap
        self._ask = ask or Keyboard()
        self._tell = tell
        self._course: Course | None = None
        self._told = 0
        """How many moves of the course have been told."""
        self._invited = False
        self._resigned = False

    def sit(self, course: Course) -> None:
        """From now on the last move is marked, and moves can be taken back."""
        self._course = course

    def show(self, decisions: Decisions, *, seat: int) -> None:
        """The rival's move, if it is new, and each row's board as it lies, whichever seat the person has."""
        last, moves = self._last_move(), self._moves()
        for row, mover in enumerate(decisions.seat.tolist()):
            planes = decisions.observation["planes"][row]
            black, white = (planes[0], planes[1]) if mover == 0 else (planes[1].T, planes[0].T)
            stones = (black + 2 * white).ravel().tolist()
            if self._course is not None and len(moves) > self._told and self._course.moves[-1][0] != seat:
                did = "swaps" if moves[-1] == self._size**2 else f"plays {cell_name(self._size, moves[-1])}"
                self._tell(f"\n{printable(self._course.rival)} {did}.")
            chains = [winning_chain(self._size, stones, colour) for colour in (0, 1)]
            for colour in (0, 1):
                if chains[colour]:
                    whose = "Your" if colour == seat else "Their"
                    self._tell(f"{whose} chain is complete; its stones are marked {CHAINED[1 + colour]}.")
            self._tell(draw_board(self._size, stones, last=last, chain=[*chains[0], *chains[1]]))
        self._told = len(moves)

    def act(self, decisions: Decisions) -> Answers:
        """One question a row."""
        action = np.empty(len(decisions), np.int32)
        for row, seat in enumerate(decisions.seat.tolist()):
            here = decisions.take(np.array([row]))
            self.show(here, seat=seat)
            self._tell(_SIDES[seat])
            action[row] = self._move(here)
        return Answers(action=action)

    def record(self, outcome: float | None) -> str:
        """The match as SGF."""
        assert self._course is not None
        if self._opening:
            raise InputError("--save: a match that begins with random opening stones cannot be kept as moves")
        seat = self._course.seat
        names = ["you", self._course.rival] if seat == 0 else [self._course.rival, "you"]
        winner = None if outcome is None else seat if outcome > 0 else 1 - seat
        moves = tuple(self._moves())
        return write_sgf(
            Record(self._size, moves, black=names[0], white=names[1], winner=winner, resigned=self._resigned)
        )

    def _moves(self) -> list[int]:
        """The moves of the match in the absolute frame."""
        moves = [] if self._course is None else self._course.moves
        return [action if seat == 0 else mirrored(self._size, action) for seat, action in moves]

    def _last_move(self) -> int | None:
        """The cell of the last stone laid; a swap lays the first stone anew."""
        moves = self._moves()
        if not moves:
            return None
        return mirrored(self._size, moves[0]) if moves[-1] == self._size**2 else moves[-1]

    def _move(self, here: Decisions) -> int:
        """The action, in the mover's frame, of the first legal move typed."""
        size, seat, legal = self._size, int(here.seat[0]), here.legal[0]
        swap_open = len(legal) > size * size and bool(legal[size * size])
        allowed = f"a free cell from a1 to {cell_name(size, size * size - 1)}" + (", or swap" if swap_open else "")
        if swap_open:
            self._tell("You may swap: their stone becomes yours, mirrored across the diagonal, and it is their turn.")
        if self._course is not None and not self._invited:
            self._tell("Type a cell such as c4, or help.")
            self._invited = True
        while True:
            text = self._ask("Your move, or swap: " if swap_open else "Your move: ")
            if self._command(text.strip().lower(), here):
                continue
            try:
                move = parse_move(size, text)
            except InputError:
                self._tell(f"{text.strip()!r} is no move; type {allowed}.")
                continue
            action = move if seat == 0 else mirrored(size, move)
            if action < len(legal) and legal[action]:
                return action
            name = cell_name(size, move)
            self._tell(f"{name} is {'not allowed now' if move == size * size else 'taken'}; type {allowed}.")

    def _command(self, word: str, here: Decisions) -> bool:
        """Whether `word` is a command, which is then carried out."""
        course, size = self._course, self._size
        if course is None:
            return False
        if word == "help":
            words = (word for word in _HELP if word != "swap" or self._swap)
            self._tell("\n".join(f"{word:8}{_HELP[word]}" for word in words))
        elif word == "hint":
            action = int(course.hint(here).action[0])
            move = action if here.seat[0] == 0 else mirrored(size, action)
            self._tell(f"{printable(course.rival)} would play {cell_name(size, move)}.")
        elif word == "undo" and course.undoable:
            self._tell("\nTaken back.")
            raise TakenBack
        elif word == "undo":
            self._tell("There is no move of yours to take back.")
        elif word == "resign":
            self._resigned = True
            self._tell("\nYou resigned.")
            raise Resigned
        elif word == "quit":
            raise EOFError
        else:
            return False
        return True


def human_player(settings: HexSettings, seed: int) -> HumanPlayer:
    """The built-in player `human`; whoever sits there needs no seed."""
    return HumanPlayer(settings)
