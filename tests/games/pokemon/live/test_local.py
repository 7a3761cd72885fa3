"""A local server has its port to itself, and ends with whoever started it, even if that one had no time to end it."""

import socket
import subprocess
import sys

import psutil
import pytest

from sparring.cli import main

START = """
import sys, time
from sparring.games.pokemon.live.local import LocalServer
print(LocalServer().process.pid, flush=True)
time.sleep(600)
"""


def test_a_server_does_not_outlive_a_killed_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", START], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
    finally:
        parent.kill()
        parent.wait()
    server.wait(timeout=120)


def test_a_port_in_use_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(sys, "argv", ["sparring", "showdown", "--port", str(port)])
        with pytest.raises(SystemExit) as end:
            main()
    printed = capsys.readouterr()
    assert end.value.code == 2
    assert "Ready" not in printed.out
    assert printed.err.startswith(
        f"sparring: cannot listen on 127.0.0.1:{port} (Address already in use); port 0 takes a free one"
    )
    assert len(printed.err.splitlines()) == 1
