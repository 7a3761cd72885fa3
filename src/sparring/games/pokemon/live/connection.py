"""One WebSocket to one Showdown server: login, reconnecting, and sending no faster than the server allows.

A connection serves all battles on its server. What comes in is cut into (room, lines) and handed on; what goes out is
queued, choices before everything else. When the socket is lost the connection comes back by itself, as long as its
`patience` lasts, and logs in again; whoever listens is told, and joins its rooms again.
"""

import asyncio
import json
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable
from time import monotonic
from urllib.error import URLError
from urllib.parse import urlsplit

from sparring.core import InputError, RunError, optional
from sparring.games.pokemon.formats import to_id

with optional("playing on Showdown servers", extra="pokemon"):
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import InvalidURI, WebSocketException

LOGIN = "https://play.pokemonshowdown.com/action.php"
"""Where Showdown's own accounts log in."""
_PUBLIC_PACE = 0.65
"""Seconds between two messages of a user whom a public server does not trust more: it allows one every 0.6."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OPEN_SECONDS = 30.0
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0
_THROTTLED = ("message-throttle-notice", "too many lines", "typing too quickly")


class Account:
    """Who logs in, and how."""

    def __init__(self, name: str, *, password: str | None = None, login: str = LOGIN) -> None:
        """`login` is asked only if there is a password, and only over https (or on this machine)."""
        self.name = name
        self.id = to_id(name)
        self.login = login
        self._password = password
        if not self.id or len(self.id) > 18:
            raise InputError(f"--username {name!r}: 1 to 18 letters or digits")
        address = urlsplit(login)
        if password is not None and address.scheme != "https" and address.hostname not in _LOOPBACK:
            raise InputError(f"--login {login}: a password is sent over https only")

    def assertion(self, challenge: str) -> str:
        """The server's proof of who we are; empty without a password, which only open servers take."""
        if self._password is None:
            return ""
        form = {"act": "login", "name": self.name, "pass": self._password, "challstr": challenge}
        try:
            data = urllib.parse.urlencode(form).encode()
            with urllib.request.urlopen(urllib.request.Request(self.login, data), timeout=20) as answer:
                said = json.loads(answer.read().decode().removeprefix("]"))
        except (URLError, OSError, ValueError) as error:
            raise InputError(f"--login {self.login}: {error}") from error
        proof = said.get("assertion") if isinstance(said, dict) else None
        if not proof or proof.startswith(";;"):
            raise InputError(f"--login {self.login}: {self.name}: {(proof or ';;the password is wrong')[2:]}")
        return str(proof)


class Connection:
    """A logged-in user on one server, for as long as `run` runs.

    `hear(room, lines)` is called for every message, with room "" for what belongs to none; `online()` whenever
    the login has been confirmed, first and after every reconnect.
    """

    def __init__(
        self,
        address: str,
        account: Account,
        *,
        hear: Callable[[str, list[str]], None],
        online: Callable[[], None],
        say: Callable[[str], None],
        patience: float = 120.0,
    ) -> None:
        self.address = server_address(address)
        self.account = account
        self.up = False
        """Connected and logged in."""
        self.reconnects = 0
        self.throttled = 0
        self._hear, self._online, self._say = hear, online, say
        self._patience = patience
        self._pace = 0.0 if urlsplit(self.address).hostname in _LOOPBACK else _PUBLIC_PACE
        self._urgent: deque[str] = deque()
        self._later: deque[str] = deque()
        self._queued = asyncio.Event()
        self._socket: ClientConnection | None = None
        self._been_up = False
        self._refused = ""
        self._closing = False

    def send(self, room: str, text: str, *, urgent: bool = False) -> None:
        """Queues a message; dropped if the connection is lost before it leaves."""
        (self._urgent if urgent else self._later).append(f"{room}|{text}")
        self._queued.set()

    async def run(self) -> None:
        """Stays connected until `close`. Raises `InputError` if it never came up, `RunError` if it stays away."""
        wait, lost = _FIRST_WAIT, monotonic()
        while not self._closing:
            problem = await self._session()
            if self.up:
                self.up, wait, lost = False, _FIRST_WAIT, monotonic()
                if not self._closing:
                    self._say(f"{self.address}: connection lost ({problem}); connecting again")
            if self._closing:
                return
            if not self._been_up:
                raise InputError(f"{self.address}: {problem}")
            if monotonic() - lost > self._patience:
                raise RunError(f"{self.address}: away for {self._patience:.0f} s: {problem}")
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    async def close(self) -> None:
        """Sends what is queued, within a second or two, and closes the socket."""
        deadline = monotonic() + 2.0
        while self.up and (self._urgent or self._later) and monotonic() < deadline:
            await asyncio.sleep(0.02)
        self._closing = True
        if self._socket is not None:
            await self._socket.close()

    def abort(self) -> None:
        """Loses the socket, as when the network fails; the connection comes back by itself."""
        if self._socket is not None:
            self._socket.transport.abort()

    async def _session(self) -> str:
        """One socket from opening to its end; returns why it ended."""
        self._urgent.clear()
        self._later.clear()
        self._refused = ""
        sender: asyncio.Task[None] | None = None
        try:
            async with connect(self.address, max_size=2**24, open_timeout=_OPEN_SECONDS, ping_timeout=60) as socket:
                self._socket = socket
                sender = asyncio.create_task(self._send_all(socket))
                async for message in socket:
                    await self._read(str(message))
                    if self._refused:
                        return self._refused
                return "the server closed the connection"
        except InputError as error:  # of the login server
            if not self._been_up:
                raise
            return str(error)
        except TimeoutError:
            return f"no answer within {_OPEN_SECONDS:.0f} s"
        except (OSError, WebSocketException) as error:
            return _reason(error)
        finally:
            self._socket = None
            if sender is not None:
                sender.cancel()

    async def _send_all(self, socket: ClientConnection) -> None:
        while True:
            while self._urgent or self._later:
                await socket.send((self._urgent or self._later).popleft())
                if self._pace:
                    await asyncio.sleep(self._pace)
            self._queued.clear()
            await self._queued.wait()

    async def _read(self, message: str) -> None:
        room = ""
        if message.startswith(">"):
            head, _, message = message.partition("\n")
            room = head[1:].strip()
        lines = message.split("\n")
        if any(sign in message for sign in _THROTTLED):
            self.throttled += 1
            self._pace = max(_PUBLIC_PACE, min(2.0, 1.5 * self._pace))
        if not room:
            for line in lines:
                await self._read_global(line.split("|"))
        self._hear(room, lines)

    async def _read_global(self, parts: list[str]) -> None:
        kind = parts[1] if len(parts) > 1 else ""
        if kind == "challstr":
            proof = await asyncio.to_thread(self.account.assertion, "|".join(parts[2:]))
            self.send("", f"/trn {self.account.name},0,{proof}", urgent=True)
        elif kind == "nametaken":
            reason = parts[3] if len(parts) > 3 else "it is taken"
            self._refused = f"the name {self.account.name} is refused: {reason}"
        elif kind == "updateuser" and to_id(parts[2]) == self.account.id and parts[3] == "1" and not self.up:
            self.up = True
            self.reconnects += self._been_up
            self._been_up = True
            self._online()
        elif kind == "updateuser" and self.up and to_id(parts[2]) != self.account.id:
            self._refused = "the server took our name away"


def server_address(text: str) -> str:
    """A WebSocket address from what people write: `localhost:8000`, `ws://host:8000`, or the whole of it."""
    whole = text if "://" in text else f"ws://{text}"
    parts = urlsplit(whole)
    try:
        fits = parts.scheme in ("ws", "wss") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fits = False
    if not fits:
        raise InputError(f"--server {text}: not an address like ws://localhost:8000 or wss://host/showdown/websocket")
    return whole if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/showdown/websocket"


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidURI):
        return "not a WebSocket address"
    if isinstance(error, OSError):
        return f"cannot be reached ({error.strerror or error})"
    return str(error) or type(error).__name__
