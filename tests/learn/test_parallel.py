"""Learning in two processes is learning in one: same weights, same loss, same end, same fault."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests import poker
from tests.learn import together


def torchrun(case, folder, *, processes=2):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, "-m", "tests.learn.together", case, str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process comes to in 20 updates, of every learner."""
    folder = tmp_path_factory.mktemp("alone")
    together.run("equal", folder)
    return folder


def same(kind, alone, folder):
    expected, found = (load_file(where / f"{kind}.safetensors") for where in (alone, folder))
    for name, tensor in expected.items():
        if name.startswith(("policy/", "ppo/policy/", "target/", "previous/", "references/")):
            torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=1e-5)


def test_two_processes_equal_one_with_the_same_global_batch(alone, tmp_path):
    done = torchrun("equal", tmp_path)
    assert done.returncode == 0, done.stderr
    for kind in together.KINDS:
        same(kind, alone, tmp_path)
        fresh = poker.policy()
        moved = load_file(tmp_path / f"{kind}.safetensors")
        weights = {name.split("policy/", 1)[1]: value for name, value in moved.items() if "policy/" in name}
        assert max(float((weights[name] - value).abs().max()) for name, value in fresh.state_dict().items()) > 0.01


@pytest.mark.parametrize("first", [2, 1])
def test_a_run_goes_on_with_the_same_curve_on_another_number_of_processes(alone, tmp_path, first):
    for case, processes in (("first_half", first), ("second_half", 3 - first)):
        done = torchrun(case, tmp_path, processes=processes)
        assert done.returncode == 0, done.stderr
    for kind in together.KINDS:
        same(kind, alone, tmp_path)
        losses = json.loads((tmp_path / f"{kind}.losses").read_text())
        expected = json.loads((alone / f"{kind}.losses").read_text())
        np.testing.assert_allclose(losses, expected[together.STEPS // 2 :], rtol=1e-3, atol=1e-5)


def test_a_nan_of_one_process_stops_all_and_is_named(tmp_path):
    done = torchrun("nan", tmp_path)
    assert done.returncode == 0, done.stderr
    for kind in together.KINDS:
        for rank in range(2):
            text, unchanged = json.loads((tmp_path / f"{kind}.{rank}").read_text())
            assert "observation/state of rank 1 is not finite" in text
            assert unchanged


def test_an_update_ends_early_for_all_or_none(tmp_path):
    done = torchrun("early_stop", tmp_path)
    assert done.returncode == 0, done.stderr
    mine, theirs = (json.loads((tmp_path / f"epochs.{rank}").read_text()) for rank in range(2))
    assert mine == theirs
    assert max(mine) < 50


def test_a_normaliser_takes_in_the_rows_of_all_processes(tmp_path):
    done = torchrun("normalise", tmp_path)
    assert done.returncode == 0, done.stderr
    mine, theirs = (load_file(tmp_path / f"seen.{rank}")["seen"] for rank in range(2))
    assert torch.equal(mine, theirs)
    rows = poker.collect(300).steps.observation["state"]
    np.testing.assert_allclose(mine.double().mean(0), rows.mean(0, dtype=np.float64), atol=1e-6)
    assert len(mine) == len(rows)


def test_a_process_that_hangs_is_named(tmp_path):
    done = torchrun("hang", tmp_path)
    assert done.returncode != 0
    assert (tmp_path / "hang.0").read_text().startswith("rank 1 of 2 does not answer: it hangs or has ended")
