"""Set-up: fetches the collision meshes that RocketSim needs, and starts RocketSim with them.

The meshes of the soccar field are part of the source package of rlgym-rocket-league (Apache 2.0). pip fetches
that one file, without its dependencies and only if it has the digest written here; of it only the meshes are unpacked,
into the cache folder.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparring.core import InputError, RunError, optional
from sparring.core.cache import build_once, cache_folder

PACKAGE = "rlgym-rocket-league==2.0.1"
SHA256 = "3be8e9d2f1cfb6514e0e3d455fb33ff95e26eb7c399f819fff0258025cf4d501"
"""Of its source archive; there is no wheel."""
MESHES = 16
"""Mesh files of the soccar field."""
_INSIDE = "rlgym/rocket_league/sim/collision_meshes/soccar/"


def mesh_folder() -> Path:
    """Where the meshes are kept: a folder that has `soccar/` in it."""
    return cache_folder() / "rocket" / "collision_meshes"


def have_meshes() -> bool:
    """Whether set-up has run."""
    return len(list((mesh_folder() / "soccar").glob("*.cmf"))) == MESHES


def setup_rocket(say: Callable[[str], None] = print) -> Path:
    """Makes sure the meshes are in the cache and returns their folder; does nothing when they are.

    Safe to run twice at the same time: the folder appears whole or not at all.
    """
    folder = mesh_folder()
    there = have_meshes()

    def fetch(unpacked: Path) -> None:
        say(f"collision meshes: fetching {PACKAGE} with pip")
        with tempfile.TemporaryDirectory(dir=unpacked) as temporary:
            archive = _download(Path(temporary))
            count = _unpack(archive, unpacked / "soccar")
        if count != MESHES:
            raise RunError(f"{archive.name} holds {count} collision meshes where {MESHES} were expected")

    build_once(folder, fetch, done=have_meshes)
    say(f"collision meshes: already in {folder}" if there else f"collision meshes: {MESHES} files in {folder}")
    return folder


def start_rocketsim() -> Any:
    """The `RocketSim` module, its meshes loaded; raises `InputError` saying what to install or run."""
    with optional("Rocket League", extra="rocket"):
        import RocketSim
    if not _started:
        if not have_meshes():
            raise InputError(f"no collision meshes in {mesh_folder()}: run `sparring setup rocket` once")
        with _quiet_stdout():
            RocketSim.init(str(mesh_folder()))
        _started.append(True)
    return RocketSim


_started: list[bool] = []


class _quiet_stdout:
    """Sends what C++ code prints on standard output to nowhere, so that it cannot spoil a command's output."""

    def __enter__(self) -> None:
        sys.stdout.flush()
        self._kept = os.dup(1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._kept, 1)
        os.close(self._kept)


def _download(folder: Path) -> Path:
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--dest", str(folder), "-r", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode != 0 or len(archives) != 1:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["pip said nothing"]
        reason = next((line for line in said if "HASHES" in line), said[-1])
        raise RunError(f"pip could not fetch {PACKAGE}: {reason.strip()}")
    return archives[0]


def _unpack(archive: Path, target: Path) -> int:
    """Copies the mesh files of a source archive into `target`, flat; returns how many."""
    target.mkdir(parents=True)
    count = 0
    with tarfile.open(archive) as source:
        for member in source:
            content = source.extractfile(member) if member.isfile() and _is_mesh(member.name) else None
            if content is not None:
                (target / Path(member.name).name).write_bytes(content.read())
                count += 1
    return count


def _is_mesh(name: str) -> bool:
    return _INSIDE in name and name.endswith(".cmf")
