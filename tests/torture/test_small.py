"""The scripts of this folder at a size that every run of the tests can bear."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torture import damage, group_kills, two_writers

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def killed():
    """What was said of each command, all of which were killed a few times."""
    command = [sys.executable, "-m", "tests.torture.crash_points", "--most", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("scenario", ["keys", "setup rocket", "setup pokemon", "self-play", "train"])
def test_killed_before_a_file_operation_the_same_command_goes_on(killed, scenario):
    assert re.search(rf"^{scenario}: \d+ operations, [3-5] kills, 0 problems$", killed, re.MULTILINE), killed


def test_damaged_files_are_refused_or_read_right(tmp_path):
    (tmp_path / "files").mkdir()
    tally, problems = damage.torture(tmp_path / "files", 150)
    assert not problems
    assert tally["refused", True] >= 60


def test_two_writers_lose_no_shard(tmp_path):
    assert two_writers.torture(tmp_path, 4) == 0


def test_a_killed_group_leaves_no_shared_memory(tmp_path):
    assert group_kills.torture(1, tmp_path) == []
