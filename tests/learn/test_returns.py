"""Generalised advantages against numbers worked out by hand."""

import numpy as np

from sparring.learn.returns import generalised_advantages


def advantages(reward, value, lengths, last, gamma, gae_lambda):
    return generalised_advantages(
        np.array(reward, np.float32),
        np.array(value, np.float32),
        np.array(lengths, np.int32),
        np.array(last, np.float32),
        gamma,
        gae_lambda,
    )


def test_one_finished_episode_by_hand():
    """TD errors, worked backwards with gamma 0.9 and lambda 0.5.

    row 2: 1 - 0.3                          =  0.7
    row 1: 0 + 0.9 * 0.3 - 0.4 = -0.13;  -0.13 + 0.45 * 0.7    =  0.185
    row 0: 0 + 0.9 * 0.4 - 0.5 = -0.14;  -0.14 + 0.45 * 0.185  = -0.05675
    """
    advantage, target = advantages([0, 0, 1], [0.5, 0.4, 0.3], [3], [0], 0.9, 0.5)
    np.testing.assert_allclose(advantage, [-0.05675, 0.185, 0.7], rtol=1e-5)
    np.testing.assert_allclose(target, [0.44325, 0.585, 1.0], rtol=1e-5)


def test_a_truncated_episode_is_valued_by_what_comes_after_it():
    """0.5 + 0.9 * 2.0 - 0.3 = 2.0."""
    advantage, _ = advantages([0.5], [0.3], [1], [2.0], 0.9, 0.5)
    np.testing.assert_allclose(advantage, [2.0], rtol=1e-6)


def test_episodes_do_not_leak_into_each_other():
    together, _ = advantages([0, 1, 0, -1], [0.1, 0.2, 0.3, 0.4], [2, 2], [0, 0], 1.0, 0.95)
    one, _ = advantages([0, 1], [0.1, 0.2], [2], [0], 1.0, 0.95)
    other, _ = advantages([0, -1], [0.3, 0.4], [2], [0], 1.0, 0.95)
    np.testing.assert_allclose(together, np.concatenate([one, other]), rtol=1e-6)


def test_with_lambda_1_the_target_is_the_plain_return():
    _, target = advantages([1, 2, 3], [9, 9, 9], [3], [0], 1.0, 1.0)
    np.testing.assert_allclose(target, [6, 5, 3], rtol=1e-6)
