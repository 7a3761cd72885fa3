"""Disks, the folder of compiled kernels, open files and shared memory."""

import errno
import os
import resource
import tempfile
from pathlib import Path
from time import perf_counter

from sparring.core.cache import cache_folder
from sparring.core.checkup import Check, Status
from sparring.core.kernels import TEMPORARY

_MIB = 2**20
_SOME_MIB, _ENOUGH_MIB = 256, 2048
"""A simulator with its tables, and some runs with their checkpoints."""
_SLOW_MIB = 10.0
"""A second: below this saving a checkpoint holds up training."""
_PIECE = 2 * _MIB
_QUICK_SECONDS, _LONG_SECONDS = 0.2, 3.0
_FEW_FILES, _ENOUGH_FILES = 256, 1024
"""Open files: what workers and Node processes need, and what the policy server needs for many clients."""
_MOVE_CACHE = "export SPARRING_CACHE=/a/folder/of/yours"
_SHARED = Path("/dev/shm")
_SHARED_MIB = 512


def check_cache(*, long: bool) -> Check:
    """The disk of what set-up fetches; a cache that somebody else filled may be read-only."""
    return _check_disk("cache disk", cache_folder(), read_only="warn", move=_MOVE_CACHE, long=long)


def check_runs(*, long: bool) -> Check:
    """The disk of run folders, which lie below the present folder unless `--run` says otherwise."""
    move = "sparring train PRESET --run /another/disk/NAME"
    return _check_disk("runs disk", Path("runs").absolute(), read_only="fail", move=move, long=long)


def check_kernels() -> Check:
    """Whether numba can keep what it compiles, in our cache folder or where NUMBA_CACHE_DIR says."""
    ours = cache_folder() / "numba"
    chosen = Path(os.environ.get("NUMBA_CACHE_DIR") or ours)
    if chosen.name.startswith(TEMPORARY) or ours in chosen.parents:  # that was set when this process imported numba
        chosen = ours
    try:
        if chosen == ours and ours.exists() and ours.lstat().st_uid != os.geteuid():
            return Check("numba cache", "fail", f"{ours} belongs to somebody else", f"sudo rm -r {ours}")
        with tempfile.TemporaryFile(dir=_existing(chosen)):
            return Check("numba cache", "ok", str(chosen))
    except OSError as error:
        found = f"cannot write {chosen}: {error.strerror}"
        if chosen == ours:
            return Check("numba cache", "warn", f"{found}; every command compiles its kernels again", _MOVE_CACHE)
        return Check("numba cache", "fail", found, "unset NUMBA_CACHE_DIR")


def check_open_files() -> Check:
    """How many files a process may have open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return Check("open files", "ok", "a process may have any number")
    if soft >= _ENOUGH_FILES:
        return Check("open files", "ok", f"a process may have {soft:,}")
    allowed = hard == resource.RLIM_INFINITY or hard >= 4096
    mend = "ulimit -n 4096" if allowed else "sudo prlimit --pid $$ --nofile=4096"
    found = f"a process may have only {soft:,}: workers and servers need more"
    return Check("open files", "fail" if soft < _FEW_FILES else "warn", found, mend)


def check_shared_memory() -> Check:
    """The size of /dev/shm: nothing to Sparring's workers, but other libraries put their blocks there."""
    try:
        size = os.statvfs(_SHARED)
    except OSError:
        return Check("shared memory", "ok", f"no {_SHARED}; Sparring's workers do without")
    mib = size.f_frsize * size.f_blocks / _MIB
    found = f"{_SHARED} has {_amount(mib)}"
    if mib < _SHARED_MIB:
        found += ": enough for Sparring's workers, but not for Ray or torch's data loaders"
        return Check("shared memory", "warn", found, f"mount -o remount,size=2G {_SHARED}")
    return Check("shared memory", "ok", found)


def _check_disk(name: str, folder: Path, *, read_only: Status, move: str, long: bool) -> Check:
    """Room and speed of the disk where `folder` is, or will be made."""
    try:
        place = _existing(folder)
        disk = os.statvfs(place)
        mib = disk.f_frsize * disk.f_bavail / _MIB
        if mib < _SOME_MIB or (disk.f_files and not disk.f_favail):
            left = _amount(mib) if mib < _SOME_MIB else "no file numbers (inodes)"
            return Check(name, "fail", f"full: {left} left for {folder}", move)
        speed = _write_speed(place, _LONG_SECONDS if long else _QUICK_SECONDS)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return Check(name, "fail" if full else read_only, f"cannot write {folder}: {error.strerror}", move)
    found = f"{_amount(mib)} free, writes {speed:,.0f} MiB/s: {folder}"
    if mib < _ENOUGH_MIB:
        return Check(name, "warn", found, move)
    if speed < _SLOW_MIB:
        return Check(name, "warn", f"slow: {found}", move)
    return Check(name, "ok", found)


def _existing(folder: Path) -> Path:
    """`folder`, or the nearest above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def _write_speed(folder: Path, seconds: float) -> float:
    """MiB a second that reach the disk, over about `seconds`, in a file that has no name and leaves nothing behind."""
    piece = os.urandom(_PIECE)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        start = perf_counter()
        written = 0
        while written < 64 * _MIB and perf_counter() - start < seconds:
            written += file.write(piece)
            os.fsync(file.fileno())
        return written / _MIB / (perf_counter() - start)


def _amount(mib: float) -> str:
    return f"{mib / 1024:,.1f} GiB" if mib >= 1024 else f"{mib:,.0f} MiB"
