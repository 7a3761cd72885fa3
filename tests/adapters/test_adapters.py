"""Sparring's games pass the other libraries' own checks."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

from sparring.adapters import MatchAec, MatchEnv
from sparring.core import InputError, RandomPlayer
from sparring.league import Style


@pytest.mark.filterwarnings("ignore")
def test_gymnasiums_own_check_passes(monkeypatch):
    """Gymnasium's checker draws actions blindly, so its draws are pointed at the mask."""
    env = MatchEnv("hex", opponent="random", size=4)
    monkeypatch.setattr(env.action_space, "sample", lambda: int(np.flatnonzero(env.action_masks())[0]))
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_match_is_an_episode_and_the_mask_shrinks(seat):
    env = MatchEnv("hex", opponent="path", seat=seat, size=4)
    rng = np.random.default_rng(0)
    rewards = []
    for _ in range(20):
        observation, info = env.reset()
        assert observation["planes"].sum() == seat
        over = False
        while not over:
            assert (info["action_mask"] == env.action_masks()).all()
            assert info["action_mask"].sum() == 16 - observation["planes"].sum()
            action = rng.choice(np.flatnonzero(info["action_mask"]))
            observation, reward, over, cut, info = env.step(action)
            assert not cut
            assert over or reward == 0
        assert reward == info["outcome"]
        rewards.append(reward)
    assert np.mean(rewards) < -0.8


def test_the_same_seed_gives_the_same_match():
    env = MatchEnv("hex", opponent="random", seat=1, size=5)
    boards = [env.reset(seed=3)[0]["planes"].copy() for _ in range(2)]
    np.testing.assert_array_equal(*boards)


def test_a_reset_in_mid_match_starts_anew():
    env = MatchEnv("hex", size=4)
    env.reset()
    env.step(5)
    observation, _ = env.reset()
    assert observation["planes"].sum() == 0


def test_any_player_can_be_the_opponent():
    """Shipped weights bring their own board."""
    env = MatchEnv("hex", opponent="hex-7x7", seat=1, style=Style(temperature=0.0))
    first = env.reset(seed=1)[0]["planes"].copy()
    assert first.shape == (2, 7, 7)
    assert first.sum() == 1
    np.testing.assert_array_equal(env.reset(seed=2)[0]["planes"], first)  # the likeliest move is always the same
    env = MatchEnv("hex", opponent=RandomPlayer(0), size=4)
    env.reset()
    assert env.step(np.int64(0))[0]["planes"].sum() == 2


def test_an_opponent_of_another_game_is_refused():
    with pytest.raises(InputError, match="a checkpoint of hex cannot play kuhn"):
        MatchEnv("kuhn", opponent="hex-7x7")


def test_a_seat_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="seat = 2: hex has seats 0 to 1"):
        MatchEnv("hex", seat=2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{"size": 4}, {"size": 3, "swap": True}])
def test_pettingzoos_own_api_test_passes(settings):
    api_test(MatchAec("hex", **settings), num_cycles=200)


@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_seed_test_passes():
    seed_test(lambda: MatchAec("hex", size=4, opening=2), num_cycles=50)
