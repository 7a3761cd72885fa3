"""One WebSocket to one Showdown server: login, reconnecting, and sending no faster than the server allows.

A connection serves all battles on its server. What comes in is cut into (room, lines) and handed on; what goes out is
queued, choices before everything else. When the socket is lost the connection comes back by itself, as long as its
`patience` lasts, and logs in again; whoever listens is told, and joins its rooms again. A message that can't be read is
counted and left out.
"""

import asyncio
import json
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable
from http.client import HTTPException
from time import monotonic
from urllib.parse import urlsplit

from sparring.core import InputError, RunError, optional
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.live.limits import Limits

with optional("playing on Showdown servers", extra="pokemon"):
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import InvalidURI, WebSocketException

LOGIN = "https://play.pokemonshowdown.com/action.php"
"""Where Showdown's own accounts log in."""
_PUBLIC_PACE = 0.65
"""Seconds between two messages of a user whom a public server does not trust more: it allows one every 0.6."""
_SLOWEST_PACE = 2.0
_SLOWER = 1.5
_RECOVERY_SECONDS = 60.0
"""After so long without a complaint the pace goes one step back to what it was."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OPEN_SECONDS = 30.0
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0
_THROTTLED = ('|raw|<strong class="message-throttle-notice">', "|popup|You're sending too many lines at once")
_BYTES_A_CHARACTER = 4
_LONGEST_LOGIN_ANSWER = 2**20


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
                said = json.loads(answer.read(_LONGEST_LOGIN_ANSWER).decode().removeprefix("]"))
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise InputError(f"--login {self.login}: {error}") from error
        proof = said.get("assertion") if isinstance(said, dict) else None
        if not isinstance(proof, str) or not proof or "\n" in proof:
            proof = ";;the password is wrong"
        if proof.startswith(";;"):
            raise InputError(f"--login {self.login}: {self.name}: {proof[2:]}")
        return proof


class Pace:
    """Seconds between two messages: more whenever the server complains, and as before when it no longer does."""

    def __init__(self, usual: float) -> None:
        self._usual = self._seconds = usual
        self._changed = 0.0

    def seconds(self, now: float) -> float:
        """The pace at the time `now`."""
        while self._seconds > self._usual and now - self._changed >= _RECOVERY_SECONDS:
            self._changed += _RECOVERY_SECONDS
            slower = self._seconds > _PUBLIC_PACE
            self._seconds = max(_PUBLIC_PACE, self._seconds / _SLOWER) if slower else self._usual
        return self._seconds

    def slow_down(self, now: float) -> None:
        """The server says that we are too fast."""
        self._seconds = max(_PUBLIC_PACE, min(_SLOWEST_PACE, _SLOWER * self.seconds(now)))
        self._changed = now


class Connection:
    """A logged-in user on one server, for as long as `run` runs.

    `hear(room, lines)` is called for every message, with room "" for what belongs to none, and `overlong(room)` instead
    for one beyond the limit; `online()` whenever the login has been confirmed, first and after every reconnect.
    """

    def __init__(
        self,
        address: str,
        account: Account,
        *,
        hear: Callable[[str, list[str]], None],
        overlong: Callable[[str], None],
        online: Callable[[], None],
        say: Callable[[str], None],
        limits: Limits,
        patience: float = 120.0,
    ) -> None:
        self.address = server_address(address)
        self.account = account
        self.up = False
        """Connected and logged in."""
        self.reconnects = 0
        self.throttled = 0
        self.malformed = 0
        """Messages and lines that could not be read."""
        self._hear, self._overlong, self._online, self._say = hear, overlong, online, say
        self._limits = limits
        self._patience = patience
        self._pace = Pace(0.0 if urlsplit(self.address).hostname in _LOOPBACK else _PUBLIC_PACE)
        self._urgent: deque[str] = deque()
        self._later: deque[str] = deque()
        self._queued = asyncio.Event()
        self._socket: ClientConnection | None = None
        self._been_up = False
        self._challenged = False
        """The server has asked this session who we are."""
        self._refused = ""
        self._closing = False

    def send(self, room: str, text: str, *, urgent: bool = False) -> None:
        """Queues a message; dropped if the connection is lost before it leaves, or too many wait already."""
        if not urgent and len(self._later) >= self._limits.queue:
            return
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

    def skip(self, error: Exception) -> None:
        """Counts what could not be read; the first of it is told."""
        self.malformed += 1
        if self.malformed == 1:
            self._say(f"{self.address}: a message that can't be read is left out: {type(error).__name__}: {error}")

    def abort(self) -> None:
        """Loses the socket, as when the network fails; the connection comes back by itself."""
        if self._socket is not None:
            self._socket.transport.abort()

    async def _session(self) -> str:
        """One socket from opening to its end; returns why it ended."""
        self._urgent.clear()
        self._later.clear()
        self._refused, self._challenged = "", False
        sender: asyncio.Task[None] | None = None
        try:
            most = _BYTES_A_CHARACTER * self._limits.message
            async with connect(self.address, max_size=most, open_timeout=_OPEN_SECONDS, ping_timeout=60) as socket:
                self._socket = socket
                sender = asyncio.create_task(self._send_all(socket))
                async for message in socket:
                    try:
                        await self._read(message)
                    except InputError:  # of the login server
                        raise
                    except Exception as error:
                        self.skip(error)
                    if self._refused:
                        return self._refused
                return "the server closed the connection"
        except InputError as error:
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
                pace = self._pace.seconds(monotonic())
                if pace:
                    await asyncio.sleep(pace)
            self._queued.clear()
            await self._queued.wait()

    async def _read(self, message: str | bytes) -> None:
        """Takes one message; whatever it holds, the connection and its other battles go on."""
        if isinstance(message, bytes):
            raise ValueError("binary data")
        room = ""
        if message.startswith(">"):
            head, _, message = message.partition("\n")
            room = head[1:].strip()
        if len(message) > self._limits.message:
            self.malformed += 1
            self._overlong(room)
            return
        lines = message.split("\n")
        if any(throttles(line) for line in lines):
            self.throttled += 1
            self._pace.slow_down(monotonic())
        if not room:
            for line in lines:
                await self._read_global(line.split("|"))
        self._hear(room, lines)

    async def _read_global(self, parts: list[str]) -> None:
        kind = parts[1] if len(parts) > 1 else ""
        if kind == "challstr" and not self._challenged:
            self._challenged = True
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


def throttles(line: str) -> bool:
    """Whether a line is the server's own notice that we send too fast; what people say in chat never is."""
    return line.startswith(_THROTTLED)


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


def page_address(server: str) -> str | None:
    """Where people reach a server of this machine with a browser; None for others, whose pages may be anywhere.

    The page that lies there goes on to Showdown's own, which connects back to the server.
    """
    parts = urlsplit(server_address(server))
    return f"http://localhost:{parts.port or 80}" if parts.hostname in _LOOPBACK else None


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidURI):
        return "not a WebSocket address"
    if isinstance(error, OSError):
        return f"cannot be reached ({error.strerror or error}); `sparring showdown` starts a server on this machine"
    return str(error) or type(error).__name__
