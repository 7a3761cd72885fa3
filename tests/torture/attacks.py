"""What a hostile client can do to a policy server: raw connections, floods, endless messages, fuzzed frames."""

import random
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import numpy as np
import zmq

from sparring.core import GameSpec, load_game
from sparring.core.game import game_names
from sparring.serving.protocol import PROTOCOL, Ask, Bye, Hello, Reload, Status, Welcome, encode, read_server

FLOODS = ("plain", "ping", "ping same", "more", "partial", "ping partial same")
"""Kinds of floods: with ZMTP pings in between, under one routing id, of many frames, cut off in mid-frame."""

HOSTILE: tuple[object, ...] = (
    float("inf"),
    float("nan"),
    -1,
    0,
    2**63,
    1.5,
    True,
    None,
    "",
    "x" * 1000,
    "i4,i4",
    [],
    [("a", "i4")],
    [2**62, 2**62],
    {},
    {"": {}},
    b"\xff",
    "\x1b[31m\x00",
)


def game_specs() -> list[GameSpec]:
    """The spec of every installed game."""
    games = [load_game(name) for name in game_names()]
    return [game.spec(game.settings()) for game in games]


class RawConnection:
    """ZMTP 3.1 over a plain socket, without a mechanism: says whatever bytes it likes."""

    def __init__(self, address: str, *, identity: bytes = b"") -> None:
        host, port = address.removeprefix("tcp://").rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=20)
        greeting = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
        properties = _property(b"Socket-Type", b"DEALER") + _property(b"Identity", identity)
        self.send(greeting + command(b"READY", properties))
        heard = b""
        while b"READY" not in heard:  # before it the server reads no messages
            part = self._socket.recv(4096)
            if not part:
                raise ConnectionResetError
            heard += part

    def send(self, content: bytes) -> None:
        self._socket.sendall(content)

    def reset(self) -> None:
        """Closes with a reset, so that nothing that is under way arrives in order."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def frame(content: bytes, *, more: bool = False) -> bytes:
    """A ZMTP frame."""
    if len(content) < 256:
        return bytes([more, len(content)]) + content
    return bytes([2 + more]) + struct.pack(">Q", len(content)) + content


def command(name: bytes, body: bytes) -> bytes:
    """A ZMTP command."""
    content = bytes([len(name)]) + name + body
    return bytes([4, len(content)]) + content


def _property(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value


def flood_and_reset(address: str, messages: int, kind: str = "plain") -> None:
    """One connection that sends `messages` messages of one byte, as fast as it can, and resets."""
    with suppress(OSError):
        connection = RawConnection(address, identity=b"\x01same" if "same" in kind else b"")
        with suppress(OSError):
            unit = frame(b"x")
            if "more" in kind:
                unit = 3 * frame(b"x", more=True) + unit
            if "ping" in kind:
                unit += command(b"PING", b"\x00\x01z")
            connection.send(unit * messages)
            if "partial" in kind:
                connection.send(100 * frame(b"x", more=True) + frame(bytes(1000))[:-500])
        connection.reset()


def endless_message(address: str, frame_bytes: int, most: int) -> int:
    """One message whose frames never end; returns how many bytes went out until the server cut it, or `most`."""
    connection = RawConnection(address)
    part = frame(bytes(frame_bytes), more=True)
    block = part * max(1, 65536 // len(part))
    sent = 0
    with suppress(OSError):
        while sent < most:
            connection.send(block)
            sent += len(block)
    connection.reset()
    return sent


class Fuzzer:
    """An endless source of messages that no honest client would send; some of them are nearly right."""

    def __init__(self, specs: list[GameSpec], models: list[str], seed: int) -> None:
        self._rng = random.Random(seed)
        self._specs = specs
        self._models = models
        self._sessions = [0]

    def note(self, answer: bytes) -> None:
        """Learns session numbers from what the server says."""
        header = read_server(answer)
        if isinstance(header, Welcome):
            self._sessions = [*self._sessions[-20:], header.session]

    def messages(self) -> Iterator[list[bytes]]:
        kinds = (self._garbage, self._hello, self._hello, self._ask, self._ask, self._other)
        while True:
            message = self._rng.choice(kinds)()
            if self._rng.random() < 0.3:
                message = self._mutate(message)
            yield message

    def _garbage(self) -> list[bytes]:
        return [self._rng.randbytes(self._rng.randrange(200)) for _ in range(self._rng.randrange(1, 6))]

    def _hello(self) -> list[bytes]:
        rng = self._rng
        spec = rng.choice(self._specs).to_json()
        for _ in range(rng.randrange(3)):
            spec = _with_hostile_part(spec, rng)
        if rng.random() < 0.3 and isinstance(spec.get("settings"), dict) and spec["settings"]:
            spec["settings"] = dict(spec["settings"])
            del spec["settings"][rng.choice(list(spec["settings"]))]
        header = {
            "type": "hello",
            "protocol": PROTOCOL,
            "model": rng.choice(self._models),
            "spec": spec,
            "slots": rng.choice([1, 2, 8, 8, 8, 8192, 2**62]),
            "in_flight": rng.choice([1, 2, 16, 17]),
        }
        return [msgspec.msgpack.encode(header)]

    def _ask(self) -> list[bytes]:
        rng = self._rng
        spec = rng.choice(self._specs)
        rows = rng.choice([1, 2, 4, 64, 5000])
        header = Ask(
            session=rng.choice(self._sessions),
            sequence=rng.choice([0, 0, 1, 2, 2**62]),
            rows=rows,
            temperature=rng.choice([0.0, 1.0, 1e-30]),
            policy=rng.random() < 0.5,
        )
        rows = min(rows, 64)
        seating = np.arange(rows, dtype=np.int32).tobytes() + bytes(5 * rows) + b"\xff" * rows * -(-spec.actions // 8)
        fields = [self._field(rows, field.shape, field.dtype) for field in spec.observation.values()]
        return [encode(header), seating, b"".join(fields)]

    def _field(self, rows: int, shape: tuple[int, ...], dtype: str) -> bytes:
        array = np.zeros((rows, *shape), dtype)
        if array.dtype.kind == "f":
            array.flat[self._rng.randrange(array.size)] = self._rng.choice([np.nan, np.inf, -np.inf, 1.0])
        return array.tobytes()

    def _other(self) -> list[bytes]:
        rng = self._rng
        session = rng.choice(self._sessions)
        return [encode(rng.choice([Status(), Bye(session=session), Reload(model="absent")]))]

    def _mutate(self, message: list[bytes]) -> list[bytes]:
        rng = self._rng
        place = rng.randrange(len(message))
        content = bytearray(message[place])
        match rng.randrange(4):
            case 0 if content:
                for _ in range(rng.randrange(1, 8)):
                    content[rng.randrange(len(content))] = rng.randrange(256)
            case 1:
                del content[rng.randrange(len(content) + 1) :]
            case 2:
                content += rng.randbytes(rng.randrange(1, 100))
            case _:
                return message + message[place:]
        return [*message[:place], bytes(content), *message[place + 1 :]]


def _with_hostile_part(data: dict, rng: random.Random) -> dict:
    """`data` with one value of it, at any depth, replaced by a hostile one or left out."""
    changed = dict(data)
    if not changed:
        return changed
    key = rng.choice(list(changed))
    if isinstance(changed[key], dict) and changed[key] and rng.random() < 0.6:
        changed[key] = _with_hostile_part(changed[key], rng)
    elif rng.random() < 0.2:
        del changed[key]
    else:
        changed[key] = rng.choice(HOSTILE)
    return changed


def send_fuzzed(address: str, fuzzer: Fuzzer, messages: int, *, sockets: int = 8) -> int:
    """Sends `messages` fuzzed messages over `sockets` connections, reading what comes back; returns how many did."""
    context = zmq.Context()
    lines = []
    for _ in range(sockets):
        line = context.socket(zmq.DEALER)
        line.setsockopt(zmq.LINGER, 0)
        line.setsockopt(zmq.SNDHWM, 1000)
        line.connect(address)
        lines.append(line)
    answered = 0
    for number, message in zip(range(messages), fuzzer.messages(), strict=False):
        line = lines[number % sockets]
        line.send_multipart(message)
        with suppress(zmq.Again):
            while True:
                fuzzer.note(line.recv_multipart(zmq.NOBLOCK)[0])
                answered += 1
    for line in lines:
        while line.poll(500):
            line.recv_multipart()
            answered += 1
        line.close()
    context.term()
    return answered


def hostile_hellos(spec: GameSpec) -> Iterator[bytes]:
    """`hello` frames with every part of `spec` replaced in turn by every hostile value, or left out."""
    whole = spec.to_json()
    for changed in _every_change(whole):
        hello = {"type": "hello", "protocol": PROTOCOL, "model": "main", "spec": changed, "slots": 2, "in_flight": 1}
        yield msgspec.msgpack.encode(hello)


def _every_change(data: dict) -> Iterator[dict]:
    for key, value in data.items():
        yield {name: part for name, part in data.items() if name != key}
        for hostile in HOSTILE:
            yield data | {key: hostile}
        if isinstance(value, dict):
            for below in _every_change(value):
                yield data | {key: below}


def hello(spec: GameSpec, *, model: str = "main", slots: int = 8, in_flight: int = 1) -> bytes:
    """An honest hello."""
    return encode(Hello(protocol=PROTOCOL, model=model, spec=spec.to_json(), slots=slots, in_flight=in_flight))
