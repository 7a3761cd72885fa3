"""The random player: uniform, deterministic, and the same draws as the masked softmax gives."""

import numpy as np
import pytest

from sparring.core import Decisions, RandomPlayer
from sparring.core.distribution import masked_log_softmax, sample


def decisions(legal: np.ndarray) -> Decisions:
    rows = len(legal)
    return Decisions(
        match=np.arange(rows, dtype=np.int32),
        seat=np.zeros(rows, np.int32),
        observation={},
        legal=legal,
        reward=np.zeros(rows, np.float32),
        first=np.zeros(rows, np.bool_),
    )


@pytest.mark.parametrize("actions", [3, 14, 122, 2209])
def test_it_draws_what_the_masked_softmax_draws(actions: int) -> None:
    rng, uniform, player = np.random.default_rng(0), np.random.default_rng(7), RandomPlayer(7)
    for rows in (1, 5, 64):
        legal = rng.random((rows, actions)) < rng.random((rows, 1))
        legal[np.arange(rows), rng.integers(actions, size=rows)] = True
        log_probs = masked_log_softmax(np.zeros(legal.shape, np.float32), legal, xp=np)
        wanted = sample(log_probs, uniform.random(rows, np.float32), xp=np)
        action = player.act(decisions(legal)).action
        assert action.dtype == np.int32
        assert np.array_equal(action, wanted)
        assert legal[np.arange(rows), action].all()


def test_every_legal_action_is_as_likely() -> None:
    legal = np.tile(np.array([True, False, True, True, False]), (6000, 1))
    counts = np.bincount(RandomPlayer(1).act(decisions(legal)).action, minlength=5)
    assert counts[[1, 4]].sum() == 0
    assert (np.abs(counts[[0, 2, 3]] - 2000) < 200).all()


def test_it_goes_on_from_where_a_snapshot_was_taken() -> None:
    player, legal = RandomPlayer(3), np.ones((50, 9), np.bool_)
    player.act(decisions(legal))
    taken = player.snapshot()
    then = player.act(decisions(legal)).action
    other = RandomPlayer(4)
    other.restore(taken)
    assert (other.act(decisions(legal)).action == then).all()
    assert (other.act(decisions(legal)).action != then).any()
