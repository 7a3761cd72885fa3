"""The policy server: one copy of each network answers every client in true batches, and keeps their memory.

One thread receives, runs forward passes and sends; while a forward runs, requests pile up in ZMQ's own thread
and make the next batch. Checkpoints are read in a thread beside it and swapped in between two forwards.
"""

import math
import secrets
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from select import select
from threading import Thread
from time import monotonic

import msgspec
import zmq

from sparring.core import GameSpec, InputError
from sparring.inference.device import Device
from sparring.serving.batching import Request
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
    Reloaded,
    Report,
    Status,
    Unknown,
    Welcome,
    encode,
    read_client,
)
from sparring.serving.served import ServedModel
from sparring.serving.sessions import Session
from sparring.serving.statistics import Rate

_TICK = 1.0
"""Seconds between two rounds of housekeeping."""
_PROBE_AFTER = 2.0
"""Seconds of silence after which the server looks whether a client's connection still stands."""
_MESSAGES_AT_ONCE = 512
"""Messages read before the next forward pass, so that a flood cannot keep the server from answering."""


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a server batches, and how much it takes from its clients."""

    batch_size: int = 32
    """Rows at which a batch is full."""
    timeout: float = 0.05
    """Seconds after which a request is answered in any case."""
    slots: int = 8192
    """Memory slots of each model: matches times seats of all clients together."""
    rows: int = 4096
    """Most rows of one request."""
    in_flight: int = 16
    """Most unanswered requests of one client."""
    clients: int = 1024
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
        self._rate = Rate()
        self._reloading: dict[str, list[bytes]] = {}
        self._reloaded: SimpleQueue[tuple[ServedModel, Callable[[], int]]] = SimpleQueue()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._authenticator = secure_server(self._socket, key) if key is not None else None
        self._open(host, port)

    def _open(self, host: str, port: int) -> None:
        socket = self._socket
        largest = max(model.layout.row_bytes for model in self.models.values()) * self._settings.rows
        socket.setsockopt(zmq.MAXMSGSIZE, largest + 65536)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        socket.setsockopt(zmq.LINGER, 200)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 2000)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 6000)
        socket.setsockopt(zmq.RCVHWM, 4 * self._settings.in_flight)
        try:
            socket.bind(f"tcp://{host}:{port or '*'}")
        except zmq.ZMQError as error:
            self.close()
            raise InputError(f"cannot listen on {host}:{port}: {error.strerror}") from error

    @property
    def address(self) -> str:
        """Where clients connect."""
        return self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def run(self, stopping: Callable[[], bool]) -> None:
        """Answers until `stopping` is true; looks at least five times a second."""
        handle = int(self._socket.fd)
        next_tick = monotonic()
        while not stopping():
            self._receive()
            now = monotonic()
            if now >= next_tick:
                self._housekeeping(now)
                next_tick = now + _TICK
            waiting = sorted((m for m in self.models.values() if len(m.batcher)), key=lambda m: m.batcher.oldest)
            patience = 0.2
            for model in waiting:
                patience = min(patience, model.patience(now))
                if patience == 0.0:
                    self._answer(model)
                    break
            if patience > 0.0:
                select([handle], [], [], patience)

    def close(self) -> None:
        """Leaves the port; may be called twice."""
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

    def _receive(self) -> None:
        """Reads whatever has come."""
        for _ in range(_MESSAGES_AT_ONCE):
            try:
                client, *frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                self._handle(client, frames)
            except ProtocolError as error:
                self._refuse(client, str(error))

    def _handle(self, client: bytes, frames: list[bytes]) -> None:
        if not frames:
            raise ProtocolError("an empty message")
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
                self._tell(client, self.report())
            case Reload():
                self._reload(client, header.model)

    def _hello(self, client: bytes, hello: Hello) -> None:
        limits = self._settings
        if hello.protocol != PROTOCOL:
            return self._refuse(client, f"protocol {hello.protocol}: this server speaks {PROTOCOL}")
        if hello.model not in self.models:
            return self._refuse(client, f"no model {hello.model!r}; this server has: {', '.join(self.models)}")
        model = self.models[hello.model]
        try:
            reason = model.refusal(GameSpec.from_json(hello.spec))
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
        elif len(self._sessions) >= limits.clients:
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

    def _welcome(self, model: ServedModel, session: Session) -> None:
        rows = self._settings.rows
        welcome = Welcome(session=session.number, version=model.version, rows=rows, memory=model.has_memory)
        self._tell(session.client, welcome)

    def _ask(self, model: ServedModel, session: Session, ask: Ask, frames: list[bytes]) -> None:
        if ask.sequence != session.next_sequence:
            stored = session.answers.get(ask.sequence)
            if stored is not None:
                model.counters.repeated += 1
                self._send(session.client, stored)
            return  # still waiting for its batch, or out of turn: the client will repeat what is missing
        if session.waiting >= session.in_flight:
            raise ProtocolError(f"more than {session.in_flight} requests in flight")
        session.next_sequence += 1
        session.waiting += 1
        model.counters.requests += 1
        try:
            if ask.rows > self._settings.rows:
                raise ProtocolError(f"{ask.rows} rows; this server takes {self._settings.rows} at once")
            if not math.isfinite(ask.temperature) or not math.isfinite(ask.waited):
                raise ProtocolError("temperature and waited must be finite")
            rows = model.layout.read_ask(frames, ask.rows, session.slots)
        except ProtocolError as error:
            self._refused += 1
            self._settle(session, ask.sequence, [encode(Refused(sequence=ask.sequence, reason=str(error)[:500]))])
            return
        if ask.waited > 0:
            model.counters.latency.add(ask.waited)
        model.batcher.add(Request(session, ask, rows, monotonic()))

    def _answer(self, model: ServedModel) -> None:
        """Runs one batch of `model` and sends the answers."""
        start = monotonic()
        for request, frames in model.answer(model.batcher.take()):
            self._settle(request.session, request.ask.sequence, frames)
        model.batcher.ran(monotonic() - start)

    def _settle(self, session: Session, sequence: int, frames: list[bytes]) -> None:
        session.keep_answer(sequence, frames)
        self._send(session.client, frames)

    def _forget(self, model: ServedModel, session: Session) -> None:
        del self._sessions[session.client]
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
                if model.source.name not in self._reloading and model.source.changed():
                    self._start_reload(model)
        self._finish_reloads()

    def _reload(self, client: bytes, name: str) -> None:
        if name not in self.models:
            return self._refuse(client, f"no model {name!r}; this server has: {', '.join(self.models)}")
        if name not in self._reloading:
            self._start_reload(self.models[name])
        self._reloading[name].append(client)

    def _start_reload(self, model: ServedModel) -> None:
        """Reads the checkpoint in a thread of its own; `_finish_reloads` swaps it in."""
        self._reloading[model.source.name] = []

        def read() -> None:
            try:
                weights, version = model.source.read_again()
            except Exception as error:  # told to whoever asked; the old weights stay
                failure = error

                def fail() -> int:
                    raise failure

                self._reloaded.put((model, fail))
                return

            def swap() -> int:
                model.engine.swap(model.source.name, weights, version=version)
                return version

            self._reloaded.put((model, swap))

        Thread(target=read, name=f"reload {model.source.name}", daemon=True).start()

    def _finish_reloads(self) -> None:
        while True:
            try:
                model, swap = self._reloaded.get_nowait()
            except Empty:
                return
            name = model.source.name
            clients = self._reloading.pop(name)
            try:
                reply: FromServer = Reloaded(model=name, version=swap())
                self._say(f"{name}: version {model.version} now")
            except Exception as error:  # a checkpoint that cannot be read or does not fit
                reply = Refused(reason=f"{name} keeps version {model.version}: {error}"[:500])
                self._say(reply.reason)
            for client in clients:
                self._tell(client, reply)

    def _refuse(self, client: bytes, reason: str) -> None:
        self._refused += 1
        self._tell(client, Refused(reason=reason[:500]))

    def _tell(self, client: bytes, header: FromServer) -> bool:
        return self._send(client, [encode(header)])

    def _send(self, client: bytes, frames: list[bytes]) -> bool:
        """Sends without waiting; false if the client's connection is gone. A client that reads nothing misses it."""
        try:
            self._socket.send_multipart([client, *frames], zmq.NOBLOCK)
        except zmq.Again:
            return True
        except zmq.ZMQError:
            return False
        return True
