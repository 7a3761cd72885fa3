"""A real Showdown server on this machine: for trying players out, for tests, for measuring others' clients.

It is the installed package itself, started from a copy in the cache folder (a server writes beside its code). It
listens on loopback only, takes any name without a password, has no throttles unless asked for, and ends with the
process that started it.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from sparring.core import RunError
from sparring.core.cache import build_once
from sparring.core.ports import cannot_listen, listening_refused
from sparring.games.pokemon.setup import NODE_FOLDER, installation, stage

_CONFIG = "server-config.js"
_START_SECONDS = 180.0


class LocalServer:
    """A running server; `address` is what `sparring ladder --server` takes. A context manager that ends it."""

    def __init__(self, *, port: int = 0, config: Mapping[str, Any] | None = None) -> None:
        """`port` 0 takes a free one; `config` is laid over Showdown's own, e.g. `{"nothrottle": False}`.

        Raises `InputError` if nobody may listen on the port, or somebody does.
        """
        reason = cannot_listen(port)
        if reason is not None:
            raise listening_refused("127.0.0.1", port, reason)
        found = installation()
        folder = _server_folder(found.modules)
        self.port = port or _free_port()
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the server runs
        self.process = subprocess.Popen(
            [found.node, "pokemon-showdown", "start", "--skip-build", str(self.port)],
            cwd=folder,
            env={**found.environment(), "SPARRING_SHOWDOWN": json.dumps({**(config or {}), "parent": os.getpid()})},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            process_group=0,  # Ctrl-C is for us to handle
        )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"ws://127.0.0.1:{self.port}/showdown/websocket"

    def close(self) -> None:
        """Ends the server; may be called twice."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._output.close()

    def __enter__(self) -> "LocalServer":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _wait(self) -> None:
        """Until it takes connections."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        self._output.seek(0)
        said = self._output.read().decode(errors="replace").strip().splitlines()
        raise RunError(f"the local Showdown server did not start on port {self.port}: {' '.join(said[-3:])}")


@contextmanager
def local_servers(count: int) -> Iterator[list[str]]:
    """The addresses of `count` servers that run until the block ends."""
    with ExitStack() as stack:
        yield [stack.enter_context(LocalServer()).address for _ in range(count)]


def _server_folder(modules: Path) -> Path:
    """A copy of the package with our config, made once."""

    def copy(folder: Path) -> None:
        leave = shutil.ignore_patterns("*.map", "*.ts", "*.tsx", "tools")
        shutil.copytree(modules / "pokemon-showdown", folder, dirs_exist_ok=True, ignore=leave)
        for name in ("logs/repl", "config/chat-plugins"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(NODE_FOLDER / _CONFIG, folder / "config" / "config.js")

    return build_once(stage("server", "package-lock.json", _CONFIG), copy)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
