"""Learning in two processes is learning in one: same weights, same loss, same end, same fault."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests import poker
from tests.learn import together
from tests.warm import group


def run_together(cases, folder):
    for process in group(cases, folder, module="tests.learn.together"):
        _, errors = process.communicate()
        assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process comes to, of every learner: in 20 updates, and in the first half of them."""
    folder = tmp_path_factory.mktemp("alone")
    for case in ("equal", "first_half"):
        (folder / case).mkdir()
        together.run(case, folder / case)
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What two processes come to."""
    folder = tmp_path_factory.mktemp("two")
    run_together("equal,first_half,nan,early_stop,normalise", folder)
    return folder


def assert_same(kind, alone, folder):
    expected, found = (load_file(where / f"{kind}.safetensors") for where in (alone, folder))
    for name, tensor in expected.items():
        if name.startswith(("policy/", "ppo/policy/", "target/", "previous/", "references/")):
            torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", together.KINDS)
def test_two_processes_equal_one_with_the_same_global_batch(alone, two, kind):
    assert_same(kind, alone / "equal", two / "equal")
    moved = load_file(two / "equal" / f"{kind}.safetensors")
    weights = {name.split("policy/", 1)[1]: value for name, value in moved.items() if "policy/" in name}
    fresh = poker.policy().state_dict()
    assert max(float((weights[name] - value).abs().max()) for name, value in fresh.items()) > 0.01


def test_a_run_goes_on_with_the_same_curve_on_another_number_of_processes(alone, two):
    """From two processes to one, and from one to two."""
    (two / "second_half").mkdir()
    together.run("second_half", two / "second_half")
    run_together("second_half", alone)
    for folder in (two, alone):
        for kind in together.KINDS:
            assert_same(kind, alone / "equal", folder / "second_half")
            losses = json.loads((folder / "second_half" / f"{kind}.losses").read_text())
            expected = json.loads((alone / "equal" / f"{kind}.losses").read_text())
            np.testing.assert_allclose(losses, expected[together.STEPS // 2 :], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", together.KINDS)
def test_a_nan_of_one_process_stops_all_and_is_named(two, kind):
    for rank in range(2):
        text, unchanged = json.loads((two / "nan" / f"{kind}.{rank}").read_text())
        assert "observation/state of rank 1 is not finite" in text
        assert unchanged


def test_an_update_ends_early_for_all_or_none(two):
    mine, theirs = (json.loads((two / "early_stop" / f"epochs.{rank}").read_text()) for rank in range(2))
    assert mine == theirs
    assert max(mine) < 50


def test_a_normaliser_takes_in_the_rows_of_all_processes(two):
    mine, theirs = (load_file(two / "normalise" / f"seen.{rank}")["seen"] for rank in range(2))
    assert torch.equal(mine, theirs)
    rows = poker.collect(300).steps.observation["state"]
    np.testing.assert_allclose(mine.double().mean(0), rows.mean(0, dtype=np.float64), atol=1e-6)
    assert len(mine) == len(rows)


def test_a_process_that_hangs_is_named(tmp_path):
    first, second = group("hang", tmp_path, module="tests.learn.together")
    assert first.wait() != 0
    second.kill()
    assert (tmp_path / "hang" / "hang.0").read_text().startswith("rank 1 of 2 does not answer: it hangs or has ended")
