"""`sparring` in processes of its own that import next to nothing: each is forked from one that has torch loaded.

They are real processes, with signals, exit codes, limits and children of their own, at a tenth of the cost. Where the
start itself or what is imported is tested, `tests.commands` starts a Python that is new.
"""

import atexit
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from multiprocessing import process as multiprocessing_process
from pathlib import Path

LOADED = (
    "torch._dynamo",
    "torch.distributed.fsdp",
    "torch.utils.tensorboard",
    "sparring.cli",
    "sparring.data.importing",
    "sparring.games.hex.game",
    "sparring.games.pokemon.game",
    "sparring.league.selfplay",
    "sparring.league.serve",
    "sparring.league.tournament",
    "sparring.training.loop",
)


class Process:
    """`sparring words...`, with the attributes and methods of a `subprocess.Popen` that tests use.

    What it says goes to files, which can be read at any time, unless a descriptor is given for it.
    """

    def __init__(
        self,
        *words: object,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        input: str = "",
        stderr: int | None = None,
        start_new_session: bool = False,
        most_file_bytes: int | None = None,
        constants: dict[str, float] | None = None,
        module: str = "sparring",
    ) -> None:
        """`constants` are others in the new process, by module and name. `module` is what is run, as by `python -m`."""
        self.args = [module, *map(str, words)]
        self.returncode: int | None = None
        asked = {
            "words": self.args,
            "folder": str(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "session": start_new_session,
            "most_file_bytes": most_file_bytes,
            "constants": constants or {},
        }
        with tempfile.TemporaryDirectory() as folder:
            given, *said = (Path(folder) / name for name in ("stdin", "stdout", "stderr"))
            given.write_text(input)
            writes = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in said]
            self.stdout, self.stderr = (path.open() for path in said)
            reads = os.open(given, os.O_RDONLY)
        self._told, tells = os.pipe()
        standard = [reads, writes[0], writes[1] if stderr is None else stderr]
        socket.send_fds(_server(), [json.dumps(asked).encode()], [*standard, tells])
        for handle in (reads, *writes, tells):
            os.close(handle)
        self.pid = int(self._line())

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._told, 1)
            assert byte, f"{self.args}: the process it is forked from has ended"
            line += byte
        return line

    def poll(self) -> int | None:
        """The exit code, or minus the signal, once it has ended."""
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.returncode = int(self._line())
            os.close(self._told)
        return self.returncode

    def wait(self, timeout: float = 200) -> int:
        """Waits for its end."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(self.args, timeout)
            select.select([self._told], [], [], left)
        return code

    def communicate(self, timeout: float = 200) -> tuple[str, str]:
        """What it said until its end, on standard output and on standard error."""
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()

    def send_signal(self, number: int) -> None:
        """Sends a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)


def run(*words: object, timeout: float = 200, **options) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    process = Process(*words, **options)
    try:
        said, errors = process.communicate(timeout)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.wait(), said, errors)


def group(*words: object, processes: int = 2, module: str = "sparring") -> list[Process]:
    """So many processes of one command, with what torchrun would tell them."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [
        Process(*words, module=module, env={**os.environ, **shared, "RANK": rank, "LOCAL_RANK": rank})
        for rank in map(str, range(processes))
    ]


@cache
def _server() -> socket.socket:
    """The connection to the process that forks; it ends with this one."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", __file__, str(there.fileno())]
    server = subprocess.Popen(command, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)
    there.close()

    def end() -> None:
        here.close()
        server.wait()

    atexit.register(end)
    return here


def _become_a_command(connection: socket.socket) -> dict:
    """Forks a process a message; returns in each of them, with what was asked for.

    Between this process and the command stands one that waits for it and tells its number and how it ended.
    """
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    server = os.getpid()
    while True:
        message, handles, _, _ = socket.recv_fds(connection, 1 << 20, 4)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not message:
            os._exit(0)
        if os.fork():
            for handle in handles:
                os.close(handle)
            continue
        connection.close()
        *standard, tells = handles
        command = os.fork()
        if command == 0:
            os.close(tells)
            for number, handle in enumerate(standard):
                os.dup2(handle, number)
                os.close(handle)
            return json.loads(message)
        for handle in standard:
            os.close(handle)
        os.write(tells, b"%d\n" % command)
        while not (ended := os.waitpid(command, os.WNOHANG))[0]:
            if os.getppid() != server:  # the tests have ended
                os.kill(command, signal.SIGKILL)
            time.sleep(0.01)
        with suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(tells, b"%d\n" % os.waitstatus_to_exitcode(ended[1]))
        os._exit(0)


if __name__ == "__main__":
    asked = _become_a_command(socket.socket(fileno=int(sys.argv[1])))
    if asked["session"]:
        os.setsid()
    os.chdir(asked["folder"])
    multiprocessing_process.ORIGINAL_DIR = asked["folder"]  # where processes begin that it spawns
    os.environ.clear()
    os.environ.update(asked["environment"])
    if asked["most_file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["most_file_bytes"],) * 2)
    for name, value in asked["constants"].items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    sys.argv = asked["words"]
    sys.path.append(str(Path(__file__).parents[1]))
    runpy.run_module(asked["words"][0], run_name="__main__", alter_sys=True)
