"""The masked distribution: exact zeros for illegal actions, one meaning in numpy and torch."""

import numpy as np
import pytest
import torch

from sparring.core import entropy, masked_log_softmax, sample


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 9)).astype(np.float32) * 5
    legal = rng.random((500, 9)) < 0.4
    legal[np.arange(500), rng.integers(0, 9, 500)] = True
    return logits, legal


def test_probabilities_of_legal_actions_sum_to_one_and_illegal_ones_are_zero(rows):
    logits, legal = rows
    probs = np.exp(masked_log_softmax(logits, legal, xp=np))
    np.testing.assert_allclose(probs.sum(-1), 1, rtol=1e-5)
    assert (probs[~legal] == 0).all()


def test_numpy_and_torch_agree(rows):
    logits, legal = rows
    ours = masked_log_softmax(logits, legal, xp=np)
    theirs = masked_log_softmax(torch.from_numpy(logits), torch.from_numpy(legal), xp=torch)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-5)


def test_logits_of_illegal_actions_change_nothing(rows):
    logits, legal = rows
    other = np.where(legal, logits, logits + 50)
    np.testing.assert_array_equal(masked_log_softmax(logits, legal, xp=np), masked_log_softmax(other, legal, xp=np))


def test_sampling_draws_only_legal_actions_at_their_probabilities():
    log_probs = np.log(np.array([0.1, 0.0, 0.6, 0.3, 0.0], np.float32) + 1e-30)
    log_probs = masked_log_softmax(log_probs, np.array([1, 0, 1, 1, 0], bool), xp=np)
    uniform = np.random.default_rng(1).random(200_000, np.float32)
    drawn = sample(np.broadcast_to(log_probs, (200_000, 5)), uniform, xp=np)
    share = np.bincount(drawn, minlength=5) / 200_000
    assert share[1] == share[4] == 0
    np.testing.assert_allclose(share, [0.1, 0, 0.6, 0.3, 0], atol=0.005)


@pytest.mark.parametrize("draw", [0.0, 0.5, 1 - 2**-24])
def test_the_largest_and_smallest_draws_stay_legal(draw):
    legal = np.zeros((64, 64), bool)
    legal[np.arange(64), np.arange(64)] = True
    log_probs = masked_log_softmax(np.zeros((64, 64), np.float32), legal, xp=np)
    assert (sample(log_probs, np.full(64, draw, np.float32), xp=np) == np.arange(64)).all()


def test_gradients_stay_finite_and_reach_only_legal_logits(rows):
    logits, legal = (torch.from_numpy(array) for array in rows)
    logits.requires_grad_()
    log_probs = masked_log_softmax(logits, legal, xp=torch)
    (entropy(log_probs, xp=torch).sum() + log_probs.max(-1).values.sum()).backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[~legal] == 0).all()


def test_entropy_of_a_uniform_choice_is_the_log_of_its_size():
    legal = np.array([[True, True, True, True, False]])
    log_probs = masked_log_softmax(np.zeros((1, 5), np.float32), legal, xp=np)
    np.testing.assert_allclose(entropy(log_probs, xp=np), np.log(4), rtol=1e-6)
