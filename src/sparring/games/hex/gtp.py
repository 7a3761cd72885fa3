"""Hex over GTP: the text protocol that HexGUI and tournament managers speak on standard input and output.

Every line is answered by `= text` or `? what is wrong`, and an empty line; nothing a client sends ends a session
but `quit`.
"""

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Protocol

from sparring.core import InputError, Player
from sparring.core.settings import convert
from sparring.games.hex.analysis import Searcher, analyse, position
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import COLOURS, cell_name, draw_board, parse_play, stones_after

_TIME_RESERVE = 0.5
"""Seconds of the clock that are left for the manager's own delays."""


class Analyst(Player, Searcher, Protocol):
    """A player that can say what it thinks; `MakeAnalyst` makes one for a board and a number of simulations."""


MakeAnalyst = Callable[[HexSettings, int], Analyst]


class GtpSession:
    """One client's session.

    Args:
        settings: the board to start with.
        make_analyst: makes the player for a board and a number of simulations.
        simulations: of a move, when the clock allows.
        name: what `name` answers.
        version: what `version` answers.
    """

    def __init__(
        self, settings: HexSettings, make_analyst: MakeAnalyst, *, simulations: int, name: str, version: str
    ) -> None:
        self.ended = False
        self._here = position(settings, ())
        self._make_analyst = make_analyst
        self._simulations = simulations
        self._name = name
        self._version = version
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
            "undo": self._undo,
            "showboard": self._showboard,
            "all_legal_moves": self._all_legal_moves,
            "final_score": self._final_score,
            "lz-analyze": self._lz_analyze,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
        }

    def answer(self, line: str) -> str | None:
        """The answer to one line, without the empty line after it; None if the line says nothing."""
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
        self._check_turn(seat)
        self._here = self._here.after(move)
        return ""

    def _genmove(self, words: list[str]) -> str:
        if len(words) != 1:
            raise InputError("genmove takes a colour: black or white")
        size = self._here.settings.size
        seat, _ = parse_play(size, f"play {words[0]} a1")
        self._check_turn(seat)
        simulations = self._affordable(seat)
        analyst = self._analyst(simulations)
        start = perf_counter()
        move = self._here.move(int(analyst.act(self._here.decisions()).action[0]))
        seconds = (perf_counter() - start) / simulations
        self._seconds_each = seconds if self._seconds_each == 0 else 0.5 * (self._seconds_each + seconds)
        self._here = self._here.after(move)
        return "swap-pieces" if move == size * size else cell_name(size, move)

    def _undo(self, words: list[str]) -> str:
        if not self._here.moves:
            raise InputError("cannot undo: no move has been played")
        self._here = position(self._here.settings, self._here.moves[:-1])
        return ""

    def _showboard(self, words: list[str]) -> str:
        size = self._here.settings.size
        return "\n" + draw_board(size, stones_after(size, self._here.moves))

    def _all_legal_moves(self, words: list[str]) -> str:
        size = self._here.settings.size
        legal = self._here.decisions().legal[0].nonzero()[0]
        names = ["swap-pieces" if a == size * size else cell_name(size, self._here.move(int(a))) for a in legal]
        return " ".join(sorted(names))

    def _final_score(self, words: list[str]) -> str:
        winner = self._here.winner
        if winner is None:
            raise InputError("cannot score: nobody has connected yet")
        return f"{'BW'[winner]}+"

    def _lz_analyze(self, words: list[str]) -> str:
        """Leela Zero's form: one `info` for each move looked at, win rates in ten-thousandths. Answered once."""
        for word in words:
            if not word.isdecimal():  # a number is the interval between two reports, of which there is one
                self._check_turn(parse_play(self._here.settings.size, f"play {word} a1")[0])
        found = analyse(self._here, self._analyst(self._simulations), seed=0)
        looked_at = [candidate for candidate in found["candidates"] if candidate["visits"]]
        return "\n" + " ".join(
            f"info move {candidate['move']} visits {candidate['visits']} winrate {5000 * (1 + candidate['value']):.0f} "
            f"prior {10_000 * candidate['policy']:.0f} order {order} pv {' '.join(candidate['line'])}"
            for order, candidate in enumerate(looked_at)
        )

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
        seat, _ = parse_play(self._here.settings.size, f"play {words[0]} a1")
        self._clock[seat] = float(_whole(words[1], "seconds")), _whole(words[2], "stones")
        return ""

    def _check_turn(self, seat: int) -> None:
        if seat != self._here.seat and self._here.winner is None:
            raise InputError(f"it is {COLOURS[self._here.seat]}'s turn; the colours move in turns, black first")

    def _affordable(self, seat: int) -> int:
        """Simulations that fit the clock: halved until the moves to come fit what is left."""
        simulations = self._simulations
        if seat not in self._clock or self._seconds_each == 0:
            return simulations
        left, stones = self._clock[seat]
        cells = self._here.settings.size**2
        moves = stones or max(1, (cells - len(self._here.moves)) // 4)
        while simulations > 1 and simulations * self._seconds_each * moves > left - _TIME_RESERVE:
            simulations //= 2
        return simulations


def serve(session: GtpSession, lines: Iterable[str]) -> Iterator[str]:
    """Answers line by line, as they go over the wire, until `quit` or the end of the input."""
    for line in lines:
        answer = session.answer(line)
        if answer is not None:
            yield answer + "\n\n"
        if session.ended:
            return


def _whole(word: str, what: str) -> int:
    if not word.isdecimal() or len(word) > 9:
        raise InputError(f"{word!r} is not {what}")
    return int(word)
