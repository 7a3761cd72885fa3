"""Output that nobody reads any more."""

import os
import subprocess
import sys

SCRIPT = """
import sys
from sparring.cli.output import outlive_readers
outlive_readers()
print("first", flush=True)
print("first", file=sys.stderr, flush=True)
input()
for _ in range(1000):
    print("more " * 100, flush=True)
    print("more " * 100, file=sys.stderr, flush=True)
open(sys.argv[1], "w").write("done")
"""


def test_a_reader_that_goes_away_ends_nothing(tmp_path):
    pipe = subprocess.PIPE
    run = subprocess.Popen([sys.executable, "-c", SCRIPT, tmp_path / "x"], stdin=pipe, stdout=pipe, stderr=pipe)
    assert run.stdout.readline() == run.stderr.readline() == b"first\n"
    run.stdout.close()
    run.stderr.close()
    run.stdin.write(b"\n")
    run.stdin.close()
    assert run.wait(60) == 0
    assert (tmp_path / "x").read_text() == "done"


def test_a_terminal_that_closes_ends_nothing(tmp_path):
    ours, theirs = os.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, tmp_path / "x"], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    assert os.read(ours, 5) == b"first"
    os.close(ours)
    run.stdin.write(b"\n")
    run.stdin.close()
    assert run.wait(60) == 0
    assert (tmp_path / "x").read_text() == "done"


def test_what_is_read_is_all_there(tmp_path):
    done = subprocess.run([sys.executable, "-c", SCRIPT, tmp_path / "x"], input=b"\n", capture_output=True, timeout=60)
    assert done.stdout == done.stderr == b"first\n" + (b"more " * 100 + b"\n") * 1000
