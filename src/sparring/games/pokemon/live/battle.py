"""One battle on a live server: room messages in, a row for the player when it must choose, messages out.

The tracker, the masks and the choice strings are those of the arena without a server. Nothing here touches a socket:
`read` takes the lines of a room message, `outbox` holds what must be sent to the room.

When the connection was lost, the server sends the room's whole log again. The lines that were read before are skipped,
so that the tracker goes on where it stood; if they differ, or were never read, it is built anew from the log.
"""

import re
from time import monotonic
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.games.pokemon.actions import ActionSpace
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.tracker import NEWS, Tracker

_DECODE = msgspec.json.Decoder().decode
_ASIDE = frozenset(("request", "error", "sentchoice", "init", "title", "deinit", "noinit"))
"""Lines that are between the server and us, no part of the battle's log."""
_LATE = ("too late", "nothing to choose", "can't do anything")
_SHEETS_SECONDS = 10.0
"""How long team preview waits for the other side's word on open team sheets."""
_SECONDS_LEFT = re.compile(r"^(.+) has (\d+) seconds left")


class LiveBattle:
    """A battle we play in one room, as far as the server has told it."""

    def __init__(self, room: str, me: str, *, generation: int, actions: ActionSpace, open_sheets: bool) -> None:
        """`me` is our user id; `open_sheets` what we answer if asked to show team sheets."""
        self.room = room
        self.outbox: list[str] = []
        self.log: list[str] = []
        """The battle as we saw it."""
        self.request: dict[str, Any] = {}
        self.tracker: Tracker | None = None
        self.over = False
        self.outcome = 0.0
        """1 won, 0 drawn, -1 lost, once it is over."""
        self.lost_room = False
        """The server no longer knows the room: the battle counts for nothing."""
        self.given_up = False
        """We have forfeited."""
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
        self.asked_at = monotonic()
        self._me = me
        self._generation = generation
        self._actions = actions
        self._open_sheets = open_sheets
        self._read = 0
        """Lines of the log that the tracker has read."""
        self._held: dict[str, Any] | None = None
        """A request whose lines are still to come: older servers send it first."""
        self._request_first = False
        self._whole = False
        """The next request comes after its lines on any server: it follows the room's whole log."""
        self._waits = False
        self._sheets_until = 0.0
        self._answered: tuple[int, str] = (-1, "")
        """The last request we answered and how."""
        self._action = -1
        self._refused: list[int] = []

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
        kinds = [line.split("|", 2)[1] if line.startswith("|") else "" for line in lines]
        told = [line for line, kind in zip(lines, kinds, strict=True) if line and kind not in _ASIDE]
        if "init" in kinds:
            self._rejoin(told)
        else:
            self._take(told)
        for line, kind in zip(lines, kinds, strict=True):
            if kind == "request" and "sentchoice" not in kinds:
                self._take_request(line[len("|request|") :])
            elif kind == "error":
                self._take_error(line[len("|error|") :])
            elif kind in ("deinit", "noinit") and not self.over:
                self.lost_room = True

    def ready(self, now: float) -> bool:
        """Whether a row waits for our answer."""
        return self._waits and not self.over and now >= self._sheets_until

    def mask(self, row: NDArray[np.bool_]) -> None:
        """Writes what is legal now into `row: bool[actions]`, without what the server has refused this turn."""
        assert self.tracker is not None
        self._actions.mask(self.request, self.tracker.team_order, row)
        if self._refused:
            left = row.copy()
            left[self._refused] = False
            if left.any():
                row[:] = left

    def choose(self, action: int) -> None:
        """Answers the request that waits; nothing is sent if the battle ended or went on meanwhile."""
        if not self._waits or self.over or self.tracker is None:
            return
        number = int(self.request.get("rqid", 0))
        choice = self._actions.choice(self.request, self.tracker.team_order, action)
        if action in self._refused:  # all else was refused too
            choice = "default"
        self._waits = False
        self._action = action
        self._answered = (number, f"/choose {choice}|{number}")
        self.outbox.append(self._answered[1])

    def repeat(self) -> None:
        """Sends the last choice again: the server did not take the message."""
        if self._answered[1] and self._answered[0] == self.request.get("rqid") and not self.over:
            self.outbox.append(self._answered[1])

    def _rejoin(self, log: list[str]) -> None:
        """The room's whole log: at the start, and again after every reconnect."""
        self._held, self._waits = None, False
        self._whole = _begun(log)
        if self.tracker is not None:
            news = _news(log, self.log)
            if news is not None:
                self.log = log[: len(log) - len(news)]
                self._read = len(self.log)
                self._take(news)
                return
            self.tracker = None
        self.log, self._read = [], 0
        self._take(log)

    def _take(self, lines: list[str]) -> None:
        self.log += lines
        self._digest(lines)
        if self.tracker is not None:
            self.tracker.lines(lines)
            self._read = len(self.log)
        if self._held is not None and any(line == "|" or _tells(line) for line in lines):
            self._ask(self._held)

    def _digest(self, lines: list[str]) -> None:
        """What lines say besides the battle itself."""
        for line in lines:
            parts = line.split("|")
            kind = parts[1] if len(parts) > 1 else ""
            if kind == "player" and len(parts) > 3 and parts[3] and to_id(parts[3]) != self._me:
                self.opponent = parts[3]
            elif kind == "win":
                self._end(1.0 if to_id(parts[2]) == self._me else -1.0)
            elif kind == "tie":
                self._end(0.0)
            elif kind == "inactive":
                left = _SECONDS_LEFT.match(parts[2])
                self.warnings += left is not None and to_id(left[1]) == self._me
            elif kind == "-message" and parts[2].endswith(" lost due to inactivity."):
                self.timed_out = to_id(parts[2].removesuffix(" lost due to inactivity.")) == self._me
            elif kind == "uhtml" and parts[2] == "otsrequest" and len(parts) > 3 and parts[3]:
                self._answer_sheets()
            elif kind == "showteam" or line.endswith("rejected open team sheets."):
                self._sheets_until = 0.0

    def _answer_sheets(self) -> None:
        self.outbox.append("/acceptopenteamsheets" if self._open_sheets else "/rejectopenteamsheets")
        if self._open_sheets:
            self._sheets_until = monotonic() + _SHEETS_SECONDS

    def _take_request(self, text: str) -> None:
        request = _DECODE(text) if text and text != "null" else None
        whole, self._whole = self._whole, False
        if request is None or request.get("wait"):
            self._waits, self._held = False, None
            return
        if not _begun(self.log):
            self._request_first = True
        if self._request_first and not whole and not request.get("update"):
            self._held = request
        else:
            self._ask(request)

    def _ask(self, request: dict[str, Any]) -> None:
        """A request whose lines have all been read: now the player must choose."""
        self._held = None
        if self.tracker is None:
            self.tracker = Tracker(self._generation, request["side"]["id"])
        self.tracker.lines(self.log[self._read :])
        self._read = len(self.log)
        self.request = request
        number = int(request.get("rqid", 0))
        if number == self._answered[0] and self._answered[1]:  # the answer was lost with the connection
            self.outbox.append(self._answered[1])
            return
        self.tracker.request(request)
        self._refused = []
        self._waits = True
        self.asked_at = monotonic()

    def _take_error(self, text: str) -> None:
        if text.startswith("[Unavailable choice]"):
            self.unavailable += 1
        elif any(sign in text.lower() for sign in _LATE):
            self.late += 1
        elif text.startswith("[Invalid choice]") and self._action >= 0:
            self.invalid += 1
            self._refused.append(self._action)
            self._waits = True

    def _end(self, outcome: float) -> None:
        self.over, self.outcome, self._waits, self._held = True, outcome, False, None


def rating_told(line: str, me: str) -> int | None:
    """The new rating of user `me`, if `line` tells it: `|raw|Name's rating: 1000 &rarr; <strong>1020</strong>...`."""
    name, told, change = line.removeprefix("|raw|").partition("'s rating: ")
    if not told or to_id(name) != me:
        return None
    numbers = re.findall(r"\d+", re.sub(r"<[^>]*>|\([^)]*\)", "", change))
    return int(numbers[-1]) if numbers else None


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
