"""Hex over GTP: the text protocol that HexGUI and tournament managers speak on standard input and output.

Every line is answered by `= text` or `? what is wrong`, and an empty line; nothing a client sends ends a session
but `quit`. Colours may play in any order: that is how clients set positions up. An analysis goes on until the client
sends something more.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Protocol

from sparring.core import InputError, Player
from sparring.core.settings import convert
from sparring.games.hex.analysis import Position, Searcher, position
from sparring.games.hex.gtp_reports import Form, Waiting, katago, leela_zero, read_request, reports
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import COLOURS, cell_name, draw_board, load_sgf, parse_colour, parse_play

_TIME_RESERVE = 0.5
"""Seconds of the clock that are left for the manager's own delays."""


class Analyst(Player, Searcher, Protocol):
    """A player that can say what it thinks; `MakeAnalyst` makes one for a board and a number of simulations."""


MakeAnalyst = Callable[[HexSettings, int], Analyst]

_MOST_SIMULATIONS = 50_000
"""After so many an analysis only waits for the next command: trees have to fit into memory."""
_HEXGUI_MENU = "plist/Legal moves/all_legal_moves %c\nvarc/Best move/reg_genmove %c\nstring/Winner/final_score"
"""What HexGUI offers among its analysing commands: a kind of answer, a title and a command; %c is the colour."""


class Client(Protocol):
    """Who sends the lines; see `core.lines.Lines`."""

    def __iter__(self) -> Iterator[str]: ...

    def waiting(self, *, block: bool = False) -> bool:
        """Whether a line, or the end of them, can be read at once; with `block` it waits until that is so."""
        ...


class GtpSession:
    """One client's session.

    Args:
        settings: the board to start with.
        make_analyst: makes the player for a board and a number of simulations.
        simulations: of a move, when the clock allows.
        name: what `name` answers.
        version: what `version` answers.
        thinking: the context in which the player looks for a move.
    """

    def __init__(
        self,
        settings: HexSettings,
        make_analyst: MakeAnalyst,
        *,
        simulations: int,
        name: str,
        version: str,
        thinking: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.ended = False
        self.goes_on: Callable[[Waiting], Iterator[str]] | None = None
        """What the last answer goes on to say, line by line."""
        self._here = position(settings, ())
        self._make_analyst = make_analyst
        self._simulations = simulations
        self._name = name
        self._version = version
        self._thinking = thinking
        self._analysts: dict[tuple[HexSettings, int], Analyst] = {}
        self._clock: dict[int, tuple[float, int]] = {}
        self._seconds_each = 0.0
        self._commands: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda words: "2",
            "name": lambda words: self._name,
            "version": lambda words: self._version,
            "known_command": self._known_command,
            "list_commands": lambda words: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": self._undo,
            "loadsgf": self._loadsgf,
            "showboard": self._showboard,
            "all_legal_moves": self._all_legal_moves,
            "final_score": self._final_score,
            "lz-analyze": lambda words: self._analyze(words, leela_zero),
            "lz-genmove_analyze": lambda words: self._genmove_analyze(words, leela_zero),
            "kata-analyze": lambda words: self._analyze(words, katago),
            "kata-genmove_analyze": lambda words: self._genmove_analyze(words, katago),
            "hexgui-analyze_commands": lambda words: _HEXGUI_MENU,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
        }

    def answer(self, line: str) -> str | None:
        """The answer to one line, without the empty line after it; None if the line says nothing."""
        self.goes_on = None
        text = "".join(sign for sign in line.split("#")[0].replace("\t", " ") if sign.isprintable()).strip()
        if not text:
            return None
        words = text.split()
        number = words.pop(0) if words[0].isdecimal() else ""
        if not words:
            return f"?{number} no command"
        command = self._commands.get(words[0])
        if command is None:
            return f"?{number} unknown command: {words[0]}"
        try:
            return f"={number} {command(words[1:])}".rstrip()
        except InputError as error:
            return f"?{number} {error}"

    def _known_command(self, words: list[str]) -> str:
        return "true" if len(words) == 1 and words[0] in self._commands else "false"

    def _quit(self, words: list[str]) -> str:
        self.ended = True
        return ""

    def _boardsize(self, words: list[str]) -> str:
        sizes = {_whole(word, "a board size") for word in words}
        if len(sizes) != 1 or len(words) > 2:
            raise InputError("boardsize takes one size, 3 to 19, or the same size twice")
        rules = {"size": sizes.pop(), "swap": self._here.settings.swap}
        self._here = position(convert(rules, HexSettings, where="boardsize"), ())
        return ""

    def _clear_board(self, words: list[str]) -> str:
        self._here = position(self._here.settings, ())
        return ""

    def _play(self, words: list[str]) -> str:
        seat, move = parse_play(self._here.settings.size, " ".join(["play", *words]))
        self._here = self._here.as_seen_by(seat).after(move)
        return ""

    def _genmove(self, words: list[str]) -> str:
        here = self._asked_for("genmove", words)
        move = self._choose(here)
        self._here = here.after(move)
        return self._named(move)

    def _reg_genmove(self, words: list[str]) -> str:
        return self._named(self._choose(self._asked_for("reg_genmove", words)))

    def _asked_for(self, command: str, words: list[str]) -> Position:
        """The position, with the colour to move that is the one word after a command."""
        if len(words) != 1:
            raise InputError(f"{command} takes a colour: black or white")
        return self._here.as_seen_by(parse_colour(words[0]))

    def _choose(self, here: Position) -> int:
        """The player's move, in as many simulations as the clock allows."""
        simulations = self._affordable(here.seat)
        analyst = self._analyst(simulations)
        start = perf_counter()
        with self._thinking():
            move = here.move(int(analyst.act(here.decisions()).action[0]))
        self._note_pace(start, simulations)
        return move

    def _named(self, move: int) -> str:
        size = self._here.settings.size
        return "swap-pieces" if move == size * size else cell_name(size, move)

    def _undo(self, words: list[str]) -> str:
        self._here = self._here.undone()
        return ""

    def _loadsgf(self, words: list[str]) -> str:
        """A file's whole record or, if the last word is a number, what was played before that move."""
        if not words:
            raise InputError(
                "loadsgf takes a file and, if not all of it is meant, the number of the move to stop before"
            )
        number = _whole(words.pop(), "a move number") if len(words) > 1 and words[-1].isdecimal() else None
        record = load_sgf(Path(" ".join(words)))
        if number == 0:
            raise InputError("moves are counted from 1")
        if number is not None:
            record = record.before(number - 1)
        swap = self._here.settings.swap or record.size**2 in record.moves
        self._here = Position(HexSettings(size=record.size, swap=swap), record, record.seat)
        return ""

    def _showboard(self, words: list[str]) -> str:
        return "\n" + draw_board(self._here.settings.size, self._here.record.stones())

    def _all_legal_moves(self, words: list[str]) -> str:
        here = self._asked_for("all_legal_moves", words) if words else self._here
        legal = here.decisions().legal[0].nonzero()[0]
        return " ".join(sorted(self._named(here.move(int(action))) for action in legal))

    def _final_score(self, words: list[str]) -> str:
        winner = self._here.winner
        if winner is None:
            raise InputError("cannot score: nobody has connected yet")
        return f"{'BW'[winner]}+"

    def _analyze(self, words: list[str], form: Form) -> str:
        """Reports until the client sends something more."""
        request = read_request(words, seat=self._here.seat)
        here, analyst = self._here.as_seen_by(request.seat), self._analyst(self._simulations)

        def go_on(waiting: Waiting) -> Iterator[str]:
            yield from reports(here, analyst, request, form, simulations=_MOST_SIMULATIONS, stopped=waiting)
            waiting(block=True)

        self.goes_on = go_on
        return ""

    def _genmove_analyze(self, words: list[str], form: Form) -> str:
        """Reports until it has found its move, which it plays."""
        request = read_request(words, seat=self._here.seat)
        simulations = self._affordable(request.seat)
        here, analyst = self._here.as_seen_by(request.seat), self._analyst(simulations)

        def go_on(waiting: Waiting) -> Iterator[str]:
            start = perf_counter()
            yield from reports(here, analyst, request, form, simulations=simulations)
            self._note_pace(start, simulations)
            move = here.move(int(analyst.found(0).action[0]))
            self._here = here.after(move)
            yield f"play {self._named(move)}"

        self.goes_on = go_on
        return ""

    def _analyst(self, simulations: int) -> Analyst:
        """The player for the present board; raises `InputError` if the match is over."""
        if self._here.winner is not None:
            raise InputError(f"the match is over: {COLOURS[self._here.winner]} has won")
        key = (self._here.settings, simulations)
        if key not in self._analysts:
            self._analysts[key] = self._make_analyst(*key)
        return self._analysts[key]

    def _time_settings(self, words: list[str]) -> str:
        if len(words) != 3:
            raise InputError("time_settings takes main time, byo-yomi time and byo-yomi stones")
        main, byo, stones = (_whole(word, "a number of seconds or stones") for word in words)
        self._clock = {} if stones == 0 and byo > 0 else {seat: (float(main or byo), stones) for seat in (0, 1)}
        return ""

    def _time_left(self, words: list[str]) -> str:
        if len(words) != 3:
            raise InputError("time_left takes a colour, seconds and stones")
        self._clock[parse_colour(words[0])] = float(_whole(words[1], "seconds")), _whole(words[2], "stones")
        return ""

    def _note_pace(self, start: float, simulations: int) -> None:
        seconds = (perf_counter() - start) / simulations
        self._seconds_each = seconds if self._seconds_each == 0 else 0.5 * (self._seconds_each + seconds)

    def _affordable(self, seat: int) -> int:
        """Simulations that fit the clock: halved until the moves to come fit what is left."""
        simulations = self._simulations
        if seat not in self._clock or self._seconds_each == 0:
            return simulations
        left, stones = self._clock[seat]
        cells = self._here.settings.size**2
        moves = stones or max(1, (cells - len(self._here.record.moves)) // 4)
        while simulations > 1 and simulations * self._seconds_each * moves > left - _TIME_RESERVE:
            simulations //= 2
        return simulations


def serve(session: GtpSession, client: Client) -> Iterator[str]:
    """The answers as they go over the wire, piece by piece, until `quit` or the end of the input."""
    for line in client:
        answer = session.answer(line)
        if answer is not None:
            yield answer + "\n"
            if session.goes_on is not None:
                for report in session.goes_on(client.waiting):
                    yield report + "\n"
            yield "\n"
        if session.ended:
            return


def _whole(word: str, what: str) -> int:
    if not word.isdecimal() or len(word) > 9:
        raise InputError(f"{word!r} is not {what}")
    return int(word)
