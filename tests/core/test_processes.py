"""A script that starts processes without a guard is told so in one line, and only that."""

import subprocess
import sys
from contextlib import nullcontext
from multiprocessing import get_context

import pytest

from sparring.core import RunError
from sparring.core.processes import UNGUARDED, check_guarded
from tests.data.stores import hex_store

TRAINS = """
import sparring
sparring.train("hex-quick", "workers=2", "decisions=512", "evaluation.matches=2", "settings.size=3", run="run")
"""
LOADS = """
import sparring
from sparring.data import Dataset
next(Dataset("store", batch_size=1, workers=1).batches())
"""


def errors_of(script, folder):
    (folder / "mine.py").write_text(script)
    done = subprocess.run([sys.executable, "mine.py"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    return done.stderr


def assert_told_once(errors):
    assert "An attempt has been made to start a new process" not in errors
    assert "mine.py starts processes" in errors.splitlines()[-1]
    assert 'under `if __name__ == "__main__":`' in errors.splitlines()[-1]


def test_a_training_script_without_a_guard(tmp_path):
    errors = errors_of(TRAINS, tmp_path)
    assert_told_once(errors)
    assert not (tmp_path / "run").exists()


def test_a_script_without_a_guard_whose_data_others_load(tmp_path):
    hex_store(tmp_path / "store", shards=1)
    assert_told_once(errors_of(LOADS, tmp_path))


@pytest.mark.parametrize("code", [0, 1, UNGUARDED])
def test_only_one_exit_code_means_that_a_guard_is_missing(code):
    child = get_context("spawn").Process(target=sys.exit, args=(code,))
    child.start()
    child.join()
    with pytest.raises(RunError, match="starts processes") if code == UNGUARDED else nullcontext():
        check_guarded(child)
