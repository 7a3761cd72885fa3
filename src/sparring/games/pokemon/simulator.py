"""Showdown battles in Node child processes, driven over pipes in batches and never in lock-step.

`Simulator` spreads battles over its processes. Commands are queued by `start` and `choose` and leave in one write per
process at the next `wait`, which returns whatever the processes have said meanwhile. A process that dies or says
nothing for too long while it owes answers is replaced, and its battles are reported as `Failed`; nothing else is
disturbed. See `node/simulator.js` for the wire format.
"""

import fcntl
import logging
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

from sparring.core import RunError
from sparring.games.pokemon.requests import next_request
from sparring.games.pokemon.settings import PINNED
from sparring.games.pokemon.setup import NODE_FOLDER, Installation, installation

log = logging.getLogger(__name__)

_READ_BYTES = 1 << 20
_PIPE_BYTES = 1 << 20
_HEAP_MEGABYTES = 4096
_NURSERY_MEGABYTES = 32
"""Where Node keeps new objects. Most of a turn's are garbage by the next turn of the same battle: with tens of battles
in play, Node's default is full before that, and what would have died is copied."""
_START_SECONDS = 60.0
"""Node has to load Showdown before it can answer at all."""
_MOST_SILENT_DEATHS = 3
SEAT_NAMES = ("Seat 1", "Seat 2")
"""What the players are called in a battle whose starter gives no names."""


class Asked(NamedTuple):
    """A side must choose."""

    battle: int
    side: int
    request: dict[str, Any]
    """The request, equal to what Showdown's server would send. What did not change since the side's last request is
    the same object as there: nobody may write to it."""
    lines: str
    """Protocol lines the side has not had yet, separated by newlines, without empty ones and time stamps."""


class Ended(NamedTuple):
    """A battle is over."""

    battle: int
    winner: int
    """0 or 1; -1 for a tie."""
    turns: int
    log: str
    """The spectators' log; empty unless asked for (`send_log`)."""
    lines: tuple[str, str]
    """Protocol lines that each side has not had yet; empty unless asked for (`tell_end`)."""


class Refused(NamedTuple):
    """Showdown calls a choice invalid; the side still has to choose."""

    battle: int
    side: int
    reason: str
    log: str


class Failed(NamedTuple):
    """A battle broke off: it threw, or its process died or hung."""

    battle: int
    reason: str
    log: str


Event = Asked | Ended | Refused | Failed


class Simulator:
    """A pool of Node processes that each hold many battles. Battle numbers are the caller's and never reused."""

    def __init__(self, *, processes: int = 1, showdown: str = PINNED, hang_seconds: float = 60.0) -> None:
        """`showdown`: the installed version to play. `hang_seconds`: after which a process that owes answers and says
        nothing is replaced."""
        self._installed = installation(showdown)
        self._hang_seconds = hang_seconds
        self._processes = [_Process(self._installed) for _ in range(processes)]
        self._home: dict[int, int] = {}
        self._lost: list[Event] = []
        self._silent_deaths = 0
        self._poll = select.poll()
        self._by_descriptor: dict[int, int] = {}
        for index in range(processes):
            self._listen(index)
        self.waited = 0.0
        """Seconds that `wait` has blocked because no process had said anything."""
        self.replaced = 0
        """Processes that died or hung and were replaced."""

    @property
    def pids(self) -> list[int]:
        """Process ids, for memory figures and for tests."""
        return [process.child.pid for process in self._processes]

    @property
    def states(self) -> list["ProcessState"]:
        """What each process is doing."""
        return [process.state for process in self._processes]

    @property
    def owes(self) -> bool:
        """Whether some process has not yet done all it was told."""
        return any(process.owed or process.queue for process in self._processes)

    def start(
        self,
        battle: int,
        *,
        format: str,
        seed: int,
        teams: Sequence[str],
        names: Sequence[str] = SEAT_NAMES,
        log: bool = False,
        tell_end: bool = False,
        open_sheets: bool = False,
        spacers: bool = False,
    ) -> None:
        """Queues a new battle between two packed `teams`; `seed: uint64` fixes all of its chances.

        With `spacers`, sides are also told the empty lines that part a turn's choices, moves and end.
        """
        index = min(range(len(self._processes)), key=lambda i: len(self._processes[i].battles))
        self._home[battle] = index
        process = self._processes[index]
        process.battles[battle] = [{}, {}]
        wishes = {"l": log, "t": tell_end, "o": open_sheets, "m": spacers}
        flags = "".join(flag for flag, wished in wishes.items() if wished)
        fields = ("s", str(battle), format, f"gen5,{seed:016x}", names[0], teams[0], names[1], teams[1], flags)
        process.queue.append("\x1f".join(fields))

    def choose(self, battle: int, side: int, choice: str) -> None:
        """Queues a side's choice. Ignored if the battle has failed meanwhile, which `wait` reports."""
        home = self._home.get(battle)
        if home is not None:
            self._processes[home].queue.append(f"c\x1f{battle}\x1f{side}\x1f{choice}")

    def tell_end(self, battle: int) -> None:
        """Queues the wish for each side's last lines when a running battle ends."""
        home = self._home.get(battle)
        if home is not None:
            self._processes[home].queue.append(f"t\x1f{battle}")

    def send_log(self, battle: int) -> None:
        """Queues the wish for the log of a running battle when it ends."""
        home = self._home.get(battle)
        if home is not None:
            self._processes[home].queue.append(f"l\x1f{battle}")

    def flush(self) -> None:
        """Sends what is queued as far as the pipes take it, without waiting."""
        for process in self._processes:
            with suppress(OSError):
                process.send()

    def wait(self, timeout: float | None = None) -> list[Event]:
        """What the processes have said; blocks until there is something.

        With a `timeout` in seconds it comes back empty when that has passed, or at once when no process owes anything.
        Raises `RunError` if nothing can ever come because no battle is running.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            self._send_and_read(deadline)
            events = self._lost
            self._lost = []
            for process in self._processes:
                events.extend(process.take())
            for event in events:
                if type(event) is not Asked and type(event) is not Refused:
                    self._forget(event.battle)
            if events or (deadline is not None and (not self.owes or time.monotonic() >= deadline)):
                return events
            if not self._home:
                raise RunError("the Pokémon simulator is waited for but no battle is running")

    def close(self) -> None:
        """Ends all processes; may be called twice."""
        for process in self._processes:
            process.end()
        self._home.clear()

    def _send_and_read(self, deadline: float | None) -> None:
        blocked = []
        for index, process in enumerate(self._processes):
            try:
                process.send()
            except OSError:
                self._replace(index, "the simulator process died")
                process = self._processes[index]
                process.send()
            if process.unsent:
                blocked.append(process.writes)
        if self._lost:
            return
        for descriptor in blocked:
            self._poll.register(descriptor, select.POLLOUT)
        seconds = 1.0
        if deadline is not None:
            seconds = max(0.0, min(1.0, deadline - time.monotonic())) if self.owes else 0.0
        began = time.perf_counter()
        ready = self._poll.poll(seconds * 1000)
        self.waited += time.perf_counter() - began
        for descriptor in blocked:
            self._poll.unregister(descriptor)
        for descriptor, _ in ready:
            index = self._by_descriptor.get(descriptor, -1)
            if index >= 0 and not self._processes[index].read():
                self._replace(index, "the simulator process died")
        now = time.monotonic()
        for index, process in enumerate(self._processes):
            starting = process.state is ProcessState.STARTING
            allowed = max(self._hang_seconds, _START_SECONDS) if starting else self._hang_seconds
            if process.owed and now - process.heard > allowed:
                self._replace(index, f"the simulator process said nothing for {self._hang_seconds:g} s")

    def _replace(self, index: int, reason: str) -> None:
        process = self._processes[index]
        silent = process.state is ProcessState.STARTING
        self._poll.unregister(process.reads)
        del self._by_descriptor[process.reads]
        process.end()
        said = process.last_words()
        why = f"{reason}: {said}" if said else reason
        events = process.take()
        over = {event.battle for event in events if isinstance(event, Ended | Failed)}
        self._lost.extend(event for event in events if event.battle in over)
        self._lost.extend(Failed(battle, why, "") for battle in sorted(process.battles.keys() - over))
        self._silent_deaths = self._silent_deaths + 1 if silent else 0
        if self._silent_deaths >= _MOST_SILENT_DEATHS:
            raise RunError(f"the Pokémon simulator does not start: {why}")
        self._processes[index] = _Process(self._installed)
        self._listen(index)
        self.replaced += 1

    def _listen(self, index: int) -> None:
        descriptor = self._processes[index].reads
        self._poll.register(descriptor, select.POLLIN)
        self._by_descriptor[descriptor] = index

    def _forget(self, battle: int) -> None:
        home = self._home.pop(battle, None)
        if home is not None:
            self._processes[home].battles.pop(battle, None)


class ProcessState(Enum):
    """What a simulator process is doing, as far as it has said."""

    STARTING = auto()
    """Loading Showdown: nothing has been heard of it."""
    WORKING = auto()
    """On commands it has not done yet."""
    IDLE = auto()
    """It has done all that it was sent."""
    ENDED = auto()
    """It is gone, and its pipes are closed."""


class _Process:
    """One Node child and its two pipes, both non-blocking on this side."""

    def __init__(self, installed: Installation) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        command = [
            installed.node,
            f"--max-old-space-size={_HEAP_MEGABYTES}",
            f"--min-semi-space-size={_NURSERY_MEGABYTES}",
            f"--max-semi-space-size={_NURSERY_MEGABYTES}",
            str(NODE_FOLDER / "simulator.js"),
        ]
        self.child = subprocess.Popen(
            command,
            env=installed.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            start_new_session=True,
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.writes = self.child.stdin.fileno()
        self.reads = self.child.stdout.fileno()
        for descriptor in (self.writes, self.reads):
            os.set_blocking(descriptor, False)
            if hasattr(fcntl, "F_SETPIPE_SZ"):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.queue: list[str] = []
        self.unsent = b""
        self.battles: dict[int, list[dict[str, Any]]] = {}
        """The battles the process holds, and the last request of each side."""
        self.heard = time.monotonic()
        self.state = ProcessState.STARTING
        self.owed = 0
        """Batches of commands that the process has not done yet."""
        self._chunks: list[bytes] = []

    def send(self) -> None:
        """Writes what is queued as far as the pipe takes it; raises `OSError` if the process is gone."""
        if self.state is ProcessState.ENDED:
            return
        if self.queue:
            self.unsent += ("\n".join(self.queue) + "\np\n").encode()
            self.queue.clear()
            if not self.owed:
                self.heard = time.monotonic()
            self.owed += 1
            if self.state is ProcessState.IDLE:
                self.state = ProcessState.WORKING
        if not self.unsent:
            return
        with suppress(BlockingIOError):
            written = os.write(self.writes, self.unsent)
            self.unsent = self.unsent[written:]

    def read(self) -> bool:
        """Reads all that has arrived; false when the process has ended."""
        while True:
            try:
                chunk = os.read(self.reads, _READ_BYTES)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._chunks.append(chunk)
            self.heard = time.monotonic()
            if self.state is ProcessState.STARTING:
                self.state = ProcessState.WORKING

    def take(self) -> list[Event]:
        """The whole records that were read."""
        if not self._chunks:
            return []
        whole, separator, rest = b"".join(self._chunks).rpartition(b"\x1e")
        self._chunks = [rest] if rest else []
        if not separator:
            return []
        events: list[Event] = []
        for record in whole.decode().split("\x1e"):
            kind, *fields = record.split("\x1f")
            if kind == "r":
                battle, side = int(fields[0]), int(fields[1])
                requests = self.battles.get(battle)
                if requests is not None:  # else it was dropped meanwhile
                    requests[side] = next_request(fields[2], requests[side])
                    events.append(Asked(battle, side, requests[side], fields[3]))
            elif kind == "p":
                self.owed -= 1
                if not self.owed and self.state is ProcessState.WORKING:
                    self.state = ProcessState.IDLE
            elif kind == "n":
                _warn_once(fields[0])
            else:
                events.append(_event(kind, fields))
        return events

    def last_words(self) -> str:
        """The line of the error output that names the error."""
        self._errors.seek(0)
        text = self._errors.read(_READ_BYTES).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return next((line for line in lines if "rror" in line), lines[0] if lines else "")

    def end(self) -> None:
        """Kills the child and reaps it."""
        self.state = ProcessState.ENDED
        self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout):
            if stream is not None:
                stream.close()


@cache
def _warn_once(text: str) -> None:
    """Says what every process of a version would say."""
    log.warning("%s", text)


def _event(kind: str, fields: list[str]) -> Event:
    if kind == "e":
        return Ended(int(fields[0]), int(fields[1]), int(fields[2]), fields[3], (fields[4], fields[5]))
    if kind == "i":
        return Refused(int(fields[0]), int(fields[1]), fields[2], fields[3])
    if kind == "f":
        return Failed(int(fields[0]), fields[1], fields[2])
    raise RunError(f"the Pokémon simulator sent a record it should not: {kind[:200]!r}")
