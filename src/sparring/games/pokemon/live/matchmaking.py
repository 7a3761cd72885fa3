"""How a connection comes to its next battle: the ladder's search, a challenge, or other people's challenges.

A server lets a user have one search and one challenge at a time, and answers what it does not like with a popup. Most
popups mean "later" (too many battles, too soon); the others can't be waited away and end the run with their text.
"""

import re
from collections.abc import Callable
from time import monotonic
from typing import Literal

import msgspec

from sparring.core import InputError
from sparring.core.text import printable
from sparring.games.pokemon.formats import to_id

_HOPELESS = re.compile(
    r"rejected for the following reason|format is invalid|not ladderable|must register|or higher to|"
    r"barred from|banned|You are locked|can't battle yourself",
    re.IGNORECASE,
)
_DELAYS = (("every 3 minutes", 30.0), ("less than 10 seconds", 10.0), ("was not found", 3.0), ("restarting", 30.0))
_DELAY = 5.0
_ANSWER_SECONDS = 20.0
"""Without any word on a search, challenge or acceptance for so long, it is sent again."""
_BEGIN_SECONDS = 60.0
"""A battle that begins so long after we asked for one is taken for that one, whatever became of the question."""
_AFTER_CHALLENGE = 2.0
"""An accepted challenge vanishes a moment before its battle appears."""

_LONGEST_POPUP = 1000
_MOST_SAID = 20
"""Different popups that are shown; those after them are only obeyed."""
_MOST_CHALLENGERS = 100

Send = Callable[[str], None]


class _Searches(msgspec.Struct):
    """What `|updatesearch|` tells."""

    searching: list[str] | None = None


_SEARCHES = msgspec.json.Decoder(_Searches).decode


class Matchmaker:
    """Asks for battles in one format on one connection, one at a time."""

    def __init__(
        self,
        format: str,
        *,
        how: Literal["ladder", "challenge", "accept"],
        opponent: str = "",
        me: str,
        team: Callable[[], str],
        send: Send,
        say: Callable[[str], None],
    ) -> None:
        """`opponent`: whom to challenge, or whose challenges alone to accept; `team()` a packed team or `null`."""
        self._format, self._how, self._opponent, self._me = format, how, opponent, me
        self._team, self._send, self._say = team, send, say
        self._asked_at = 0.0
        self._expected_until = 0.0
        self._not_before = 0.0
        self._said: set[str] = set()
        self._challengers: list[str] = []
        self._waiting = False
        self._known = False
        """The server has said that it knows of our search or challenge."""
        self.heard = ""
        """The server's last popup."""
        self.most = 10**6
        """Battles the server lets us play at the same time, as far as it has told."""

    @property
    def waiting(self) -> bool:
        """A battle was asked for and has not begun."""
        return self._waiting

    @property
    def expects(self) -> bool:
        """A battle that begins now is one we asked for."""
        return self._waiting or monotonic() < self._expected_until

    def poll(self, running: int, wanted: int) -> None:
        """Asks for the next battle if `wanted` more may be played besides the `running` ones, and if it is time."""
        now = monotonic()
        if self._waiting and not self._known and now - self._asked_at > _ANSWER_SECONDS:
            self._waiting = False
        if self._waiting or wanted <= 0 or running >= self.most or now < self._not_before:
            return
        if self._how == "accept" and not self._challengers:
            return
        self._send(f"/utm {self._team()}")
        if self._how == "ladder":
            self._send(f"/search {self._format}")
        elif self._how == "challenge":
            self._send(f"/challenge {self._opponent}, {self._format}")
        else:
            self._send(f"/accept {self._challengers.pop(0)}")
        self._waiting, self._known, self._asked_at = True, False, now
        self._expected_until = now + _BEGIN_SECONDS

    def begun(self) -> None:
        """A battle began."""
        self._waiting = False
        self._not_before = self._expected_until = 0.0

    def forget(self) -> None:
        """The connection is new: searches and challenges of the old one are gone."""
        self._waiting = False
        self._challengers.clear()

    def withdraw(self) -> None:
        """No more battles: takes back what is still open."""
        if self._waiting and self._how == "ladder":
            self._send("/cancelsearch")
        elif self._waiting and self._how == "challenge":
            self._send(f"/cancelchallenge {self._opponent}")

    def read(self, line: str, running: int) -> None:
        """Takes a line that belongs to no room.

        Raises `InputError` if the server will never do what we ask, `ValueError` if the line makes no sense.
        """
        parts = line.split("|", 5)
        kind = parts[1] if len(parts) > 1 else ""
        if kind == "updatesearch" and self._how == "ladder" and self._waiting:
            searching = _SEARCHES(line.removeprefix("|updatesearch|")).searching or []
            if self._known and self._format not in searching:  # matched: its battle is about to begin
                self._asked_at = monotonic()
            self._known = self._format in searching
        elif kind == "pm" and len(parts) > 4 and parts[4].startswith("/challenge"):
            self._read_challenge(to_id(parts[2]), to_id(parts[3]), parts[4].removeprefix("/challenge").strip())
        elif kind == "popup":
            text = line.removeprefix("|popup|")[:_LONGEST_POPUP]
            self._read_popup(" ".join(part for part in text.split("|") if part and part != "html"), running)

    def _read_challenge(self, giver: str, taker: str, format: str) -> None:
        """`format` is empty when a challenge ends, whatever its end."""
        if giver == self._me:
            if self._how == "challenge" and self._waiting:
                self._known = bool(format)
                if not format:
                    self._waiting, self._not_before = False, monotonic() + _AFTER_CHALLENGE
            return
        if self._how != "accept" or (self._opponent and giver != to_id(self._opponent)):
            return
        if giver in self._challengers:
            self._challengers.remove(giver)
        if to_id(format) == self._format and taker == self._me:
            if len(self._challengers) < _MOST_CHALLENGERS:
                self._challengers.append(giver)
        elif format:
            self._send(f"/reject {giver}")

    def _read_popup(self, text: str, running: int) -> None:
        text = printable(re.sub(r"<[^>]*>", " ", text).replace("&quot;", '"'))
        self.heard = text
        if "already searching" in text:
            self._known = True
            return
        if _HOPELESS.search(text):
            raise InputError(f"the server says: {text}")
        if "games at the same time" in text:
            self.most = max(1, running)
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            self._say(f"the server says: {text}")
        if self._waiting:
            delay = next((seconds for sign, seconds in _DELAYS if sign in text), _DELAY)
            self._waiting, self._not_before = False, monotonic() + delay
