"""Value heads: the two-hot target by hand, what is learned, and that both kinds serve the same interface."""

import numpy as np
import pytest
import torch

from sparring.policy import BINS, Bins, Output, expected_value, two_hot, value_error, value_support
from tests import poker


def test_a_target_between_two_bins_is_shared_by_nearness():
    """Bins at -1, 0, 1: a target of 0.25 lies a quarter of the way from 0 to 1; beyond the ends the end takes all."""
    found = two_hot(torch.tensor([0.25, -1.0, 1.0, 7.0, -9.0, 0.0]), value_support(-1, 1, 3))
    wanted = [[0, 0.75, 0.25], [1, 0, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_the_mean_of_the_two_hot_weights_is_the_target():
    support = value_support(-13, 13)
    assert len(support) == BINS == 51
    target = torch.linspace(-13, 13, 777)
    torch.testing.assert_close((two_hot(target, support) * support).sum(-1), target, atol=1e-4, rtol=0)


def test_a_scalar_error_is_the_squared_difference():
    output = Output(torch.zeros(2, 3), torch.tensor([1.0, 2.0]), {})
    assert value_error(output, torch.tensor([0.0, 5.0])).tolist() == [1.0, 9.0]


def test_a_categorical_error_is_zero_for_the_two_hot_distribution_itself_and_grows_away_from_it():
    support = value_support(-1, 1, 5)
    target = torch.tensor([0.2, -0.7])
    perfect = (two_hot(target, support) + 1e-12).log()
    good = value_error(Output(torch.zeros(2, 3), expected_value(perfect, support), {}, Bins(perfect, support)), target)
    np.testing.assert_allclose(good, 0, atol=1e-6)
    bad = value_error(Output(torch.zeros(2, 3), target, {}, Bins(torch.zeros(2, 5), support)), target)
    assert (bad > 0.5).all()


def test_descending_the_categorical_error_leads_to_the_target():
    support = value_support(-2, 2)
    logits = torch.zeros(1, BINS, requires_grad=True)
    descent = torch.optim.Adam([logits], lr=0.3)
    for _ in range(200):
        output = Output(torch.zeros(1, 3), expected_value(logits, support), {}, Bins(logits, support))
        descent.zero_grad()
        value_error(output, torch.tensor([0.77])).sum().backward()
        descent.step()
    assert expected_value(logits, support).item() == pytest.approx(0.77, abs=0.01)


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize("value", ["scalar", "categorical"])
def test_step_and_unroll_agree(memory, value):
    policy = poker.policy(memory=memory, value=value)
    rng = np.random.default_rng(0)
    observation = torch.from_numpy(rng.random((5, 7, 26), np.float32))
    legal = torch.ones(5, 7, 3) > 0
    whole = policy.unroll({"state": observation}, legal, policy.initial_memory(7))
    state = policy.initial_memory(7)
    for step in range(5):
        output = policy.step({"state": observation[step]}, legal[step], state)
        state = output.memory
        torch.testing.assert_close(output.logits, whole.logits[step])
        torch.testing.assert_close(output.value, whole.value[step])
        assert output.value.shape == (7,)
        if value == "categorical":
            torch.testing.assert_close(output.bins.logits, whole.bins.logits[step])
            assert output.value.abs().max() <= 13
