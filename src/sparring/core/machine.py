"""What of this machine is ours: cores, a container's limits, free memory; and what processes use of it."""

import os
import platform
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY = Path("/proc/meminfo")
_PROCESSES = Path("/proc")
_PROCESSOR = Path("/proc/cpuinfo")


def cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def quota() -> float | None:
    """The cores' worth of time that a container's limit leaves to this process; None without a limit."""
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
    """Bytes that this process can still have, on the machine and within a container's limit, where the system says."""
    known = [free for free in (_free_on_machine(), _free_in_container()) if free is not None]
    return min(known, default=None)


def cpu_seconds(process: int) -> float | None:
    """CPU time that a process has spent so far, its threads' included; None where the system does not say."""
    fields = _status(process)
    return None if fields is None else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _status(process: int) -> list[str] | None:
    """What /proc/N/stat says behind the name, which may hold anything."""
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
    """What the limit leaves; file pages that nobody uses count as used there, but make room when it is needed."""
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
    """How many cores it has and what its processor is called."""
    try:
        lines = _PROCESSOR.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.processor() or platform.machine()}"
