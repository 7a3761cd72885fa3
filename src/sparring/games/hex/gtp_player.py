"""A program that speaks GTP over its standard input and output as a player: MoHex, any HTP engine, `sparring gtp`.

The command is run without a shell. A program that ends, does not answer in time or answers nonsense loses the match;
the next match finds a fresh one. One that failed three matches on end is not started again, and loses the rest at once.

The clock is for thinking. Until its first move a program may also be loading or compiling: it has longer until then.
"""

import os
import queue
import shlex
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import IO

import numpy as np

from sparring.core import Answers, Decisions, Forfeit, Guest, InputError
from sparring.core.text import printable
from sparring.games.hex.course import Courses
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import COLOURS, format_play, mirrored, parse_move

_LONGEST_LINE = 10_000
_MOST_LINES = 1000
_STRIKES = 3
START_SECONDS = 60.0
"""That each answer may take until the first move, if a move may not take longer."""
_GRACE = 1.0
"""Seconds that a program has to end by itself."""


class Failure(Exception):
    """What a program did that loses the match."""


class GtpPlayer:
    """Asks one process about all matches, one after the other; see `core.Forfeiting`."""

    def __init__(self, settings: HexSettings, command: str, guest: Guest) -> None:
        self._size = settings.size
        self._command = _split(command)
        self._patience = guest.patience
        self._courses = Courses(settings.size)
        self._program: _Program | None = None
        self._told: list[int] = []
        """The moves on the program's board."""
        self._forfeits: dict[int, Forfeit] = {}
        self._strikes = 0

    def act(self, decisions: Decisions) -> Answers:
        """A move for each row; where there is none, any, and the match is lost."""
        action = np.empty(len(decisions), np.int32)
        for row, match in enumerate(decisions.match.tolist()):
            if decisions.first[row]:
                self._forfeits.pop(match, None)
            action[row] = int(decisions.legal[row].argmax())
            if match in self._forfeits:
                continue
            moves = self._courses.follow(decisions, row)
            try:
                move = self._ask(moves, int(decisions.seat[row]), decisions, row)
                action[row] = self._courses.play(decisions, row, move)
                self._strikes = 0
            except Failure as failure:
                self._strikes += 1
                self._forfeits[match] = Forfeit(printable(str(failure), 200), time.monotonic())
                self.close()
        return Answers(action=action)

    def forfeited(self, match: int) -> Forfeit | None:
        """See `core.Forfeiting`."""
        return self._forfeits.get(match)

    def close(self) -> None:
        """Ends the program."""
        if self._program is not None:
            self._program.close()
            self._program = None

    def _ask(self, moves: list[int], seat: int, decisions: Decisions, row: int) -> int:
        """The program's move after `moves`; raises `Failure`."""
        if self._strikes >= _STRIKES:
            raise Failure(f"failed in {_STRIKES} matches on end, and is not asked again")
        if self._program is None:
            self._program = _Program(self._command, self._patience)
            self._program.ask(f"boardsize {self._size}")
            self._told = []
        if moves[: len(self._told)] != self._told:
            self._program.ask("clear_board")
            self._told = []
        for turn in range(len(self._told), len(moves)):
            self._program.ask(format_play(self._size, turn % 2, moves[turn]))
        text = self._program.ask(f"genmove {COLOURS[seat]}")
        if text.lower() == "resign":
            raise Failure("resigned")
        try:
            move = parse_move(self._size, text)
        except InputError:
            raise Failure(f"answered {printable(text, 40)!r}, which is no move") from None
        action = move if seat == 0 else mirrored(self._size, move)
        if action >= decisions.legal.shape[1] or not decisions.legal[row, action]:
            raise Failure(f"answered {printable(text, 40)!r}, which is not legal")
        self._told = [*moves, move]
        return move


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"gtp:{command}: not a command ({str(error).lower()})") from None
    if not words:
        raise InputError("gtp: names no program; write gtp:COMMAND, in quotation marks if it has arguments")
    if shutil.which(words[0]) is None:
        raise InputError(f"gtp:{command}: no program {words[0]!r} on this machine")
    return words


class _Program:
    """A running program, in a process group of its own that ends with `close`."""

    def __init__(self, command: list[str], patience: float) -> None:
        self._patience = max(patience, START_SECONDS)
        self._patience_for_a_move = patience
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Failure(f"cannot be run: {error.strerror}") from error
        self._lines: queue.Queue[bytes] = queue.Queue(_MOST_LINES)
        self._said: deque[bytes] = deque(maxlen=1)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._listening = [
            Thread(target=_read, args=(pipe, keep), daemon=True)
            for pipe, keep in ((self._process.stdout, self._put), (self._process.stderr, self._said.append))
        ]
        for thread in self._listening:
            thread.start()

    def ask(self, command: str) -> str:
        """The text of the answer to one command; raises `Failure` if it is none, or says that something is wrong."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{command}\n".encode())
            self._process.stdin.flush()
        except OSError:
            raise Failure(f"ended before {command!r}{self._last_words()}") from None
        deadline, lines = time.monotonic() + self._patience, list[str]()
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise Failure(f"did not answer {command!r} in {self._patience:g} s") from None
            if not line:
                raise Failure(f"ended at {command!r}{self._last_words()}")
            text = line.decode("utf-8", "replace").strip()
            if text:
                lines.append(text)
            elif lines:
                break
            if len(lines) > _MOST_LINES:
                raise Failure(f"answered {command!r} without an end")
        if command.startswith("genmove"):
            self._patience = self._patience_for_a_move
        sign, text = lines[0][:1], lines[0][1:].strip()
        if sign == "?":
            raise Failure(f"refused {command!r}: {printable(text, 80)}")
        if sign != "=":
            raise Failure(f"answered {command!r} with {printable(lines[0], 40)!r}, which is no GTP")
        return text

    def close(self) -> None:
        """Ends the process and all it started."""
        if self._process.poll() is None:
            with suppress(OSError):
                assert self._process.stdin is not None
                self._process.stdin.write(b"quit\n")
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _put(self, line: bytes) -> None:
        with suppress(queue.Full):  # whoever says more than anyone reads has lost already
            self._lines.put_nowait(line)

    def _last_words(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
            self._listening[1].join(_GRACE)  # what it said may still be on its way
        code = self._process.poll()
        said = printable(self._said[-1].decode("utf-8", "replace"), 100) if self._said else ""
        return (f" with code {code}" if code is not None else "") + (f": {said}" if said else "")


def _read(pipe: IO[bytes], keep: Callable[[bytes], object]) -> None:
    """Hands over line by line; at last, an empty one on standard output."""
    with suppress(ValueError, OSError):
        while line := pipe.readline(_LONGEST_LINE):
            if line.strip() or getattr(keep, "__name__", "") == "_put":
                keep(line)
    if getattr(keep, "__name__", "") == "_put":
        keep(b"")
