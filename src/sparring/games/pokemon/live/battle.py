"""One battle on a live server: room messages in, a row for the player when it must choose, messages out.

The tracker, the masks and the choice strings are those of the arena without a server. Nothing here touches a socket:
`read` takes the lines of a room message, `outbox` holds what must be sent to the room. Nothing here raises, whatever
the server says: a battle that can't be understood, or goes beyond its limits, fails, and says why.

When the connection was lost, the server sends the room's whole log again. The lines that were read before are skipped,
so that the tracker goes on where it stood; if they differ, or were never read, it is built anew from the log.
"""

import re
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core.text import printable
from sparring.games.pokemon.actions import ActionSpace
from sparring.games.pokemon.arena import AskListener
from sparring.games.pokemon.belief.seat import Believing
from sparring.games.pokemon.formats import Format, to_id
from sparring.games.pokemon.live.limits import Limits
from sparring.games.pokemon.requests import read_request
from sparring.games.pokemon.tracker import NEWS, Tracker

_ASIDE = frozenset(("request", "error", "sentchoice", "init", "title", "deinit", "noinit"))
"""Lines that are between the server and us, no part of the battle's log."""
_TALK = frozenset(
    (
        *("c", "c:", "chat", "j", "J", "join", "l", "L", "leave", "n", "N", "name", "unlink", "inactive"),
        *("inactiveoff", "raw", "html", "uhtml", "uhtmlchange", "askreg", "badge", "bigerror", "debug"),
    )
)
"""Lines of the people and clocks of a room, which no battle without a server has."""
_LATE = ("too late", "nothing to choose", "can't do anything")
_SHEETS_SECONDS = 10.0
"""How long team preview waits for the other side's word on open team sheets."""
_SECONDS_LEFT = re.compile(r"^(.+) has (\d+) seconds left")
_LONGEST_NAME = 30
_LONGEST_REASON = 200
_LONGEST_RATING = 200


class State(Enum):
    """Where a battle stands between the server and us."""

    WAITING = auto()
    """For the server: nothing is asked of us."""
    HELD = auto()
    """A request came whose lines are still to come: older servers send it first."""
    ASKED = auto()
    """For us: a request wants our choice."""
    LEAVING = auto()
    """We have forfeited, and only read how it ends."""
    OVER = auto()
    """It has an outcome."""
    FAILED = auto()
    """It counts for nothing; `LiveBattle.reason` says why."""


class LiveBattle:
    """A battle we play in one room, as far as the server has told it."""

    def __init__(
        self,
        room: str,
        me: str,
        *,
        format: Format,
        actions: ActionSpace,
        open_sheets: bool,
        believing: Believing | None = None,
        limits: Limits | None = None,
    ) -> None:
        """`me` is our user id; `open_sheets` what we answer if asked to show team sheets; `believing` adds `belief`."""
        self.room = room
        self.state = State.WAITING
        self.outbox: list[str] = []
        self.log: list[str] = []
        """The battle as we saw it."""
        self.number = 0
        """The number the server gave its last request."""
        self.tracker: Tracker | None = None
        self.outcome = 0.0
        """1 won, 0 drawn, -1 lost, once it is over."""
        self.reason = ""
        """Why it failed."""
        self.fault = ""
        """The traceback, if a message made something raise."""
        self.closed = False
        """The server no longer knows the room."""
        self.opponent = ""
        self.rows = 0
        self.invalid = 0
        """Choices the server called invalid: each one is a fault of ours."""
        self.unavailable = 0
        """Choices that a hidden effect forbade, which nobody could know; the server sends a new request."""
        self.late = 0
        """Choices that came after their turn had passed."""
        self.timed_out = False
        self.warnings = 0
        """Times the clock called our last seconds."""
        self.long_lines = 0
        """Lines left out because they were too long."""
        self.asked_at = monotonic()
        self._since = monotonic()
        """When the battle last asked us, or we it."""
        self._me, self._foe = me, ""
        """User ids."""
        self._format = format
        self._actions = actions
        self._open_sheets = open_sheets
        self._believing = believing
        self._limits = limits or Limits()
        self._legal = np.zeros(actions.actions, np.bool_)
        self._asked = 0
        """Times it asked us."""
        self._read = 0
        """Lines of the log that the tracker has read."""
        self._begun = False
        """The lines of the first request are there."""
        self._request: dict[str, Any] = {}
        """The last that asked us."""
        self._untold: list[str] = []
        """Lines that listeners have not been told."""
        self._anew = True
        """Listeners are to be told the battle from its beginning."""
        self._held: dict[str, Any] = {}
        """The request of `State.HELD`."""
        self._request_first = False
        self._whole = False
        """The next request comes after its lines on any server: it follows the room's whole log."""
        self._sheets_until = 0.0
        self._sheets_answered = False
        self._answered: tuple[int, str] = (-1, "")
        """The last request we answered and how."""
        self._action = -1
        self._refused: list[int] = []

    @property
    def over(self) -> bool:
        """It has an outcome."""
        return self.state is State.OVER

    @property
    def ended(self) -> bool:
        """It is over or has failed."""
        return self.state in (State.OVER, State.FAILED)

    @property
    def turn(self) -> int:
        """The turn, 0 before the first."""
        return 0 if self.tracker is None else self.tracker.turn

    @property
    def rated(self) -> bool:
        """Whether the ladder counts it."""
        return any(line.startswith("|rated") for line in self.log)

    def read(self, lines: list[str]) -> None:
        """Takes one message of the room."""
        if not self.ended:
            with self._contained():
                self._take_message(lines)

    def ready(self, now: float) -> bool:
        """Whether a row waits for our answer."""
        return self.state is State.ASKED and now >= self._sheets_until

    def mask(self, row: NDArray[np.bool_]) -> None:
        """Writes what is legal now into `row: bool[actions]`, without what the server has refused this turn."""
        row[:] = self._legal
        if self._refused:
            row[self._refused] = False
            if not row.any():
                row[:] = self._legal

    def tell(self, slot: int, listeners: Sequence[AskListener]) -> bool:
        """Tells `listeners` what led to the row that waits in `slot`; whether the battle still waits after that."""
        lines, self._untold = "\n".join(self._untold), []
        anew, self._anew = self._anew, False
        with self._contained():
            for told in listeners:
                told(slot, 0, anew, lines, self._request)
        return not self.ended

    def choose(self, action: int) -> None:
        """Answers the request that waits; nothing is sent if the battle ended or went on meanwhile."""
        if self.state is not State.ASKED or self.tracker is None:
            return
        with self._contained():
            choice = self._actions.choice(self.tracker.offer, action)
            if action in self._refused:  # all else was refused too
                choice = "default"
            self.state, self._since = State.WAITING, monotonic()
            self._action = action
            self._answered = (self.number, f"/choose {choice}|{self.number}")
            self.outbox.append(self._answered[1])

    def repeat(self) -> None:
        """Sends the last choice again: the server did not take the message."""
        if self._answered[1] and self._answered[0] == self.number and not self.ended:
            self.outbox.append(self._answered[1])

    def leave(self) -> bool:
        """Gives the battle up, if that was not done before: from now on only its end is read."""
        if self.ended or self.state is State.LEAVING:
            return False
        self.state = State.LEAVING
        return True

    def fail(self, reason: str) -> None:
        """Ends the battle without an outcome."""
        if not self.ended:
            self.state, self.reason = State.FAILED, printable(reason, _LONGEST_REASON)

    def check(self, now: float) -> None:
        """Fails if the server has kept us waiting for too long."""
        waits = self.state in (State.WAITING, State.HELD)
        if waits and now - self._since > self._limits.silence:
            self.fail(f"nothing was asked of us for {self._limits.silence:.0f} s")

    @contextmanager
    def _contained(self) -> Iterator[None]:
        """Whatever a message makes raise ends this battle, and no other."""
        try:
            yield
        except Exception as error:
            self.fault = traceback.format_exc()
            self.fail(f"a message that can't be read: {type(error).__name__}: {error}")

    def _take_message(self, lines: list[str]) -> None:
        kinds = [line.split("|", 2)[1] if line.startswith("|") else "" for line in lines]
        told = [line for line, kind in zip(lines, kinds, strict=True) if line and kind not in _ASIDE]
        short = [line for line in told if len(line) <= self._limits.line]
        self.long_lines += len(told) - len(short)
        if "init" in kinds:
            self._rejoin(short)
        else:
            self._take(short)
        for line, kind in zip(lines, kinds, strict=True):
            if kind == "request" and "sentchoice" not in kinds:
                self._take_request(line[len("|request|") :])
            elif kind == "error":
                self._take_error(line[len("|error|") :])
            elif kind in ("deinit", "noinit"):
                self.closed = True
                self.fail("the server closed the room")

    def _rejoin(self, log: list[str]) -> None:
        """The room's whole log: at the start, and again after every reconnect."""
        if self.state is not State.LEAVING:
            self.state = State.WAITING
        self._whole = self._begun = _begun(log)
        if self.tracker is not None:
            news = _news(log, self.log)
            if news is not None:
                self.log = log[: len(log) - len(news)]
                self._read = len(self.log)
                self._take(news)
                return
            self.tracker = None
        self.log, self._read = [], 0
        self._untold, self._anew = [], True
        self._take(log)

    def _take(self, lines: list[str]) -> None:
        self.log += lines
        self._untold += [line for line in lines if line.startswith("|") and line.split("|", 2)[1] not in _TALK]
        if len(self.log) > self._limits.log:
            self.fail(f"more than {self._limits.log:,} lines")
            return
        self._begun = self._begun or _begun(lines)
        self._digest(lines)
        if self.tracker is not None:
            self.tracker.lines(lines)
            self._read = len(self.log)
        if self.state is State.HELD and any(line == "|" or _tells(line) for line in lines):
            held, self._held = self._held, {}
            self._ask(held)

    def _digest(self, lines: list[str]) -> None:
        """What lines say besides the battle itself."""
        for line in lines:
            parts = line.split("|")
            kind = parts[1] if len(parts) > 1 else ""
            text = parts[2] if len(parts) > 2 else ""
            more = parts[3] if len(parts) > 3 else ""
            if kind == "player" and more and to_id(more) != self._me:
                self.opponent, self._foe = _user_name(more), to_id(more)
            elif kind == "win":
                self._win(text)
            elif kind == "tie":
                self._end(0.0)
            elif kind == "inactive":
                left = _SECONDS_LEFT.match(text)
                self.warnings += left is not None and to_id(left[1]) == self._me
            elif kind == "-message" and text.endswith(" lost due to inactivity."):
                self.timed_out = to_id(text.removesuffix(" lost due to inactivity.")) == self._me
            elif kind == "uhtml" and text == "otsrequest" and more:
                self._answer_sheets()
            elif kind == "showteam" or line.endswith("rejected open team sheets."):
                self._sheets_until = 0.0

    def _answer_sheets(self) -> None:
        if not self._sheets_answered:
            self._sheets_answered = True
            self.outbox.append("/acceptopenteamsheets" if self._open_sheets else "/rejectopenteamsheets")
            if self._open_sheets:
                self._sheets_until = monotonic() + _SHEETS_SECONDS

    def _take_request(self, text: str) -> None:
        if self.ended or self.state is State.LEAVING:
            return
        request = read_request(text, places=self._actions.active)
        whole, self._whole = self._whole, False
        if request is None:
            self.state = State.WAITING
            return
        if not self._begun:
            self._request_first = True
        if self._request_first and not whole and not request.get("update"):
            self.state, self._held = State.HELD, request
        else:
            self._ask(request)

    def _ask(self, request: dict[str, Any]) -> None:
        """A request whose lines have all been read: now the player must choose."""
        self.state = State.WAITING
        if self.tracker is None:
            side = request["side"]["id"]
            belief = None if self._believing is None else self._believing.seat(int(side == "p2"))
            self.tracker = Tracker(self._format.tables, side, showdown=self._format.showdown, belief=belief)
        self.tracker.lines(self.log[self._read :])
        self._read = len(self.log)
        self.number = request.get("rqid", 0)
        if self.number == self._answered[0] and self._answered[1]:  # it was lost with the connection
            self.outbox.append(self._answered[1])
            return
        self._request = request
        self.tracker.request(request)
        self._legal = self._actions.legal(self.tracker.offer)
        if not self._legal.any() or not np.isfinite(self.tracker.floats).all():
            self.fail("a request that can't be answered")
            return
        self._refused = []
        self._wait_for_us()

    def _wait_for_us(self) -> None:
        self.state = State.ASKED
        self.asked_at = self._since = monotonic()
        self._asked += 1
        if self._asked > self._limits.requests:
            self.fail(f"asked more than {self._limits.requests:,} times")

    def _take_error(self, text: str) -> None:
        if text.startswith("[Unavailable choice]"):
            self.unavailable += 1
        elif any(sign in text.lower() for sign in _LATE):
            self.late += 1
        elif text.startswith("[Invalid choice]") and self._action >= 0 and self.state is State.WAITING:
            self.invalid += 1
            self._refused.append(self._action)
            self._wait_for_us()

    def _win(self, name: str) -> None:
        winner = to_id(name)
        if winner == self._me:
            self._end(1.0)
        elif self._foe and winner != self._foe:
            self.fail(f"won by {name!r}, who does not play")
        else:
            self._end(-1.0)

    def _end(self, outcome: float) -> None:
        if not self.ended:
            self.state, self.outcome = State.OVER, outcome


def rating_told(line: str, me: str) -> int | None:
    """The new rating of user `me`, if `line` tells it: `|raw|Name's rating: 1000 &rarr; <strong>1020</strong>...`."""
    name, told, change = line.removeprefix("|raw|").partition("'s rating: ")
    if not told or to_id(name) != me:
        return None
    numbers = re.findall(r"\d{1,6}", re.sub(r"<[^>]*>|\([^)]*\)", "", change[:_LONGEST_RATING]))
    return int(numbers[-1]) if numbers else None


def _user_name(text: str) -> str:
    """A user's name, without what no name on Showdown has."""
    return re.sub(r"[\[\],]", "", printable(text, _LONGEST_NAME))


def _begun(log: list[str]) -> bool:
    """Whether the lines of the first request are there."""
    return any(line.startswith(("|turn|", "|teampreview", "|start")) for line in log)


def _tells(line: str) -> bool:
    """Whether a line is of the battle: no chat, no clocks, nobody coming or going."""
    return line.startswith("|") and line != "|" and line.split("|", 2)[1] not in NEWS


def _news(log: list[str], known: list[str]) -> list[str] | None:
    """What follows the last line that `known` has of the battle in `log`; None if they do not tell the same battle."""
    lines = iter(enumerate(log, start=1))
    end = 0
    for line in filter(_tells, known):
        end = next((number for number, other in lines if _tells(other)), 0)
        if not end or log[end - 1] != line:
            return None
    return log[end:]
