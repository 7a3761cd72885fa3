"""Several policies in one batch: the joint pass answers what the separate ones do."""

import numpy as np
import pytest
import torch

from sparring.core import Decisions, load_game
from sparring.inference import Device, InferenceEngine
from sparring.inference.stack import pays, stacked
from sparring.policy.network import build_network

POLICIES = [f"p{number}" for number in range(9)]


def engine(network, *, beside=True):
    game = load_game("leduc")
    spec = game.spec(game.settings())
    made = InferenceEngine(spec, slots=200, device=Device.pick("cpu"), seed=3)
    for number, name in enumerate(POLICIES):
        torch.manual_seed(number)
        made.add(name, build_network(network, game, spec), beside=POLICIES[0] if beside and number else None)
    return made


def decisions(spec, rows, *, first):
    rng = np.random.default_rng(7)
    return Decisions(
        match=np.arange(rows, dtype=np.int32),
        seat=np.zeros(rows, np.int32),
        observation={"state": rng.random((rows, *spec.observation["state"].shape), np.float32)},
        legal=np.ones((rows, spec.actions), np.bool_),
        reward=np.zeros(rows, np.float32),
        first=np.full(rows, first),
    )


@pytest.mark.parametrize("memory", ["none", "lstm", "transformer"])
def test_the_joint_batch_answers_what_the_separate_ones_do(monkeypatch, memory):
    network = {"width": 16, "layers": 1, "memory": memory}
    joint, apart = engine(network), engine(network, beside=False)
    which = np.random.default_rng(1).permutation(np.repeat(np.arange(9), 8))
    for first in (True, False):
        rows = decisions(joint.spec, len(which), first=first)
        together = joint.answer_each(rows, POLICIES, which)
        with monkeypatch.context() as patch:
            patch.setattr("sparring.inference.engine.pays", lambda rows: False)
            alone = apart.answer_each(rows, POLICIES, which)
        assert (together.action == alone.action).all()
        np.testing.assert_allclose(together.log_prob, alone.log_prob, atol=1e-5)
    assert (joint.counters.forwards == 2) == (memory != "lstm"), "torch cannot stack an LSTM cell"
    assert apart.counters.forwards == 18


def test_new_weights_are_in_the_next_joint_batch():
    joint = engine({"width": 16, "layers": 1})
    which = np.repeat(np.arange(9), 8)
    rows = decisions(joint.spec, len(which), first=True)
    before = joint.answer_each(rows, POLICIES, which)
    joint.swap("p4", {name: weight + 0.5 for name, weight in joint.weights("p4").items()}, version=2)
    after = joint.answer_each(rows, POLICIES, which)
    changed = before.log_prob != after.log_prob
    alone = joint.answer(rows.take(np.flatnonzero(which == 4)), "p4", temperature=0, keep_policy=True)
    assert changed[which == 4].any()
    drawn = alone.policy[np.arange(8), after.action[which == 4]]
    np.testing.assert_allclose(after.log_prob[which == 4], np.log(drawn), atol=1e-4)


def test_networks_of_two_shapes_are_not_stacked():
    game = load_game("leduc")
    spec = game.spec(game.settings())
    modules = [build_network({"width": width, "layers": 1}, game, spec) for width in (8, 16)]
    assert stacked(modules, spec, Device.pick("cpu")) is None
    assert stacked(modules[:1] * 2, spec, Device.pick("cpu")) is not None


def test_stacking_is_for_many_policies_of_few_rows():
    assert pays(np.full(20, 8))
    assert not pays(np.full(2, 8)), "too few"
    assert not pays(np.full(20, 200)), "a pass of each is full already"
    assert not pays(np.array([30] + [1] * 12)), "mostly padding"
