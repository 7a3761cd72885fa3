"""The TCP connections behind the server's socket: how many there may be, and which one is cut when there are too many.

ZMQ hands over only whole messages. What it buffers of a message that never ends, or of messages that arrive faster than
they are read, shows only in the size of the process. So a thread watches that size, and when it grows cuts the
connection that brings in the most. An honest client that is cut reconnects by itself, finds its memory where it was,
and repeats what was not answered.
"""

import os
import resource
import socket as tcp
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

import zmq

from sparring.core.machine import trim_memory

_STEP = 0.1
"""Seconds between two looks."""
_BUSY = 1 << 18
"""Bytes per step from which on a connection can be to blame for the growth."""
_TRIM_AFTER = 32 << 20
"""Bytes of growth at which freed memory is returned to the system."""
_TRIM_PAUSE = 5.0
_UNEXPLAINED = 60.0
"""Seconds after which growth that no connection has caused is the new normal."""
_SPARE_FILES = 64
"""Open files reserved for checkpoints, metrics and the rest of the process."""
_TCP_INFO_BYTES = 256
_LAST_RECEIVED, _RECEIVED = 52, 128
"""Offsets in Linux' `struct tcp_info` of the milliseconds since the last data, and of all bytes received."""


class _Traffic(NamedTuple):
    """What the kernel knows about a connection."""

    silent: int
    received: int


class Connections:
    """Watches the connections of a socket that is not bound yet.

    Args:
        socket: the server's.
        most: connections at the same time; beyond it the one that has been silent longest is cut.
        growth: bytes by which the process may grow before the busiest connection is cut.
        say: reports each cut that memory made necessary.
    """

    def __init__(self, socket: "zmq.Socket[bytes]", *, most: int, growth: int, say: Callable[[str], None]) -> None:
        self.most = most
        self.cut = 0
        self._growth = growth
        self._say = say
        self._socket = socket
        self._port = 0
        self._open: dict[int, None] = {}
        self._received: dict[int, int] = {}
        self._trimmed = 0.0
        self._stop = Event()
        address = f"inproc://connections-{id(socket)}"
        socket.monitor(address, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._events: zmq.Socket[bytes] = socket.context.socket(zmq.PAIR)
        self._events.setsockopt(zmq.RCVHWM, 0)  # or ZMQ's own thread would wait for us
        self._events.connect(address)
        self._thread = Thread(target=self._run, name="connections", daemon=True)

    def start(self, port: int) -> None:
        """Begins to watch; the socket is bound to `port`."""
        self._port = port
        self._start = self._calm = resident_bytes()
        self._unexplained = monotonic()
        self._thread.start()

    def close(self) -> None:
        """Ends the watch; call it before the socket is closed."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._socket.disable_monitor()
        self._events.close(0)

    def _run(self) -> None:
        while not self._stop.wait(_STEP):
            self._take_events()
            self._keep_to_the_number()
            self._keep_to_the_growth()

    def _take_events(self) -> None:
        while True:
            try:
                event, value = struct.unpack("=Hi", self._events.recv_multipart(zmq.NOBLOCK)[0])
            except zmq.Again:
                return
            if event == zmq.EVENT_ACCEPTED:
                self._open[value] = None
            else:
                self._open.pop(value, None)

    def _keep_to_the_number(self) -> None:
        excess = len(self._open) - self.most
        if excess > 0:
            idlest = sorted(self._open, key=lambda handle: -self._traffic(handle).silent)
            for handle in idlest[:excess]:
                self._shut(handle)

    def _keep_to_the_growth(self) -> None:
        resident = resident_bytes()
        self._calm = min(self._calm, resident)
        grown = resident - self._calm
        now = monotonic()
        if resident - self._start > _TRIM_AFTER and now - self._trimmed > _TRIM_PAUSE:
            self._trimmed = now
            trim_memory()
            return
        if grown <= self._growth / 4:
            self._received.clear()
            self._unexplained = now
            return
        before, self._received = self._received, {handle: self._traffic(handle).received for handle in self._open}
        if grown <= self._growth or not before:
            return
        brought = {handle: total - before.get(handle, 0) for handle, total in self._received.items()}
        busiest = max(brought, key=lambda handle: brought[handle], default=None)
        if busiest is not None and brought[busiest] >= _BUSY:
            self._say(f"the server has grown by {grown >> 20:,} MB: the busiest connection is cut")
            self._shut(busiest)
            self._unexplained = now
        elif now - self._unexplained > _UNEXPLAINED:
            self._calm = resident  # it is the network or a checkpoint that has grown

    def _shut(self, handle: int) -> None:
        self._open.pop(handle, None)
        self.cut += 1
        with suppress(OSError), _Borrowed(handle) as connection:
            if connection.getsockname()[1] == self._port:
                connection.shutdown(tcp.SHUT_RDWR)

    def _traffic(self, handle: int) -> _Traffic:
        with suppress(OSError, AttributeError, struct.error), _Borrowed(handle) as connection:
            info = connection.getsockopt(tcp.IPPROTO_TCP, tcp.TCP_INFO, _TCP_INFO_BYTES)
            return _Traffic(*struct.unpack_from("=I", info, _LAST_RECEIVED), *struct.unpack_from("=Q", info, _RECEIVED))
        return _Traffic(0, 0)


class _Borrowed:
    """One of ZMQ's file handles as a socket that is not closed at the end."""

    def __init__(self, handle: int) -> None:
        self._socket = tcp.socket(tcp.AF_INET, tcp.SOCK_STREAM, 0, fileno=handle)

    def __enter__(self) -> tcp.socket:
        return self._socket

    def __exit__(self, *error: object) -> None:
        self._socket.detach()


def most_connections(wanted: int) -> int:
    """`wanted`, or as many as the process's limit on open files allows."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return wanted
    with suppress(OSError):
        allowed -= len(list(Path("/proc/self/fd").iterdir()))
    return max(8, min(wanted, allowed - _SPARE_FILES))


def resident_bytes() -> int:
    """Memory of this process; 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
