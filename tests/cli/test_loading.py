"""Nobody waits for torch without knowing; who has it at once is told nothing."""

import os
import pty
import subprocess
import sys

import pytest

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from sparring.cli import loading
loading._PATIENCE = 0.2
loading.tell_of_slow_loading()
import torch
import time
time.sleep(0.4)
"""


def told(folder, *, seconds, terminal=True):
    """What standard error shows while a torch is imported that takes so long."""
    (folder / "torch.py").write_text(f"import time; time.sleep({seconds})")
    reader, writer = pty.openpty() if terminal else os.pipe()
    subprocess.run([sys.executable, "-c", SCRIPT, folder], stderr=writer, check=True, timeout=60)
    os.write(writer, b" end\n")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(reader, 1000).rstrip()
    os.close(reader)
    os.close(writer)
    return shown.decode().split()


@pytest.mark.parametrize(
    ("seconds", "terminal", "expected"),
    [(1.0, True, ["loading", "torch", "end"]), (0.0, True, ["end"]), (1.0, False, ["end"])],
)
def test_a_slow_import_is_told_on_a_terminal(tmp_path, seconds, terminal, expected):
    assert told(tmp_path, seconds=seconds, terminal=terminal) == expected
