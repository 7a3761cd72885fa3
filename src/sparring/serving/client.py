"""The client side of the policy server: a player that asks it, and calls for its status and to reload.

A `RemotePlayer` repeats requests that are not answered, reconnects when the server comes back, and gives up with an
error that names the server. It brings its own random draws, so the same seed plays the same actions however
the server batches.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeVar

import numpy as np
import zmq
from numpy.typing import NDArray

from sparring.core import Answers, Decisions, GameSpec, InputError, RunError, check_argument
from sparring.core.ports import is_refused
from sparring.core.settings import Count
from sparring.serving.keys import ClientKey, secure_client
from sparring.serving.protocol import (
    PROTOCOL,
    Answer,
    Ask,
    Bye,
    FromClient,
    FromServer,
    Hello,
    ProtocolError,
    Refused,
    Reload,
    Reloaded,
    Report,
    RowLayout,
    Status,
    Unknown,
    Welcome,
    encode,
    read_server,
)

_REPEAT = 1.0
"""Seconds without an answer after which a request is sent again; doubled each time."""
_REPEAT_MOST = 8.0
_REFUSALS = 3
"""A new connection to this machine that is refused so often in a row, a second apart, is given up: nobody is there."""
_PING_MS = 2000
_SILENT_MS = 6000
"""After this long without an answer to its pings, either end considers the other gone."""

H = TypeVar("H", bound=FromServer)


@dataclass
class _Asked:
    """A request that has no answer yet."""

    rows: int
    frames: Sequence[bytes]
    sent: float
    sequence: int


@dataclass
class RemoteCounters:
    """What happened between a player and its server."""

    requests: int = 0
    repeated: int = 0
    """Requests sent again because no answer came."""
    hellos: int = 0
    """Sessions opened: 1, and one more each time the server had forgotten this player."""
    lost: int = 0
    """Rows in mid-match that were answered without their memory, after a server's restart."""
    waits: list[float] = field(default_factory=list)
    """Round trips in seconds, the newest 10,000 or so."""


class RemotePlayer:
    """Answers decisions by asking model `model` of the policy server at `address`.

    Args:
        address: `tcp://host:port`.
        model: the name it is served under.
        spec: of the rows that will be sent; the server refuses what the model cannot play.
        matches: of the arena it will play in.
        temperature: 1 plays the policy as trained, 0 its likeliest action.
        keep_policy: whether answers carry the whole distribution.
        seed: of the action draws.
        in_flight: requests that may be unanswered at the same time (see `submit`).
        key: needed if the server has one.
        timeout: seconds without any answer after which a call gives up.
    """

    def __init__(
        self,
        address: str,
        model: str,
        spec: GameSpec,
        *,
        matches: int,
        temperature: float = 1.0,
        keep_policy: bool = False,
        seed: int = 0,
        in_flight: int = 1,
        key: ClientKey | None = None,
        timeout: float = 60.0,
    ) -> None:
        if not isinstance(spec, GameSpec):
            raise InputError(f"spec = {spec!r}: allowed: a GameSpec, such as arena.spec")
        check_argument("matches", matches, Count)
        check_argument("in_flight", in_flight, Count)
        self.counters = RemoteCounters()
        self.model = model
        self.version = -1
        self._layout = RowLayout(spec)
        self._matches = matches
        self._temperature = temperature
        self._keep_policy = keep_policy
        self._rng = np.random.default_rng(seed)
        self._in_flight = in_flight
        self._line = _Line(address, key, timeout)
        self._session = 0
        self._next = self._next_sequence = 0
        self._pending: dict[int, _Asked] = {}
        self._answered: dict[int, Answers] = {}
        self._ended: list[NDArray[np.int32]] = []
        self._waited = 0.0
        try:
            self._most_rows = self._hello()
        except BaseException:
            self._line.close()
            raise

    def __repr__(self) -> str:
        about = "closed" if self._line.closed else f"version {self.version}"
        return f"<RemotePlayer: {self.model} at {self._line.address}, {about}>"

    def __enter__(self) -> "RemotePlayer":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def act(self, decisions: Decisions) -> Answers:
        """One request for all rows (several if there are more than the server takes at once)."""
        if len(decisions) <= self._most_rows:
            return self.collect(self.submit(decisions))
        pieces = [slice(at, at + self._most_rows) for at in range(0, len(decisions), self._most_rows)]
        parts = [self.collect(self.submit(decisions.take(rows))) for rows in pieces]
        return Answers.join(parts)

    def submit(self, decisions: Decisions) -> int:
        """Sends rows without waiting; pass the number returned to `collect`. At most `in_flight` may be unanswered."""
        self._check_open()
        if len(decisions) and (most := int(decisions.match.max())) >= self._matches:
            raise InputError(f"a row of match {most}: this player was made for matches = {self._matches}")
        if len(self._pending) >= self._in_flight:
            raise RuntimeError(f"{self._in_flight} requests are out already; collect one first, or raise in_flight")
        uniform = self._rng.random(len(decisions), np.float32)
        ended = np.concatenate(self._ended) if self._ended else np.empty(0, np.int32)
        self._ended.clear()
        self._pending[self._next] = asked = _Asked(
            rows=len(decisions),
            frames=self._layout.write_ask(decisions, uniform, ended),
            sent=monotonic(),
            sequence=self._next_sequence,
        )
        self._next += 1
        self._next_sequence += 1
        self.counters.requests += 1
        self._send(asked)
        return self._next - 1

    def collect(self, number: int) -> Answers:
        """The answer to the request that `submit` numbered; waits for it, repeats and reconnects as needed."""
        self._check_open()
        started = monotonic()
        pause = _REPEAT
        repeat_at = started + pause
        while number not in self._answered:
            message = self._line.receive(max(0.0, repeat_at - monotonic()))
            if message is not None:
                self._take(*message)
                continue
            self._line.check(started, f"answer of model {self.model}")
            for waiting in self._pending.values():
                self.counters.repeated += 1
                self._send(waiting)
            pause = min(2 * pause, _REPEAT_MOST)
            repeat_at = monotonic() + pause
        return self._answered.pop(number)

    def forget(self, matches: NDArray[np.int32]) -> None:
        """Notes that `matches: int32[n]` have ended; the server frees their memory with the next request."""
        seats = self._layout.spec.seats
        self._ended.append((matches[:, None] * seats + np.arange(seats, dtype=np.int32)).ravel().astype(np.int32))

    def close(self) -> None:
        """Frees this player's memory on the server and the connection; may be called twice."""
        if not self._line.closed:
            self._line.send([encode(Bye(session=self._session))])
        self._line.close()

    def _check_open(self) -> None:
        if self._line.closed:
            raise RunError(f"{self.model} at {self._line.address}: the player is closed")

    def _hello(self) -> int:
        """Opens a session; returns the most rows of a request."""
        spec = self._layout.spec
        hello = Hello(
            protocol=PROTOCOL,
            model=self.model,
            spec=replace(spec, vocabulary=None).to_json(),
            vocabulary="" if spec.vocabulary is None else spec.vocabulary.digest,
            slots=self._matches * spec.seats,
            in_flight=self._in_flight,
        )
        welcome = self._line.call(hello, Welcome, new=self.counters.hellos == 0)
        self.counters.hellos += 1
        self.version = welcome.version
        self._session = welcome.session
        for sequence, asked in enumerate(self._pending.values()):
            asked.sequence = sequence
        self._next_sequence = len(self._pending)
        return welcome.rows

    def _send(self, asked: _Asked) -> None:
        header = Ask(
            session=self._session,
            sequence=asked.sequence,
            rows=asked.rows,
            temperature=self._temperature,
            policy=self._keep_policy,
            waited=self._waited,
        )
        self._line.send([encode(header), *asked.frames])

    def _number(self, sequence: int) -> int | None:
        """The number of the open request that has `sequence` in this session."""
        return next((number for number, asked in self._pending.items() if asked.sequence == sequence), None)

    def _take(self, header: FromServer, frames: list[bytes]) -> None:
        match header:
            case Answer() if header.session == self._session:
                number = self._number(header.sequence)
                if number is None:
                    return  # a second answer to a repeated request
                asked = self._pending.pop(number)
                try:
                    answers = self._layout.read_answer(frames, asked.rows, policy=self._keep_policy)
                except ProtocolError as error:
                    raise RunError(f"policy server {self._line.address}: {error}") from error
                self._answered[number] = answers
                self.version = header.version
                self.counters.lost += header.lost
                self._waited = monotonic() - asked.sent
                waits = self.counters.waits
                waits.append(self._waited)
                if len(waits) > 20_000:
                    del waits[:10_000]
            case Unknown() if header.session == self._session:
                self._most_rows = self._hello()
                for asked in self._pending.values():
                    self._send(asked)
            case Refused():
                number = None if header.sequence is None else self._number(header.sequence)
                if number is not None:
                    del self._pending[number]
                raise RunError(f"policy server {self._line.address} refused a request: {header.reason}")
            case _:
                pass  # a probe, or an answer to a session that is over


class _Line:
    """A connection to a server at one address; ZMQ reconnects it by itself."""

    def __init__(self, address: str, key: ClientKey | None, timeout: float) -> None:
        self.address = address
        self._timeout = timeout
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 200)
        self._socket.setsockopt(zmq.ROUTING_ID, b"\x01" + secrets.token_bytes(16))
        self._socket.setsockopt(zmq.RECONNECT_IVL, 50)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        # pings come from ZMQ's own thread: a busy client still answers them, one whose machine is gone does not
        self._socket.setsockopt(zmq.HEARTBEAT_IVL, _PING_MS)
        self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, _SILENT_MS)
        self._socket.setsockopt(zmq.HEARTBEAT_TTL, _SILENT_MS)
        self._socket.setsockopt(zmq.TCP_MAXRT, 10_000)
        if key is not None:
            secure_client(self._socket, key)
        try:
            self._socket.connect(address)
        except zmq.ZMQError as error:
            self.close()
            raise InputError(f"server {address!r}: not an address like tcp://host:5555 ({error.strerror})") from error

    @property
    def closed(self) -> bool:
        return bool(self._socket.closed)

    def send(self, frames: Sequence[bytes]) -> None:
        """Queues a message. If the queue is full it is dropped, and will be repeated."""
        with suppress(zmq.Again):
            self._socket.send_multipart(frames, zmq.NOBLOCK)

    def receive(self, seconds: float) -> tuple[FromServer, list[bytes]] | None:
        """The next message, or None after `seconds`."""
        if not self._socket.poll(int(1000 * seconds)):
            return None
        header, *frames = self._socket.recv_multipart()
        try:
            return read_server(header), frames
        except ProtocolError as error:
            raise RunError(f"{self.address} does not speak as a policy server does: {error}") from error

    def call(self, request: FromClient, kind: type[H], *, new: bool) -> H:
        """Sends `request` until an answer of `kind` comes; `new` if the server was never heard from.

        Then an address at which nobody answers is the user's input, and an `InputError`.
        """
        started = monotonic()
        refusals = 0
        while True:
            self.send([encode(request)])
            repeat_at = monotonic() + _REPEAT
            while (left := repeat_at - monotonic()) > 0:
                message = self.receive(left)
                if message is None:
                    break
                if isinstance(message[0], kind):
                    return message[0]
                if isinstance(message[0], Refused):
                    raise InputError(f"policy server {self.address}: {message[0].reason}")
            self.check(started, f"answer to {type(request).__name__.lower()}", new=new)
            refusals = refusals + 1 if new and is_refused(self.address) else 0
            if refusals == _REFUSALS:
                raise InputError(f"policy server {self.address}: nobody listens there; `sparring serve` starts one")

    def check(self, started: float, what: str, *, new: bool = False) -> None:
        """Raises `RunError`, or `InputError` if the server is `new`, if the timeout has passed since `started`."""
        silent = monotonic() - started
        if silent >= self._timeout:
            failure = InputError if new else RunError
            raise failure(
                f"policy server {self.address}: no {what} for {silent:.0f} s; is it running, and is the key right?"
            )

    def close(self) -> None:
        self._socket.close()


def server_status(address: str, *, key: ClientKey | None = None, timeout: float = 5.0) -> Report:
    """Health and statistics of the server at `address`; raises `InputError` if it does not answer."""
    return _ask_once(address, Status(), Report, key, timeout)


def reload_model(address: str, model: str, *, key: ClientKey | None = None, timeout: float = 60.0) -> int:
    """Makes the server read `model` again from its folder; returns the version it serves now."""
    return _ask_once(address, Reload(model=model), Reloaded, key, timeout).version


def _ask_once(address: str, request: FromClient, kind: type[H], key: ClientKey | None, timeout: float) -> H:
    line = _Line(address, key, timeout)
    try:
        return line.call(request, kind, new=True)
    finally:
        line.close()
