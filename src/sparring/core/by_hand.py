"""A match that a person plays through the game's `human` player.

`human` is a player like any other. If it is also `Seated`, `Showing` or `Recording`, the person can follow the course
of the match, see how it ended and keep it.
"""

import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from sparring.core.decisions import Answers, Decisions


class Keyboard:
    """Asks a person at the terminal. What they typed before the first question is dropped: it answers nothing."""

    def __init__(self) -> None:
        self._asked = False

    def __call__(self, prompt: str) -> str:
        """The line that is typed after `prompt`; `EOFError` at the end of the input."""
        if not self._asked and sys.stdin.isatty():
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        self._asked = True
        return input(prompt)


class Resigned(Exception):
    """Raised in `act` by a seated player: the person gives the match up."""


class TakenBack(Exception):
    """Raised in `act` by a seated player: the match goes back to the person's previous decision."""


@dataclass
class Course:
    """The match so far."""

    seat: int
    """The person's."""
    rival: str
    """The name of the player in the other seats."""
    hint: Callable[[Decisions], Answers]
    """What the rival would do in the person's place."""
    moves: list[tuple[int, int]] = field(default_factory=list)
    """(seat, action) of every decision, in order."""
    undoable: int = 0
    """How many of the person's decisions can be taken back, one after the other."""


@runtime_checkable
class Seated(Protocol):
    """A person's player that follows the match, and may raise `Resigned`, or `TakenBack` if something is undoable."""

    def sit(self, course: Course) -> None:
        """Called before the first decision; `course` grows as the match is played."""
        ...


@runtime_checkable
class Showing(Protocol):
    """A person's player that can show a position without asking about it; needs a forward model to show the last."""

    def show(self, decisions: Decisions, *, seat: int) -> None:
        """Shows the rows' positions to the person in `seat`, whoever is to move."""
        ...


@runtime_checkable
class Recording(Seated, Protocol):
    """A person's player that writes the match down."""

    def record(self, outcome: float | None) -> str:
        """The match in a file format; `outcome` is the person's, None before the end."""
        ...
