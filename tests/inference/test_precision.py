"""Actors in lower precision: close to float32, refreshed with the weights, and honest about what they played."""

import numpy as np
import pytest
import torch

from sparring.core import InputError
from sparring.inference import Device, InferenceEngine
from tests import hex, poker

CPU = Device("cpu", "float32")


def engine_in(dtype, policy, spec, **options):
    engine = InferenceEngine(spec, slots=64, device=Device.pick("cpu", dtype), seed=0, **options)
    engine.add("main", policy)
    return engine


def distributions(dtype, *, seed=0, memory="none"):
    """Log-probabilities of 32 first rows of Leduc."""
    from sparring.core import load_game

    game = load_game("leduc")
    arena = game.arena(game.settings(), matches=32, seed=0)
    decisions, _ = arena.wait()
    engine = engine_in(dtype, poker.policy(seed=seed, memory=memory), arena.spec)
    return engine.answer(decisions, "main", keep_policy=True), decisions.legal


@pytest.mark.parametrize("memory", ["none", "lstm", "transformer"])
@pytest.mark.parametrize(("dtype", "most"), [("bfloat16", 1e-3), ("int8", 2e-2)])
def test_the_distribution_stays_close(dtype, most, memory):
    exact, legal = distributions("float32", memory=memory)
    found, _ = distributions(dtype, memory=memory)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(legal, exact.policy * (np.log(exact.policy) - np.log(found.policy)), 0.0)
    assert np.abs(terms).max() > 0  # it is another precision
    assert terms.sum(axis=1).max() < most
    assert (exact.policy.argmax(1) == found.policy.argmax(1)).mean() > 0.9


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_the_recorded_probability_is_the_one_played_with(dtype):
    answers, _ = distributions(dtype)
    taken = answers.policy[np.arange(32), answers.action]
    np.testing.assert_allclose(np.log(taken), answers.log_prob, atol=1e-5)


def test_new_weights_reach_an_int8_policy():
    engine = engine_in("int8", hex.policy(), hex.spec())
    planes, legal = {"planes": np.zeros((3, 2, 4, 4), np.uint8)}, np.ones((3, 16), np.bool_)
    before, _ = engine.evaluate("main", planes, legal)
    torch.manual_seed(9)
    weights = {name: weight + 0.3 * torch.randn_like(weight) for name, weight in engine.weights("main").items()}
    engine.swap("main", weights, version=1)
    after, _ = engine.evaluate("main", planes, legal)
    assert np.abs(after - before).max() > 0.01
    exact = engine_in("float32", hex.policy(), hex.spec())
    exact.swap("main", weights, version=1)
    np.testing.assert_allclose(after, exact.evaluate("main", planes, legal)[0], atol=0.1)


def test_int8_is_refused_where_it_cannot_run():
    with pytest.raises(InputError, match="compile: "):
        engine_in("int8", hex.policy(), hex.spec(), compiled=True)
    with pytest.raises(InputError, match="openvino"):
        engine_in("int8", hex.policy(), hex.spec(), backend="openvino")
