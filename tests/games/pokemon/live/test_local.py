"""A local server ends with whoever started it, even if that one had no time to end it."""

import subprocess
import sys

import psutil

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
