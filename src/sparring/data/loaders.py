"""Processes that load batches ahead, and hand them over in shared memory.

A loader is asked for batches by number and answers in order. An answer is a nameless file in memory, whose handle goes
through the socket, and a line that says what lies where; the arrays themselves are neither copied nor serialised.
"""

import json
import mmap
import os
import struct
import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any

from sparring.core import Array, Episodes, GameSpec, InputError, RunError
from sparring.core.interrupts import ctrl_c_held_back, leave_signals_to_parent
from sparring.core.processes import check_guarded, end_if_unguarded
from sparring.core.rows import nested
from sparring.data.plan import Epoch, Plan
from sparring.data.reading import Cuts, Pieces, StreamReader
from sparring.rollout.slabs import aligned, arrays_in, nameless_file

_ASK = struct.Struct("<qq")
"""Epoch and number of the batch."""


class Batches:
    """Makes the batches of a plan in this process; ask for those of an epoch in order."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._number = -1
        self._epoch: Epoch
        self._readers: dict[int, StreamReader] = {}

    def make(self, number: int, batch: int, **room: Any) -> Pieces:
        """Batch `batch` of epoch `number`."""
        if number != self._number:
            self._number, self._epoch, self._readers = number, self._plan.epoch(number), {}
        stream, which = int(self._epoch.stream[batch]), int(self._epoch.number[batch])
        if stream not in self._readers:
            self._readers[stream] = StreamReader(self._plan, self._epoch, number=number, stream=stream, first=which)
        return self._readers[stream].batch(which, **room)

    def read_ahead(self) -> bool:
        """Reads one of the files that will be needed next; returns whether there was one."""
        return any(reader.read_ahead() for reader in self._readers.values())


@dataclass(frozen=True)
class _Loader:
    process: BaseProcess
    line: "Connection[bytes, bytes]"

    def death(self) -> RunError:
        """What to raise once nothing answers at the other end."""
        check_guarded(self.process)
        return RunError("a process that loads data has died")


class Loaders:
    """`workers` processes that make the batches of a plan."""

    def __init__(self, plan: Plan, workers: int) -> None:
        self._plan = plan
        self._number = -1
        self._epoch: Epoch
        self._loaders = [_start(plan, number) for number in range(workers)]
        self._asked: deque[tuple[_Loader, GameSpec]] = deque()

    def ask(self, number: int, batch: int) -> None:
        """Asks for batch `batch` of epoch `number`."""
        if number != self._number:
            self._number, self._epoch = number, self._plan.epoch(number)
        stream = int(self._epoch.stream[batch])
        loader = self._loaders[stream % len(self._loaders)]
        try:
            loader.line.send_bytes(_ASK.pack(number, batch))
        except OSError:
            raise loader.death() from None
        self._asked.append((loader, self._plan.catalogue.specs[self._epoch.streams[stream].spec]))

    def receive(self) -> Pieces:
        """The batch asked for first among those not received yet."""
        loader, spec = self._asked.popleft()
        line = loader.line
        try:
            about = json.loads(line.recv_bytes())
            if "wrong" in about:
                raise InputError(about["wrong"])
            if "failed" in about:
                raise RunError(f"a process that loads data has failed:\n{about['failed']}")
            handle = recv_handle(line)
        except (EOFError, OSError):
            raise loader.death() from None
        try:
            memory = mmap.mmap(handle, about["bytes"])
        finally:
            os.close(handle)
        columns = arrays_in(memory, about["columns"])
        episodes = Episodes.from_columns(columns, spec=spec, players=tuple(about["players"]))
        return Pieces(episodes, Cuts.from_columns(nested(columns)["cuts"]))

    def close(self) -> None:
        """Ends the processes."""
        for loader in self._loaders:
            loader.line.close()
        for loader in self._loaders:
            loader.process.join(2.0)
            if loader.process.is_alive():
                loader.process.kill()
                loader.process.join()
        self._loaders.clear()

    @property
    def processes(self) -> list[int]:
        """Process numbers, for tests."""
        return [loader.process.pid or 0 for loader in self._loaders]


def _start(plan: Plan, number: int) -> _Loader:
    end_if_unguarded()
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, plan), name=f"sparring loader {number}", daemon=True)
    with ctrl_c_held_back():
        process.start()
    theirs.close()
    return _Loader(process, ours)


def _serve(line: "Connection[bytes, bytes]", plan: Plan) -> None:
    """A loader process: answers requests, and reads ahead while there are none, until the other side is gone."""
    leave_signals_to_parent()
    batches = Batches(plan)
    try:
        while True:
            while not line.poll() and batches.read_ahead():
                pass
            number, batch = _ASK.unpack(line.recv_bytes())
            _answer(line, batches, number, batch)
    except (EOFError, OSError):
        return
    except InputError as error:
        line.send_bytes(json.dumps({"wrong": str(error)}).encode())
    except Exception:
        line.send_bytes(json.dumps({"failed": traceback.format_exc()}).encode())


def _answer(line: "Connection[bytes, bytes]", batches: Batches, number: int, batch: int) -> None:
    room = _SharedRoom()
    try:
        pieces = batches.make(number, batch, room=room)
        about = {"bytes": room.bytes, "columns": room.columns, "players": pieces.episodes.players}
        line.send_bytes(json.dumps(about).encode())
        send_handle(line, room.handle, None)
    finally:
        room.close()


class _SharedRoom:
    """Arrays in a nameless file in memory."""

    def __init__(self) -> None:
        self.handle = -1
        self.bytes = 0
        self.columns: list[tuple[str, tuple[int, ...], str]] = []

    def __call__(self, like: Mapping[str, Array]) -> dict[str, Array]:
        self.columns = [(name, array.shape, array.dtype.str) for name, array in like.items()]
        self.bytes = sum(aligned(array.nbytes) for array in like.values())
        self.handle = nameless_file()
        os.ftruncate(self.handle, self.bytes)
        memory = mmap.mmap(self.handle, self.bytes)
        return arrays_in(memory, self.columns)

    def close(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
