"""The Makefile: what there is to make, and names that are refused before anything is installed."""

import subprocess
from pathlib import Path

import pytest

from sparring.core import game_names

ROOT = Path(__file__).parents[1]


def make(*words):
    return subprocess.run(["make", "--silent", *words], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_help_lists_every_target_with_what_it_does():
    text = make("help").stdout
    assert text.startswith("help: what there is to make\n") or "\nhelp: what there is to make\n" in text
    for target in ("train", "setup", "test", "test-all", "lint", "format", "bench", "clean"):
        assert f"\n{target}: " in f"\n{text}"


@pytest.mark.parametrize("name", ["chess", "pok\u00e9mon", "hex,rocket"])
def test_setup_refuses_what_is_no_game_and_names_those_there_are(name):
    done = make("setup", f"GAMES={name}")
    assert done.returncode == 2
    assert f"GAMES: unknown game {name}; allowed: " in done.stderr
    told = done.stderr.partition("allowed: ")[2].splitlines()[0].split()
    assert sorted(told) == game_names()
