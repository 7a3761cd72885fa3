"""Sparring's games pass the other libraries' own checks."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from sparring.adapters import MatchAec, MatchEnv
from sparring.core import IllegalAction, InputError, RandomPlayer, RunError, load_game
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


@pytest.mark.parametrize("game", ["rps", "leduc", "rocket", "pokemon"])
def test_an_update_of_stable_baselines_in_the_other_games(game):
    if game in ("rocket", "pokemon"):
        skip_unless_installed(game)
    env = MatchEnv(game)
    options = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}}
    learner = MaskablePPO("MultiInputPolicy", env, seed=0, **options)
    before = learner.policy.action_net.weight.clone()
    learner.learn(16)
    env.close()
    after = learner.policy.action_net.weight
    assert after.isfinite().all()
    assert not before.equal(after)


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
    planes = env.observation_space["planes"]
    assert (planes.low.min(), planes.high.max()) == (0, 1)
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


def test_a_game_need_not_be_installed(monkeypatch):
    class Renamed(type(load_game("hex"))):
        name = "renamed"

        def spec(self, settings):
            return replace(super().spec(settings), game="renamed")

    env = MatchEnv(Renamed(), opponent="random", size=3)
    env.reset(seed=0)
    assert env.step(int(np.flatnonzero(env.action_masks())[0]))[0]["planes"].sum() == 2
    assert MatchAec(Renamed(), size=3).metadata["name"] == "sparring_renamed"


@pytest.mark.parametrize("style", [{"temperature": 0}, {}, "greedy"])
def test_a_style_is_a_style(style):
    with pytest.raises(InputError, match="allowed: a Style, such as"):
        MatchEnv("hex", opponent="hex-7x7", style=style)


def test_a_seat_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="seat = 2: hex has seats 0 to 1"):
        MatchEnv("hex", seat=2)


@pytest.mark.parametrize("seat", ["0", None, 0.0])
def test_a_seat_that_is_no_number_is_refused(seat):
    with pytest.raises(InputError, match="hex has seats 0 to 1"):
        MatchEnv("hex", seat=seat)


def played_to_the_end(env):
    env.reset(seed=0)
    while True:
        *_, over, _, info = env.step(env.action_space.sample())
        if over:
            return info


def test_a_step_needs_a_match():
    env = MatchEnv("hex", size=3)
    with pytest.raises(InputError, match=r"no match has begun: call reset\(\)"):
        env.step(0)
    played_to_the_end(env)
    for _ in range(2):
        with pytest.raises(InputError, match=r"the match has ended: call reset\(\)"):
            env.step(0)
    assert env.reset()[0]["planes"].sum() == 0
    env.close()
    env.close()
    for call in (lambda: env.step(0), env.reset):
        with pytest.raises(RunError, match="the environment is closed"):
            call()


def test_nothing_is_legal_at_the_end():
    env = MatchEnv("hex", size=3)
    info = played_to_the_end(env)
    assert not info["action_mask"].any()
    assert not env.action_masks().any()


@pytest.mark.parametrize("action", [3, np.int64(3), np.int32(3), np.array(3), np.array([3])])
def test_an_action_is_a_whole_number_of_any_kind(action):
    env = MatchEnv("hex", size=3)
    env.reset()
    assert env.step(action)[0]["planes"][0].ravel()[3] == 1


@pytest.mark.parametrize("action", [1.7, 1.0, np.float32(1), np.array([1.0]), np.array([3, 4]), None, "a1"])
def test_any_other_action_is_refused_and_nothing_is_played(action):
    env = MatchEnv("hex", size=3)
    env.reset()
    with pytest.raises(InputError, match="action = .*: allowed: a whole number, 0 to 8"):
        env.step(action)
    assert env.step(0)[0]["planes"].sum() == 2


class Counting(RandomPlayer):
    asked = 0

    def act(self, decisions):
        self.asked += 1
        return super().act(decisions)


@pytest.mark.parametrize("action", [0, -1, 9])
def test_an_illegal_action_names_the_legal_ones_and_nobody_else_is_asked(action):
    opponent = Counting(0)
    env = MatchEnv("hex", opponent=opponent, size=3)
    env.reset()
    env.step(0)
    asked = opponent.asked
    legal = ", ".join(map(str, np.flatnonzero(env.action_masks())))
    with pytest.raises(IllegalAction, match="MaskablePPO") as error:
        env.step(action)
    assert f"seat 0: action {action} is not legal; legal: {legal} (7 of 9); see info['action_mask']" in str(error.value)
    assert error.value.__context__ is None
    assert opponent.asked == asked
    env.step(env.action_space.sample())


def test_options_of_the_game_are_given_by_name():
    for kind in (MatchEnv, MatchAec):
        with pytest.raises(InputError, match=r"options by name, such as Match\w+\('hex', size=5\)"):
            kind("hex", settings={"size": 5})
        with pytest.raises(InputError, match="seed = 'x': allowed: a whole number"):
            kind("hex", seed="x")


def test_nothing_is_drawn():
    with pytest.raises(InputError, match="render_mode = 'human': environments draw nothing"):
        MatchEnv("hex", render_mode="human")
    for env in (MatchEnv("hex", render_mode=None), MatchAec("hex")):
        with pytest.raises(InputError, match=r"render\(\): environments draw nothing"):
            env.render()


def test_environments_say_what_they_are():
    env = MatchEnv("hex", opponent="path", seat=1, size=5)
    assert repr(env) == "<MatchEnv: hex (size=5, swap=False), seat 1 against path>"
    assert repr(MatchAec("kuhn")) == "<MatchAec: kuhn, agents seat_0, seat_1>"


@pytest.mark.filterwarnings("ignore")
def test_every_installed_game_is_registered_with_gymnasium():
    env = gymnasium.make("sparring/hex", size=3, opponent="path")
    assert repr(env.unwrapped) == "<MatchEnv: hex (size=3, swap=False), seat 0 against path>"
    env.reset(seed=0)
    assert env.step(4)[0]["planes"].sum() == 2
    assert {"sparring/kuhn", "sparring/pokemon", "sparring/rocket"} <= set(gymnasium.registry)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{"size": 4}, {"size": 3, "swap": True}])
def test_pettingzoos_own_api_test_passes(settings):
    api_test(MatchAec("hex", **settings), num_cycles=200)


@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_seed_test_passes():
    seed_test(lambda: MatchAec("hex", size=4, opening=2), num_cycles=50)


def test_an_agent_recovers_from_an_action_that_is_refused():
    env = MatchAec("hex", size=3)
    env.reset(seed=0)
    env.step(0)
    for action, kind, told in (
        (0, IllegalAction, r"seat 1: action 0 is not legal; legal: .* \(8 of 9\); see observation\['action_mask'\]"),
        (None, InputError, "action = None: allowed: a whole number, 0 to 8"),
        (1.5, InputError, "action = 1.5: allowed"),
    ):
        with pytest.raises(kind, match=told):
            env.step(action)
        assert env.agent_selection == "seat_1"
    env.step(1)
    assert env.observe("seat_0")["observation"]["planes"].sum() == 2


def test_after_the_end_agents_are_stepped_with_none():
    env = MatchAec("hex", size=3)
    env.reset(seed=0)
    while not any(env.terminations.values()):
        env.step(env.last()[0]["action_mask"].argmax())
    with pytest.raises(InputError, match=r"action = 0: the match has ended; allowed: None, or reset\(\)"):
        env.step(0)
    env.step(None)
    env.step(None)
    with pytest.raises(InputError, match=r"the match has ended: call reset\(\)"):
        env.step(None)
    env.reset()
    env.step(0)
    env.close()
    with pytest.raises(RunError, match="the environment is closed"):
        env.step(1)


def test_before_reset_there_are_no_agents():
    env = MatchAec("hex", size=3)
    with pytest.raises(InputError, match=r"no match has begun: call reset\(\)"):
        env.step(0)
    with pytest.raises(InputError, match=r"no match has begun: call reset\(\)"):
        env.observe("seat_0")
    for look in (env.last, lambda: list(env.agent_iter()), lambda: env.agent_selection):
        with pytest.raises(AttributeError, match=r"no match has begun: call reset\(\)"):
            look()


def test_an_unknown_agent_is_refused():
    env = MatchAec("hex", size=3)
    env.reset()
    for look in (env.observe, env.observation_space, env.action_space):
        with pytest.raises(InputError, match="agent = 'blue': allowed: seat_0, seat_1"):
            look("blue")
