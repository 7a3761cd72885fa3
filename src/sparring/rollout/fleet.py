"""A fleet: processes on a Ray cluster that work for one here: most play, each with an arena of its own.

Weights go out through Ray's object store, so that each version crosses to each host once, however many play there; a
running collection takes them up between two forward passes. What was played comes back in pieces, as Arrow. A
player may have only so many pieces under way: when nobody takes them, it waits. A process that dies, or whose host
does, is replaced by one that plays other matches; what it had not handed over is lost, and nothing comes twice.
"""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from threading import Event
from time import monotonic, perf_counter
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Episodes, GameSpec, InputError, RunError, optional
from sparring.rollout.collector import Counters
from sparring.rollout.wire import from_arrow, to_arrow

with optional("--cluster", extra="ray"):
    import ray
    from ray.exceptions import RayError, RayTaskError

VERSION = version("sparring")
"""Ours: that of all hosts must be the same."""
AHEAD = 2
"""Pieces that each process may have under way, the one that it plays among them."""
PIECE_SECONDS = 5.0
"""A piece is handed over after so long in any case: a slow game gives small pieces, or none yet, but a sign of life."""
_START_TRIES = 3
"""Times in a row that a process may die before its first piece."""
_REMIND_SECONDS = 60.0
_CLOSE_SECONDS = 3.0
_PATIENCE = 1.0
_NUMBERS = ("class_name:", "actor_id:", "namespace:", "pid:", "ip:")
"""How lines of Ray's errors begin that only name its parts."""
_SESSION_BITS, _STREAM_BITS, _MATCH_BITS = 14, 12, 34
"""Of a match's serial number: which fleet, which of its processes, which of its matches."""


@dataclass(frozen=True)
class Stream:
    """What tells the matches of one process from those of all others, in this fleet and in the next one of the run."""

    session: int
    number: int

    @property
    def first_serial(self) -> int:
        """The serial number of its first match."""
        return (self.session << _STREAM_BITS | self.number) << _MATCH_BITS

    def seed(self, seed: int) -> int:
        """A seed of its own."""
        mixed = np.random.SeedSequence([seed % 2**64, self.session, self.number])
        return int(mixed.generate_state(1, np.uint32)[0])


@dataclass(frozen=True)
class Piece:
    """What a process hands over; crosses to another one as Arrow (`rollout.wire`)."""

    columns: Mapping[str, Array]
    """Episodes, as `Episodes.columns` names them; nothing if none has ended."""
    players: tuple[str, ...] = ()
    segment: int = 0
    counters: Counters = field(default_factory=Counters)
    """What was played since the last piece, and where the time went."""

    @classmethod
    def of(cls, episodes: Episodes | None, counters: Counters) -> "Piece":
        """A piece of these episodes."""
        if episodes is None:
            return cls({}, counters=counters)
        return cls(episodes.columns(), episodes.players, episodes.segment, counters)

    def __reduce__(self) -> tuple[Callable[..., "Piece"], tuple[Any, ...]]:
        return _unpacked, (to_arrow(self.columns), self.players, self.segment, self.counters)

    def episodes(self, spec: GameSpec) -> Episodes | None:
        """Its episodes; read-only if they have crossed."""
        if not self.columns:
            return None
        return Episodes.from_columns(self.columns, spec=spec, players=self.players, segment=self.segment)


def _unpacked(content: bytes, players: tuple[str, ...], segment: int, counters: Counters) -> Piece:
    return Piece(from_arrow(content), players, segment, counters)


P_co = TypeVar("P_co", covariant=True)
P = TypeVar("P")


class Working(Protocol[P_co]):
    """What works in a process of the fleet."""

    def collect(self, seconds: float, *asked: Any) -> P_co:
        """Works for about so long at most, and hands over what has come of it."""
        ...

    def close(self) -> None:
        """Frees what it holds."""
        ...


class Playable(Working[Piece], Protocol):
    """What plays with weights that change."""

    def swap(self, weights: bytes, version: int) -> None:
        """Takes up new weights, as safetensors, while `collect` may be running."""
        ...


class Hearing(Playable, Protocol):
    """What is told more than weights."""

    def hear(self, about: str, content: bytes) -> None:
        """Takes note of what `Fleet.tell` told, while `collect` may be running."""
        ...


Make = Callable[[Stream], Working[P]]
"""Called in the process itself; must be something that can be imported there."""


class _Actor:
    """The process: what plays in it, and the thread that hands it new weights."""

    def __init__(self, make: Make[Any], stream: Stream, version: str) -> None:
        self._make, self._stream, self._version = make, stream, version
        self._ready = Event()
        self._working: Any

    def begin(self) -> str:
        """Gets ready to play; where that is: the host's address, and the number that Ray gave it."""
        if self._version != VERSION:
            raise InputError(f"a host of the cluster has sparring {VERSION}, not {self._version}; install the same")
        self._working = self._make(self._stream)
        self._ready.set()
        return f"{ray.util.get_node_ip_address()}/{ray.get_runtime_context().get_node_id()[:8]}"

    def collect(self, seconds: float, *asked: Any) -> tuple[Any, float]:
        """A piece, and how long was worked for it."""
        start = perf_counter()
        return self._working.collect(seconds, *asked), perf_counter() - start

    def swap(self, weights: NDArray[np.uint8], version: int) -> int:
        """See `Playable.swap`; the version."""
        self._ready.wait()
        self._working.swap(weights.tobytes(), version)
        return version

    def hear(self, about: str, content: NDArray[np.uint8]) -> str:
        """See `Hearing.hear`; what it is about."""
        self._ready.wait()
        self._working.hear(about, content.tobytes())
        return about

    def close(self) -> None:
        """See `Working.close`."""
        if self._ready.is_set():
            self._working.close()


@dataclass(eq=False)
class _Member:
    """One process, as the fleet sees it."""

    stream: Stream
    actor: Any
    beginning: Any
    """The call of `begin`; None when it has answered."""
    host: str = "?"
    heard: float = field(default_factory=monotonic)
    calls: list[Any] = field(default_factory=list)
    """Pieces under way, the oldest first."""
    swaps: list[Any] = field(default_factory=list)
    """Weights, and whatever else it was told, that it has not confirmed."""
    proven: bool = False
    """Whether it has handed over a piece."""

    @property
    def next_call(self) -> Any:
        """What it will answer first; None if it has been asked nothing."""
        if self.beginning is not None:
            return self.beginning
        return self.calls[0] if self.calls else None


class Fleet(Generic[P]):
    """`count` processes that work, on the cluster that `rollout.joining.connect` has joined.

    Args:
        make: makes what works in each.
        count: how many.
        ask: what `Working.collect` is given besides its seconds, at each call; calls of a process are answered in turn.
        lost: is told the stream of a process that has died, before another takes its place.
        piece_seconds: after which a piece is handed over in any case.
        stall: seconds without a piece after which a process that plays is taken for dead.
        say: hears of deaths and their reasons.
    """

    def __init__(
        self,
        make: Make[P],
        *,
        count: int,
        ask: Callable[[Stream], tuple[Any, ...]],
        lost: Callable[[Stream], None] = lambda stream: None,
        piece_seconds: float = PIECE_SECONDS,
        stall: float = 300.0,
        say: Callable[[str], None] = print,
    ) -> None:
        self.replaced = 0
        self.played_seconds = 0.0
        """How long the processes have played, all of them together."""
        self._ask, self._lost, self._say = ask, lost, say
        self._piece_seconds, self._stall = piece_seconds, stall
        self._session = secrets.randbits(_SESSION_BITS)
        self._made = ray.put(make)
        self._weights: tuple[Any, int] | None = None
        self._told: dict[str, Any] = {}
        """What was told, the newest last."""
        self._streams = 0
        self._failed_starts = 0
        self._reminded = monotonic()
        self._actor = ray.remote(
            num_cpus=1,
            scheduling_strategy="SPREAD",
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"weights": 1},
        )(_Actor)
        self._members = [self._start() for _ in range(count)]

    @property
    def hosts(self) -> dict[str, int]:
        """How many processes play on each host."""
        playing = [member.host for member in self._members if member.beginning is None]
        return {host: playing.count(host) for host in sorted(set(playing))}

    def start(self) -> None:
        """Blocks until one process is ready to play; raises what it raised if it cannot."""
        while not self.hosts:
            self._listen()

    def publish(self, weights: bytes, version: int) -> None:
        """Has all processes, and those that will take their place, play with these weights from now on."""
        self._weights = (ray.put(np.frombuffer(weights, np.uint8)), version)
        for member in list(self._members):
            answered = ray.wait(member.swaps, num_returns=len(member.swaps), timeout=0)[0] if member.swaps else []
            member.swaps = [swap for swap in member.swaps if swap not in answered]
            if all(self._answer(member, swap) is not None for swap in answered):
                self._send_weights(member)

    def tell(self, about: str, content: bytes) -> None:
        """Tells all processes, and those that will take their place, in the order of the calls.

        It replaces what was told about the same before. Like weights, it crosses to each host once.
        """
        self._told.pop(about, None)
        self._told[about] = ray.put(np.frombuffer(content, np.uint8))
        for member in self._members:
            self._send(member, about)

    def retract(self, about: str) -> None:
        """Those that will take others' place are not told this any more."""
        del self._told[about]

    def take(self) -> tuple[Stream, P]:
        """The next piece that some process hands over; blocks until there is one."""
        while True:
            self.go_on()
            found = self._listen()
            if found is not None:
                return found

    def go_on(self) -> None:
        """Has all processes work as far ahead as they may; worth a call before nothing is taken for a while."""
        for member in self._members:
            self._fill(member)

    def close(self) -> None:
        """Ends the processes; may be called twice."""
        members, self._members = self._members, []
        closing = [member.actor.close.options(concurrency_group="weights").remote() for member in members]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=_CLOSE_SECONDS)
        for member in members:
            ray.kill(member.actor)

    def _start(self) -> _Member:
        stream = Stream(self._session, self._streams)
        self._streams += 1
        if self._streams >> _STREAM_BITS:
            raise RunError(f"{self._streams:,} processes of the cluster have been started; start the run again")
        actor = self._actor.remote(self._made, stream, VERSION)
        member = _Member(stream, actor, actor.begin.remote())
        self._send_weights(member)
        for about in self._told:
            self._send(member, about)
        return member

    def _send_weights(self, member: _Member) -> None:
        if self._weights is not None:
            member.swaps.append(member.actor.swap.options(concurrency_group="weights").remote(*self._weights))

    def _send(self, member: _Member, about: str) -> None:
        call = member.actor.hear.options(concurrency_group="weights")
        member.swaps.append(call.remote(about, self._told[about]))

    def _fill(self, member: _Member) -> None:
        """Has the process work on, if it has not too many pieces under way."""
        while member.beginning is None and len(member.calls) < AHEAD:
            if not member.calls:
                member.heard = monotonic()
            member.calls.append(member.actor.collect.remote(self._piece_seconds, *self._ask(member.stream)))

    def _listen(self) -> tuple[Stream, P] | None:
        """Waits a moment for whoever answers first; the piece, if it is one."""
        self._look_around()
        waiting = {member.next_call: member for member in self._members if member.next_call is not None}
        ready, _ = ray.wait(list(waiting), num_returns=1, timeout=_PATIENCE)
        for call in ready:
            member = waiting[call]
            answer = self._answer(member, call)
            if answer is None:
                continue
            member.heard = self._reminded = monotonic()
            if member.beginning is not None:
                member.beginning, member.host = None, answer
                continue
            member.calls.pop(0)
            member.proven, self._failed_starts = True, 0
            piece, seconds = answer
            self.played_seconds += seconds
            return member.stream, piece
        return None

    def _answer(self, member: _Member, call: Any) -> Any:
        """What a call has returned, never None; None if the process had to be replaced."""
        try:
            return ray.get(call)
        except RayTaskError as error:
            self._replace(member, _raised(error))
        except RayError as error:
            self._replace(member, _one_line(str(error)))
        return None

    def _look_around(self) -> None:
        """Replaces who has been silent for too long, and says so if nobody plays."""
        now = monotonic()
        for member in list(self._members):
            silent = member.beginning is None and bool(member.calls) and now - member.heard > self._stall
            if silent and not ray.wait(member.calls[:1], timeout=0)[0]:
                self._replace(member, f"nothing came from it for {self._stall:.0f} s")
        if now - self._reminded > _REMIND_SECONDS:
            self._reminded = now
            free, playing = ray.available_resources().get("CPU", 0), sum(self.hosts.values())
            self._say(f"waiting: {playing} of {len(self._members)} collectors play, the cluster has {free:g} free CPUs")

    def _replace(self, member: _Member, reason: str) -> None:
        """Another process in the place of one that is dead, or will be."""
        ray.kill(member.actor)
        self._failed_starts += not member.proven
        if self._failed_starts >= _START_TRIES:
            raise RunError(f"processes on the cluster died {_START_TRIES} times before they played: {reason}")
        where = f"collector {member.stream.number} on {member.host}"
        self._say(f"{where} died ({reason}): another takes its place, with other matches")
        self.replaced += 1
        self._lost(member.stream)
        self._members[self._members.index(member)] = self._start()


def _raised(error: "RayTaskError") -> str:
    """What a process raised, as a reason; the user's own faults are raised here as there."""
    for kind in (InputError, RunError):
        if isinstance(error.cause, kind):
            raise kind(str(error.cause)) from error
    return _one_line(str(error).strip().splitlines()[-1])


def _one_line(text: str) -> str:
    """Ray's reasons without the numbers of its parts and without a traceback."""
    lines = [line.strip() for line in text.partition("\ntraceback: ")[0].splitlines()]
    kept = [line for line in lines if line and not line.startswith(_NUMBERS)]
    return re.sub(r"\s*\bNode Id: \w+", "", " ".join(kept))[:400]
