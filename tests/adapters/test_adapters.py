"""Sparring's games pass the other libraries' own checks."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from sparring.adapters import MatchAec, MatchEnv
from sparring.core import InputError, RandomPlayer
from sparring.league import Style


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("game", ["hex", "kuhn", "leduc", "rps", "rocket", "pokemon"])
def test_the_checks_of_gymnasium_and_stable_baselines_pass(game):
    if game in ("rocket", "pokemon"):
        skip_unless_installed(game)
    env = MatchEnv(game)
    check_env(env, skip_render_check=True)
    sb3_check_env(env)
    env.close()


def skip_unless_installed(game):
    """Skips the test where `sparring setup` has not been run."""
    try:
        MatchEnv(game).close()
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("game", "settings"), [("hex", {"size": 4, "swap": True}), ("kuhn", {})])
def test_stable_baselines_trains_on_it_as_it_is(game, settings):
    env = MatchEnv(game, **settings)
    learner = MaskablePPO("MultiInputPolicy", env, n_steps=128, batch_size=64, seed=0)
    before = learner.policy.action_net.weight.clone()
    learner.learn(256)
    assert not before.equal(learner.policy.action_net.weight)


def test_samples_of_the_action_space_are_legal():
    env = MatchEnv("hex", size=3)
    for seed in range(5):
        env.reset(seed=seed)
        over = False
        while not over:
            action = env.action_space.sample()
            assert env.action_masks()[action]
            over = env.step(action)[2]


def test_planes_are_numbers_not_pixels():
    env = MatchEnv("hex", size=3)
    observation, _ = env.reset(seed=0)
    assert env.observation_space["planes"].dtype == observation["planes"].dtype == np.float32
    seen = MatchAec("hex", size=3)
    seen.reset()
    assert seen.observe("seat_1")["observation"]["planes"].dtype == np.float32


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
