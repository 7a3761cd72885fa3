"""Output that nobody reads any more, and output that goes into a file."""

import os
import subprocess
import sys

import pytest
from rich.console import Group
from rich.padding import Padding

from sparring.cli.app import show
from sparring.report.tables import plain_table
from tests.commands import SPARRING, one_line

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


@pytest.mark.parametrize("words", ["games", "version"])
def test_output_that_has_no_room_is_one_line(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*SPARRING, words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    one_line(done.stderr, "cannot use the standard output: No space left on device")
    assert done.returncode == 2


@pytest.mark.parametrize("words", ["games", "version"])
def test_a_closed_standard_output_is_one_that_nobody_reads(words):
    shell = 'exec "$@" >&-'
    done = subprocess.run(["sh", "-c", shell, "sh", *SPARRING, words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_a_closed_standard_input_is_an_empty_one():
    play = [*SPARRING, "play", "hex", "path", "--size", "3"]
    shell = 'exec "$@" <&-'
    done = subprocess.run(["sh", "-c", shell, "sh", *play], capture_output=True, text=True, timeout=100)
    assert "match left unfinished" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words", ["evaluate human path", "tournament path human", "selfplay hex --matches 2 --save games --model human"]
)
def test_a_person_without_a_terminal_is_refused(words, tmp_path):
    game = [] if "selfplay" in words else ["--game", "hex"]
    words = [*SPARRING, *words.split(), *game]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, cwd=tmp_path)
    one_line(done.stderr, "human: a person answers in a terminal, and standard input is none")
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


def test_lines_into_a_file_end_where_their_text_ends(capsys):
    table = plain_table("player", "score", right=["score"])
    table.add_row("path", "1")
    show(Group(Padding("first", (0, 0, 0, 2), expand=True), table, "last"))
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "  first"
    assert lines[-2:] == ["last", ""]
    assert [line for line in lines if line != line.rstrip()] == []
