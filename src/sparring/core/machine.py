"""What this process may use of its machine: cores, a container's limits, free memory; and what processes do use."""

import ctypes
import os
import platform
from contextlib import suppress
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY = Path("/proc/meminfo")
_PROCESSES = Path("/proc")
_PROCESSOR = Path("/proc/cpuinfo")


def cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def quota() -> float | None:
    """A container's CPU limit, in cores; None without one."""
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):  # cgroups, version 2 and 1
        try:
            words = " ".join((_CGROUP / name).read_text() for name in files).split()
            most, period = float(words[0]), float(words[1])
        except (OSError, ValueError, IndexError):  # no such limit; version 2 writes "max" for none
            continue
        if most > 0:
            return most / period
    return None


def free_memory() -> int | None:
    """Bytes that this process can still get on this machine and within a container's limit; None if unknown."""
    known = [free for free in (_free_on_machine(), _free_in_container()) if free is not None]
    return min(known, default=None)


def trim_memory() -> None:
    """Returns freed memory to the system, where the C library can."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def cpu_seconds(process: int) -> float | None:
    """CPU time of a process so far, with all its threads; None if unknown."""
    fields = _status(process)
    return None if fields is None else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _status(process: int) -> list[str] | None:
    """The fields of /proc/N/stat after the process's name, which may hold anything."""
    try:
        return (_PROCESSES / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _free_on_machine() -> int | None:
    try:
        for line in _MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return None


def _free_in_container() -> int | None:
    """What the limit leaves; inactive file pages count as used there, but are freed when memory is needed."""
    for most, used, kept in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            free = int((_CGROUP / most).read_text()) - int((_CGROUP / used).read_text())
            statistics = (_CGROUP / most).with_name("memory.stat").read_text().split()
            return max(0, free + int(statistics[statistics.index(kept) + 1]))
        except (OSError, ValueError, IndexError):
            continue
    return None


def machine_name() -> str:
    """How many cores the machine has, and its processor's name."""
    try:
        lines = _PROCESSOR.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.processor() or platform.machine()}"
