"""The OpenVINO backend: the same answers as torch, new weights at the next question."""

import sys
from functools import cache

import numpy as np
import pytest
import torch

from sparring.core import InputError, RandomPlayer
from sparring.inference import Device, InferenceEngine
from sparring.inference.openvino import OpenVinoStep, installed
from sparring.policy import Output
from tests import hex as small

pytestmark = pytest.mark.skipif(not installed(), reason="openvino is not installed")


def engine(backend, policy, say=lambda text: None):
    made = InferenceEngine(small.spec(5), slots=64, device=Device.pick("cpu"), seed=0, backend=backend, say=say)
    made.add("main", policy)
    return made


@cache
def precision():
    """What OpenVINO calculates in on this machine."""
    return OpenVinoStep(small.policy(5), small.spec(5)).precision


def rows(count):
    """Decisions a few moves into random matches."""
    arena = small.arena(5, matches=count)
    player = RandomPlayer(0)
    for _ in range(6):
        decisions, _ = arena.wait()
        arena.act(decisions, player.act(decisions).action)
    return arena.wait()[0]


@pytest.mark.parametrize(
    "count", [1, pytest.param(16, marks=pytest.mark.slow), 37, pytest.param(200, marks=pytest.mark.slow)]
)
def test_answers_agree_with_torch(count):
    decisions = rows(count)
    ours, theirs = (engine(backend, small.policy(5)) for backend in ("openvino", "torch"))
    log_probs, values = ours.evaluate("main", decisions.observation, decisions.legal)
    expected, expected_values = theirs.evaluate("main", decisions.observation, decisions.legal)
    bf16 = precision() == "bf16"
    np.testing.assert_allclose(values, expected_values, atol=0.05 if bf16 else 1e-4)
    np.testing.assert_allclose(log_probs[decisions.legal], expected[decisions.legal], atol=0.05 if bf16 else 1e-3)
    chosen = np.take_along_axis(expected, log_probs.argmax(axis=1)[:, None], axis=1)[:, 0]
    assert (expected.max(axis=1) - chosen).max() <= (0.05 if bf16 else 0)  # its favourite is torch's, or as good as it


def test_swapped_weights_answer_the_next_question():
    decisions = rows(20)
    made = engine("openvino", small.policy(5, seed=0))
    before = made.evaluate("main", decisions.observation, decisions.legal)[1]
    other = small.policy(5, seed=1)
    made.swap("main", other.state_dict(), version=1)
    after = made.evaluate("main", decisions.observation, decisions.legal)[1]
    with torch.inference_mode():
        planes = {"planes": torch.from_numpy(decisions.observation["planes"])}
        expected = other.step(planes, torch.from_numpy(decisions.legal), {}).value.numpy()
    np.testing.assert_allclose(after, expected, atol=0.05)
    assert not np.allclose(before, after, atol=0.05)


def test_auto_says_in_one_line_what_it_measured():
    said = []
    engine("auto", small.policy(5), said.append)
    assert len(said) == 1
    assert "measured at start-up" in said[0]
    assert said[0].startswith(("inference by openvino", "inference by torch"))


def test_policies_with_memory_stay_with_torch():
    said = []
    engine("auto", small.policy(5, memory="lstm"), said.append)
    assert said == []
    with pytest.raises(InputError, match="backend = openvino: it serves policies without memory only"):
        engine("openvino", small.policy(5, memory="lstm"))


class Takes(torch.nn.Module):
    """A policy with an operation that OpenVINO's converter does not know."""

    def __init__(self, actions):
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(8))
        self.actions = actions

    def initial_memory(self, rows):
        return {}

    def step(self, observation, legal, memory):
        taken = torch.take(self.table, legal.long().sum(1) % 8)
        return Output(taken.unsqueeze(1).expand(-1, self.actions), taken, {})

    forward = step


def test_a_network_that_openvino_cannot_run_is_run_by_torch():
    said = []
    made = engine("auto", Takes(small.spec(5).actions), said.append)
    decisions = rows(4)
    assert len(made.answer(decisions, "main").action) == 4
    assert [line.startswith("inference by torch: openvino cannot run this network") for line in said] == [True]
    with pytest.raises(InputError, match="backend = openvino: it cannot run this network"):
        engine("openvino", Takes(small.spec(5).actions))


def test_nothing_is_reported_to_its_makers():
    OpenVinoStep(small.policy(5), small.spec(5))
    reporting = [name for name in sys.modules if name.startswith("openvino_telemetry.")]
    assert sys.modules["openvino_telemetry"] is None
    assert reporting == []
