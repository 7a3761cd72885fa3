"""What work uses of its machine: the CPU time and memory of a process and of all processes it started."""

from time import monotonic
from typing import NamedTuple

import psutil


class Usage(NamedTuple):
    """What a tree of processes uses."""

    cores: float
    """CPU seconds per second since the last sample."""
    memory: int
    """Bytes; memory that processes share counts once."""


class ProcessTree:
    """The process `pid` (this one, if none is given) and all below it."""

    def __init__(self, pid: int | None = None) -> None:
        self._root = psutil.Process(pid)
        self._spent: dict[psutil.Process, float] = {}
        self._at = monotonic()
        self.sample()

    def sample(self) -> Usage:
        """What has been used since the last sample; zeros once the process has ended."""
        used, memory, found = 0.0, 0, {}
        for process in self._processes():
            try:
                times = process.cpu_times()
                memory += _memory(process)
            except psutil.Error:  # it has just ended
                continue
            found[process] = times.user + times.system
            used += max(0.0, found[process] - self._spent.get(process, 0.0))
        now = monotonic()
        cores = used / max(now - self._at, 1e-9)
        self._spent, self._at = found, now
        return Usage(cores, memory)

    def kill(self) -> None:
        """Ends all of them at once."""
        for process in self._processes():
            try:
                process.kill()
            except psutil.Error:
                continue

    def _processes(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return []


def _memory(process: psutil.Process) -> int:
    """Bytes of a process, with its share of shared memory where the system counts that."""
    try:
        full = process.memory_full_info()
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
    return int(getattr(full, "pss", 0) or full.rss)
