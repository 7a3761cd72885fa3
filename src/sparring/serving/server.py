"""The policy server: one copy of each network answers every client in true batches, and keeps their memory.

One thread receives, runs forward passes and sends; while a forward runs, requests pile up in ZMQ's own thread
and make the next batch. Checkpoints are read in a thread beside it and swapped in between two forwards.

No message can end the server: what cannot be handled is refused and counted. ZMQ's options serve the same end. With a
finite receive high-water mark libzmq 4.3.5 aborts the process when a peer floods it, pings it and resets; with
heartbeats from the server it does so even without the ping. So there are neither: clients ping the server, and
`connections` bounds what has not been read yet.
"""

import math
import os
import secrets
from collections.abc import Callable, Sequence
from select import select
from time import monotonic

import msgspec
import zmq

from sparring.core import GameSpec, InputError
from sparring.core.ports import listening_refused
from sparring.inference.device import Device
from sparring.serving.batching import Request
from sparring.serving.connections import Connections, most_connections
from sparring.serving.keys import ServerKey, check_bind, secure_server
from sparring.serving.models import ModelSource
from sparring.serving.protocol import (
    PROTOCOL,
    Ask,
    Bye,
    FromServer,
    Hello,
    Probe,
    ProtocolError,
    Refused,
    Reload,
    Report,
    Status,
    Unknown,
    Welcome,
    encode,
    read_client,
)
from sparring.serving.reloading import Reloads
from sparring.serving.served import ServedModel
from sparring.serving.sessions import Session
from sparring.serving.statistics import Notices, Rate

_TICK = 1.0
"""Seconds between two rounds of housekeeping."""
_PROBE_AFTER = 2.0
"""Seconds of silence after which the server checks whether a client is still connected."""
_MESSAGES_AT_ONCE = 512
"""Messages read before the next forward pass, so that a flood cannot keep the server from answering."""
_REFUSALS = 1000
"""Messages of one client that are refused between two rounds of housekeeping; the rest are discarded unread."""
_FRAMES = 3
"""The most frames of a message, after the client's own."""
_MESSAGE_BYTES = 8 << 20
"""The most bytes of a frame: rows of requests are limited so that they fit."""
_IDLE = 10.0
"""Seconds of silence after which a client makes room for a new one, if the server is full."""
_REPORT_AGE = 0.05
"""Seconds for which a report is reused."""


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a server batches, and how much it takes from its clients."""

    batch_size: int = 32
    """Rows at which a batch is full."""
    timeout: float = 0.05
    """Seconds after which a request is answered in any case."""
    slots: int = 8192
    """Memory slots of each model: matches times seats of all clients together."""
    rows: int = 4096
    """The most rows of one request."""
    in_flight: int = 16
    """The most unanswered requests of one client."""
    clients: int = 1024
    """The most clients; a new one takes the place of one that is idle."""
    stored: int = 64 << 20
    """The most bytes of answers kept in case they are asked for again."""
    growth: int = 128 << 20
    """Bytes by which the process may grow before the busiest connection is cut; see `connections`."""
    silence: float = 30.0
    """Seconds after which a client whose connection is gone loses its memory."""
    watch: bool = False
    """Whether to read a model again when its folder gets a new checkpoint."""


class PolicyServer:
    """Serves `models` on `tcp://host:port` (port 0 takes any free one) until `run`'s caller says stop."""

    def __init__(
        self,
        models: Sequence[ModelSource],
        *,
        device: Device,
        settings: ServerSettings,
        host: str = "127.0.0.1",
        port: int = 5555,
        key: ServerKey | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        check_bind(host, key)
        self._settings = settings
        self._say = say
        self.models = {
            source.name: ServedModel(
                source,
                device=device,
                slots=settings.slots,
                batch_size=settings.batch_size,
                timeout=settings.timeout,
            )
            for source in models
        }
        self._sessions: dict[bytes, tuple[ServedModel, Session]] = {}
        self._started = monotonic()
        self._refused = 0
        self._refusals: dict[bytes, int] = {}
        self._notices = Notices(say)
        self._rate = Rate()
        self._stored = 0
        self._last_report: tuple[float, bytes] = (-_REPORT_AGE, b"")
        self._reloads = Reloads(say)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._authenticator = secure_server(self._socket, key) if key is not None else None
        most = most_connections(2 * settings.clients)
        self._connections = Connections(self._socket, most=most, growth=settings.growth, say=say)
        self._open(host, port)

    def _open(self, host: str, port: int) -> None:
        socket = self._socket
        socket.setsockopt(zmq.MAXMSGSIZE, _MESSAGE_BYTES + 65536)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        socket.setsockopt(zmq.LINGER, 200)
        socket.setsockopt(zmq.RCVHWM, 0)
        socket.setsockopt(zmq.SNDHWM, 2 * self._settings.in_flight)
        socket.setsockopt(zmq.HANDSHAKE_IVL, 10_000)
        socket.setsockopt(zmq.TCP_MAXRT, 10_000)
        try:
            socket.bind(f"tcp://{host}:{port or '*'}")
        except zmq.ZMQError as error:
            self.close()
            reason = os.strerror(error.errno or 0)  # zmq's own words name the address again
            raise listening_refused(host, port, reason) from error
        self._connections.start(int(self.address.rsplit(":", 1)[1]))

    @property
    def address(self) -> str:
        """Where clients connect."""
        return self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def run(self, stopping: Callable[[], bool]) -> None:
        """Answers until `stopping()`, which is checked at least five times a second."""
        handle = int(self._socket.fd)
        next_tick = monotonic()
        while not stopping():
            now = monotonic()
            if now >= next_tick:
                self._housekeeping(now)
                next_tick = now + _TICK
            more = self._receive()
            now = monotonic()
            waiting = sorted((m for m in self.models.values() if len(m.batcher)), key=lambda m: m.batcher.oldest)
            patience = 0.2
            for model in waiting:
                patience = min(patience, model.patience(now))
                if patience == 0.0:
                    self._answer(model)
                    break
            if patience > 0.0 and not more:  # the handle does not signal messages that arrived earlier
                select([handle], [], [], patience)

    def close(self) -> None:
        """Frees the port; may be called twice."""
        if not self._socket.closed:
            self._connections.close()
        self._socket.close()
        if self._authenticator is not None:
            self._authenticator.stop()
            self._authenticator = None
        self._context.term()

    def report(self) -> Report:
        """Health and statistics."""
        return Report(
            protocol=PROTOCOL,
            uptime=monotonic() - self._started,
            requests_per_second=self._rate.per_second,
            refused=self._refused,
            models={name: model.report() for name, model in self.models.items()},
        )

    def _receive(self) -> bool:
        """Reads what has arrived; true if there may be more."""
        for _ in range(_MESSAGES_AT_ONCE):
            try:
                client, *frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return False
            if self._refusals.get(client, 0) >= _REFUSALS:
                self._refused += 1
                continue
            try:
                self._handle(client, frames)
            except ProtocolError as error:
                self._refuse(client, str(error))
            except Exception as error:  # a bug of ours must not end the server for everyone
                self._refuse(client, f"this message cannot be handled: {type(error).__name__}: {error}")
        return True

    def _handle(self, client: bytes, frames: list[bytes]) -> None:
        if not 1 <= len(frames) <= _FRAMES:
            raise ProtocolError(f"a message has 1 to {_FRAMES} frames, not {len(frames)}")
        header = read_client(frames[0])
        known = self._sessions.get(client)
        if known is not None:
            known[1].heard, known[1].reachable = monotonic(), True
        match header:
            case Ask():
                if known is None or known[1].number != header.session:
                    self._send(client, [encode(Unknown(session=header.session))])
                else:
                    self._ask(*known, header, frames[1:])
            case Hello():
                self._hello(client, header)
            case Bye():
                if known is not None and known[1].number == header.session:
                    self._forget(*known)
            case Status():
                self._send(client, [self._fresh_report()])
            case Reload():
                self._reloads.ask(self._model(header.model), client)

    def _fresh_report(self) -> bytes:
        """A recent report as a frame: asking for one is cheap, making one is not."""
        now = monotonic()
        if now - self._last_report[0] >= _REPORT_AGE:
            self._last_report = now, encode(self.report())
        return self._last_report[1]

    def _hello(self, client: bytes, hello: Hello) -> None:
        limits = self._settings
        if hello.protocol != PROTOCOL:
            return self._refuse(client, f"protocol {hello.protocol}: this server speaks {PROTOCOL}")
        model = self._model(hello.model)
        try:
            reason = model.refusal(GameSpec.from_json(hello.spec), hello.vocabulary)
        except InputError as error:
            reason = str(error)
        if reason is not None:
            return self._refuse(client, reason)
        if hello.slots > limits.slots or hello.in_flight > limits.in_flight:
            most = f"at most {limits.slots} slots and {limits.in_flight} requests in flight"
            return self._refuse(client, f"{hello.slots} slots, {hello.in_flight} in flight: this server allows {most}")
        known = self._sessions.get(client)
        if known is not None:
            if known[0] is model and known[1].next_sequence == 0 and known[1].slots == hello.slots:
                return self._welcome(*known)  # the same hello again
            self._forget(*known)
        elif len(self._sessions) >= limits.clients and not self._make_place():
            return self._refuse(client, f"this server has {limits.clients} clients and takes no more")
        session = Session(
            client=client,
            number=secrets.randbits(62),
            slots=hello.slots,
            in_flight=hello.in_flight,
            heard=monotonic(),
        )
        self._sessions[client] = model, session
        model.sessions[client] = session
        self._welcome(model, session)

    def _model(self, name: str) -> ServedModel:
        if name not in self.models:
            raise ProtocolError(f"no model {name!r}; this server has: {', '.join(self.models)}")
        return self.models[name]

    def _make_place(self) -> bool:
        """Forgets a client that never asked, or else the one silent longest; false if none is idle."""
        known = min(self._sessions.values(), key=lambda known: (known[1].next_sequence > 0, known[1].heard))
        if known[1].next_sequence > 0 and monotonic() - known[1].heard < _IDLE:
            return False
        self._forget(*known)
        return True

    def _most_rows(self, model: ServedModel) -> int:
        """The most rows of a request to `model`, so that neither it nor its answer exceeds a frame."""
        return max(1, min(self._settings.rows, _MESSAGE_BYTES // model.layout.row_bytes))

    def _welcome(self, model: ServedModel, session: Session) -> None:
        self._tell(
            session.client,
            Welcome(session=session.number, version=model.version, rows=self._most_rows(model)),
        )

    def _ask(self, model: ServedModel, session: Session, ask: Ask, frames: list[bytes]) -> None:
        if ask.sequence != session.next_sequence:
            return self._ask_again(model, session, ask.sequence)
        if len(session.open) >= session.in_flight:
            raise ProtocolError(f"more than {session.in_flight} requests in flight")
        session.next_sequence += 1
        session.open.add(ask.sequence)
        model.counters.requests += 1
        try:
            if ask.rows > self._most_rows(model):
                raise ProtocolError(f"{ask.rows} rows; this server takes {self._most_rows(model)} at once")
            if not math.isfinite(ask.temperature) or not math.isfinite(ask.waited):
                raise ProtocolError("temperature and waited must be finite")
            rows, ended = model.layout.read_ask(frames, ask.rows, session.slots)
        except ProtocolError as error:
            self._note_refusal(str(error))
            self._settle(session, ask.sequence, [encode(Refused(sequence=ask.sequence, reason=str(error)[:500]))])
            return
        if ask.waited > 0:
            model.counters.latency.add(ask.waited)
        model.batcher.add(Request(session, ask, rows, ended, monotonic()))

    def _ask_again(self, model: ServedModel, session: Session, sequence: int) -> None:
        """A request out of order: answered from what is stored, or ignored until the client repeats the missing one."""
        stored = session.answers.get(sequence)
        if stored is not None:
            model.counters.repeated += 1
            self._send(session.client, stored)
        elif 0 < session.next_sequence - sequence <= session.in_flight and sequence not in session.open:
            self._forget(model, session)  # its answer was dropped to save memory: it must start a new session
            self._tell(session.client, Unknown(session=session.number))

    def _answer(self, model: ServedModel) -> None:
        """Runs one batch of `model` and sends the answers."""
        start = monotonic()
        batch = model.batcher.take()
        try:
            replies = model.answer(batch)
        except Exception as error:  # a bug of ours: these requests are refused, the server goes on
            reason = f"this request cannot be answered: {type(error).__name__}: {error}"
            self._note_refusal(reason)
            replies = [(one, [encode(Refused(sequence=one.ask.sequence, reason=reason[:500]))]) for one in batch]
        for request, frames in replies:
            self._settle(request.session, request.ask.sequence, frames)
        model.batcher.ran(monotonic() - start)

    def _settle(self, session: Session, sequence: int, frames: list[bytes]) -> None:
        self._stored -= session.answer_bytes
        session.keep_answer(sequence, frames)
        self._stored += session.answer_bytes
        while self._stored > self._settings.stored:
            largest = max((known[1] for known in self._sessions.values()), key=lambda one: one.answer_bytes)
            self._stored -= largest.answer_bytes
            largest.drop_answer()
            self._stored += largest.answer_bytes
        self._send(session.client, frames)

    def _forget(self, model: ServedModel, session: Session) -> None:
        del self._sessions[session.client]
        self._stored -= session.answer_bytes
        model.forget(session)

    def _housekeeping(self, now: float) -> None:
        self._rate.tick(now, sum(model.counters.requests for model in self.models.values()))
        for model, session in list(self._sessions.values()):
            silent = now - session.heard
            if silent >= _PROBE_AFTER:
                session.reachable = self._tell(session.client, Probe())
                if not session.reachable and silent >= self._settings.silence:
                    self._forget(model, session)
        if self._settings.watch:
            for model in self.models.values():
                self._reloads.watch(model)
        for clients, reply in self._reloads.finish():
            for client in clients:
                self._tell(client, reply)
        self._notices.tick(now)
        self._refusals.clear()

    def _refuse(self, client: bytes, reason: str) -> None:
        self._refusals[client] = self._refusals.get(client, 0) + 1
        self._note_refusal(reason)
        self._tell(client, Refused(reason=reason[:500]))

    def _note_refusal(self, reason: str) -> None:
        self._refused += 1
        self._notices.add(reason)

    def _tell(self, client: bytes, header: FromServer) -> bool:
        return self._send(client, [encode(header)])

    def _send(self, client: bytes, frames: list[bytes]) -> bool:
        """Sends without waiting; false if the client's connection is gone. A client that does not read misses it."""
        for _ in range(2):
            try:
                self._socket.send_multipart([client, *frames], zmq.NOBLOCK)
            except zmq.Again:
                # ZMQ learns late that a client has read: asking for events makes it look before the second try.
                self._socket.getsockopt(zmq.EVENTS)
            except zmq.ZMQError:
                return False
            else:
                return True
        return True
