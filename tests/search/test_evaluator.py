"""Asking the network: once a wave, never twice about a position, in either orientation."""

import numpy as np
import pytest

from sparring.games.hex import HexSettings
from sparring.search import Evaluator
from tests.search.reference import NoiseNetwork
from tests.search.support import positions


@pytest.fixture
def some():
    return positions(HexSettings(size=4), 30, plies=5, seed=0)


def test_answers_are_the_networks_own_with_and_without_cache(some):
    model, states = some
    ask = NoiseNetwork(16)
    legal = model.legal(states)
    log_probs, values = ask(model.encode(states), legal)
    for cache in (0, 8, 1 << 12):
        evaluator = Evaluator(model, ask, actions=16, cache=cache)
        for _ in range(3):
            ours = evaluator(states, legal)
            assert np.array_equal(ours[0], log_probs)
            assert np.array_equal(ours[1], values)


def test_a_position_is_asked_about_once(some):
    model, states = some
    ask = NoiseNetwork(16)
    evaluator = Evaluator(model, ask, actions=16)
    twice = np.concatenate([states, states[::-1]])
    evaluator(twice, model.legal(twice))
    different = len(np.unique(model.keys(states)))
    assert (ask.calls, evaluator.counters.asked) == (1, different)
    evaluator(states, model.legal(states))
    assert ask.calls == 1
    assert evaluator.counters.hit_rate == pytest.approx(1 - different / 90)
    assert evaluator.counters.mean_batch == different


def test_new_weights_forget_the_cache(some):
    model, states = some
    version = [0]
    networks = [NoiseNetwork(16, seed=0), NoiseNetwork(16, seed=1)]

    def ask(observation, legal):
        return networks[version[0]](observation, legal)

    evaluator = Evaluator(model, ask, actions=16, version=lambda: version[0])
    before = evaluator(states, model.legal(states))[1]
    version[0] = 1
    after = evaluator(states, model.legal(states))[1]
    assert np.array_equal(after, networks[1](model.encode(states), model.legal(states))[1])
    assert not np.array_equal(before, after)


def test_symmetry_gives_a_position_and_its_image_the_same_answer(some):
    model, states = some
    legal = model.legal(states)
    image, permutation = model.symmetry(model.encode(states))
    turned = model.states({"planes": np.ascontiguousarray(image["planes"])}, legal[:, permutation])
    ask = NoiseNetwork(16)
    evaluator = Evaluator(model, ask, actions=16, cache=0, symmetry=True)
    here, there = evaluator(states, legal), evaluator(turned, legal[:, permutation])
    assert ask.calls == 2
    np.testing.assert_allclose(here[1], there[1], atol=1e-6)
    np.testing.assert_allclose(np.exp(here[0]), np.exp(there[0][:, permutation]), atol=1e-6)
    np.testing.assert_allclose(np.where(legal, np.exp(here[0]), 0).sum(axis=1), 1, atol=1e-5)
