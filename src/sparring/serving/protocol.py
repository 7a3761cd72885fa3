"""The policy server's wire format, version 3: a small msgpack header, then raw arrays. No pickle.

A message is a ZMQ multipart: frame 0 is one of the headers below, tagged by `type`; the frames after it hold arrays end
to end, little-endian and C-ordered, whose dtypes and shapes follow from the game spec exchanged at hello. Frames are
few because each costs both sides as much as many rows. docs/policy-server.md says the same in prose.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from sparring.core import Answers, Array, Decisions, GameSpec
from sparring.core.episodes import mask_bytes, pack_mask, unpack_mask
from sparring.inference.engine import Asked

PROTOCOL = 3
"""Raised with every change that an older client or server would misread."""
HEADER_BYTES = 1 << 16
"""The most bytes of a header."""

Count = Annotated[int, Meta(ge=0, le=2**62)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class ProtocolError(Exception):
    """A message that cannot be read; its sender is told why."""


class _Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """What all headers share."""


class Hello(_Header, frozen=True, tag="hello", omit_defaults=True):
    """Client: I play `model` at a game that looks like `spec`. Answered by `Welcome` or `Refused`."""

    protocol: Count
    model: Name
    spec: dict[str, Any]
    """Without its vocabulary, which is long."""
    slots: Annotated[int, Meta(ge=1)]
    """Memory slots it numbers 0 to slots - 1: matches * seats."""
    in_flight: Annotated[int, Meta(ge=1)] = 1
    """Requests it may have unanswered at the same time."""
    vocabulary: Annotated[str, Meta(max_length=64)] = ""
    """The digest of the spec's vocabulary, if the game has one."""


class Ask(_Header, frozen=True, tag="ask"):
    """Client: answer these rows.

    Two frames: slot `int32[k]`, draws `float32[k]`, first `bool[k]`, legal `uint8[k, ceil(actions / 8)]`, and
    `int32[e]` slots whose match has ended; then the fields of the observation in the spec's order.
    """

    session: Count
    sequence: Count
    """0, 1, 2, ... within a session; a repeated one gets the same answer again without being run again."""
    rows: Annotated[int, Meta(ge=1)]
    temperature: Annotated[float, Meta(ge=0, le=1e6)] = 1.0
    policy: bool = False
    """Whether to send the whole distribution back."""
    waited: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    """Seconds the client waited for the previous answer: the round trip, for the statistics."""


class Bye(_Header, frozen=True, tag="bye"):
    """Client: forget me. Not answered."""

    session: Count


class Status(_Header, frozen=True, tag="status"):
    """Anyone: how are you? Answered by `Report`."""


class Reload(_Header, frozen=True, tag="reload"):
    """Anyone: read `model` again from where it came from. Answered by `Reloaded` or `Refused`."""

    model: Name


class Welcome(_Header, frozen=True, tag="welcome"):
    """Server: go ahead."""

    session: Count
    version: int
    rows: int
    """The most rows of a request."""


class Answer(_Header, frozen=True, tag="answer"):
    """Server: one frame, action `int32[k]`, log_prob `float32[k]`, value `float32[k]`, and policy if asked for."""

    session: Count
    sequence: Count
    version: int
    lost: int = 0
    """Rows in the middle of a match whose memory the server no longer had, and which started from empty memory."""


class Refused(_Header, frozen=True, tag="refused"):
    """Server: no, and why. With a sequence it answers that request for good."""

    reason: str
    sequence: int | None = None


class Unknown(_Header, frozen=True, tag="unknown"):
    """Server: I know no such session (I was restarted, or you were silent for long); say hello again."""

    session: Count


class Probe(_Header, frozen=True, tag="probe"):
    """Server: only to learn whether the client is still connected. Not answered."""


class ModelReport(_Header, frozen=True, tag="model"):
    """Statistics of one model since the server's start; latencies are round trips of the last requests, in seconds."""

    version: int
    game: str
    sessions: int
    slots_used: int
    slots: int
    requests: int
    rows: int
    forwards: int
    mean_batch: float
    forward_seconds: float
    p50: float
    p95: float
    p99: float
    queue: int
    """Rows that are waiting now."""
    repeated: int
    """Requests that came again and got their stored answer."""
    lost: int
    failed: int
    """Requests the model raised an error on."""


class Report(_Header, frozen=True, tag="report"):
    """Server: I am well, and this is what I have done."""

    protocol: int
    uptime: float
    requests_per_second: float
    """Over the last ten seconds or so."""
    refused: int
    """Messages that could not be read or were not allowed."""
    models: dict[str, ModelReport]


class Reloaded(_Header, frozen=True, tag="reloaded"):
    """Server: `model` now has this version."""

    model: str
    version: int


FromClient = Hello | Ask | Bye | Status | Reload
FromServer = Welcome | Answer | Refused | Unknown | Probe | Report | Reloaded

encode: Callable[[FromClient | FromServer], bytes] = msgspec.msgpack.Encoder().encode
"""The frame of a header."""
_from_client = msgspec.msgpack.Decoder(FromClient)
_from_server = msgspec.msgpack.Decoder(FromServer)


def read_client(frame: bytes) -> FromClient:
    """A header that a client sent; raises `ProtocolError`."""
    if len(frame) > HEADER_BYTES:
        raise ProtocolError(f"a header of {len(frame)} bytes; {HEADER_BYTES} are allowed")
    header: FromClient = _decode(_from_client, frame)
    return header


def read_server(frame: bytes) -> FromServer:
    """A header that the server sent; raises `ProtocolError`."""
    header: FromServer = _decode(_from_server, frame)
    return header


def _decode(decoder: msgspec.msgpack.Decoder[Any], frame: bytes) -> Any:
    try:
        return decoder.decode(frame)
    except (ValueError, RecursionError) as error:  # what msgspec raises is a ValueError too
        raise ProtocolError(f"not a header of protocol {PROTOCOL}: {error}") from None


class RowLayout:
    """The frames of requests and answers about one game: how to write, check and read them."""

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.mask_bytes = mask_bytes(spec.actions)
        self._fields = [(name, np.dtype(f.dtype), f.shape, f.nbytes) for name, f in spec.observation.items()]
        self._seating_bytes = 9 + self.mask_bytes
        self._field_bytes = sum(size for *_, size in self._fields)
        self.row_bytes = max(self._seating_bytes + self._field_bytes, 12 + 4 * spec.actions)
        """The most bytes a row takes in a request or an answer."""

    def write_ask(self, decisions: Decisions, uniform: NDArray[np.float32], ended: NDArray[np.int32]) -> list[bytes]:
        """The frames of a request, copied out of the arena's buffers."""
        slot = decisions.slots(self.spec).astype(np.int32)
        seating = (slot, uniform, decisions.first, pack_mask(decisions.legal), ended)
        observation = decisions.observation
        return [
            b"".join([array.tobytes() for array in seating]),
            b"".join([observation[name].tobytes() for name, *_ in self._fields]),
        ]

    def read_ask(self, frames: Sequence[bytes], rows: int, slots: int) -> tuple[Asked, NDArray[np.int32]]:
        """The rows of a request of a client with `slots` slots, and `int32[e]` the slots whose match has ended.

        The arrays are views into the frames. Raises `ProtocolError` at the first bad one.
        """
        if len(frames) != 2:
            raise ProtocolError(f"a request has 2 frames of arrays, not {len(frames)}")
        seating, fields = frames
        ended_bytes = len(seating) - rows * self._seating_bytes
        if ended_bytes < 0 or ended_bytes % 4 or ended_bytes > 4 * slots:
            raise ProtocolError(f"frame seating: {len(seating)} bytes; {rows} rows need {self._seating_bytes} each")
        if len(fields) != rows * self._field_bytes:
            raise ProtocolError(f"frame observation: {len(fields)} bytes; {rows} rows need {self._field_bytes} each")
        slot = np.frombuffer(seating, np.int32, rows)
        uniform = np.frombuffer(seating, np.float32, rows, 4 * rows)
        first = np.frombuffer(seating, np.uint8, rows, 8 * rows)
        packed = np.frombuffer(seating, np.uint8, rows * self.mask_bytes, 9 * rows).reshape(rows, self.mask_bytes)
        in_order = np.sort(slot)
        if in_order[0] < 0 or in_order[-1] >= slots or (in_order[1:] == in_order[:-1]).any():
            raise ProtocolError(f"slot: numbers must lie in 0..{slots - 1}, each once")
        ended = np.frombuffer(seating, np.int32, ended_bytes // 4, rows * self._seating_bytes)
        if ended_bytes and (ended.min() < 0 or ended.max() >= slots):
            raise ProtocolError(f"ended: numbers must lie in 0..{slots - 1}")
        if first.max() > 1:
            raise ProtocolError("first: must be 0 or 1")
        if not (uniform.min() >= 0 and uniform.max() < 1):
            raise ProtocolError("uniform: must lie in [0, 1)")
        legal = unpack_mask(packed, self.spec.actions)
        if not legal.any(axis=1).all():
            raise ProtocolError("legal: a row has no legal action")
        observation: dict[str, Array] = {}
        at = 0
        for name, dtype, shape, size in self._fields:
            flat = np.frombuffer(fields, dtype, rows * size // dtype.itemsize, at)
            if dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
                raise ProtocolError(f"observation {name}: must be 0 or 1")
            observation[name] = flat.reshape(rows, *shape)
            at += rows * size
        asked = Asked(slot=slot, first=first.view(np.bool_), uniform=uniform, legal=legal, observation=observation)
        return asked, ended

    def read_answer(self, frames: Sequence[bytes], rows: int, *, policy: bool) -> Answers:
        """The arrays of an answer; raises `ProtocolError` if they have the wrong size."""
        size = 12 * rows + 4 * rows * self.spec.actions * policy
        if [len(frame) for frame in frames] != [size]:
            raise ProtocolError(f"an answer to {rows} rows has frames of {[len(f) for f in frames]} bytes")
        numbers = np.frombuffer(frames[0], np.float32)
        return Answers(
            action=numbers[:rows].view(np.int32),
            log_prob=numbers[rows : 2 * rows],
            value=numbers[2 * rows : 3 * rows],
            policy=numbers[3 * rows :].reshape(rows, -1) if policy else None,
        )


def write_answer(columns: Sequence[Array], rows: slice) -> bytes:
    """The frame of the answer to `rows` of a batch: action, log_prob, value, and policy if asked for."""
    return b"".join([column[rows].tobytes() for column in columns])


def misfit(served: GameSpec, asked: GameSpec) -> str | None:
    """Why rows of `asked` do not have the shape of `served`, or None."""
    if asked.game != served.game:
        return f"the model plays {served.game}, not {asked.game}"
    for what in ("seats", "actions"):
        if getattr(asked, what) != getattr(served, what):
            return f"the model's {served.game} has {getattr(served, what)} {what}, yours {getattr(asked, what)}"
    if list(asked.observation) != list(served.observation):
        return f"the model observes {list(served.observation)}, you send {list(asked.observation)}"
    for name, field in served.observation.items():
        yours = asked.observation[name]
        if (yours.shape, np.dtype(yours.dtype)) != (field.shape, np.dtype(field.dtype)):
            return (
                f"the model's observation {name} is {field.dtype}{list(field.shape)}, "
                f"yours {yours.dtype}{list(yours.shape)}"
            )
    return None
