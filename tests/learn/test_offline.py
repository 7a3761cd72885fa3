"""Offline learning: targets and losses by hand, what the filter drops, and a run that does better than its data."""

import math

import numpy as np
import pytest
import torch

from sparring.core import masked_log_softmax
from sparring.league import Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.learn.choices import set_log_prob
from sparring.learn.offline_filtered import filtered_loss
from sparring.learn.offline_weighted import weighted_loss
from sparring.learn.returns import n_step_returns
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests.runs import lines

TINY = {
    "game": "hex",
    "settings": {"size": 4},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "offline", "batch_size": 512, "minibatch_size": 64, "n_steps": 3},
    "validation": {"share": 0.2},
    "decisions": 3000,
    "threads": 1,
    "checkpoint": {"every": 2},
    "evaluation": {"matches": 100, "opponents": ["random"]},
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Hex in which a player that looks for paths meets one that does not."""
    folder = tmp_path_factory.mktemp("offline") / "mixed"
    seating = Seating.of("path", "random", game="hex", settings={"size": 4})
    self_play(seating, folder, Plan(matches=150, parallel=16), style=Style(), say=lambda text: None)
    return folder


def run(folder, store, learner=None, **changes):
    merged = {**TINY, "data": [str(store)], **changes, "learner": {**TINY["learner"], **(learner or {})}}
    config, game = validate_config(merged, where="test")
    return train(config, game, RunFolder(folder), say=lambda text: None)


def floats(*values):
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("n", "first", "second"),
    [(1, [1 + 0.3, 0 + 0.4, 5.0], [2 + 9.0]), (2, [1 + 0 + 0.4, 0 + 5, 5.0], [11.0]), (50, [6.0, 5.0, 5.0], [11.0])],
)
def test_a_target_is_what_came_and_the_critic_for_the_rest(n, first, second):
    reward, value = floats(1, 0, 5, 2), floats(0.2, 0.3, 0.4, 0.5)
    found = n_step_returns(reward, value, np.array([3, 1], np.int32), floats(0, 9), 1.0, n)
    assert found.tolist() == pytest.approx([*first, *second])


def test_rewards_and_the_critic_are_discounted():
    found = n_step_returns(floats(1, 1), floats(0, 4), np.array([2], np.int32), floats(8), 0.5, 1)
    assert found.tolist() == pytest.approx([1 + 2, 1 + 4])


def gradient_of(loss, logits, chosen, advantage, **options):
    logits = torch.tensor(logits, requires_grad=True)
    legal = torch.ones_like(logits, dtype=torch.bool)
    log_prob = set_log_prob(masked_log_softmax(logits, legal, xp=torch), torch.tensor(chosen))
    found = loss(log_prob, torch.tensor(advantage), torch.ones(len(advantage), dtype=torch.bool), **options)
    found["policy_loss"].backward()
    return found, logits.grad


def test_the_gradient_ignores_what_the_filter_drops():
    chosen = [[True, False, False], [False, True, False], [False, False, True]]
    logits = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    found, gradient = gradient_of(filtered_loss, logits, chosen, [0.5, -0.1, 0.0], threshold=0.0)
    assert gradient[0].abs().sum() > 0
    assert gradient[1:].abs().sum() == 0
    assert float(found["kept"]) == pytest.approx(1 / 3)
    assert float(found["policy_loss"].detach()) == pytest.approx(math.log(3))
    changed = [logits[0], [-7.0, 3.0, 1.0], [4.0, -4.0, 0.0]]
    _, again = gradient_of(filtered_loss, changed, [chosen[0], chosen[2], chosen[0]], [0.5, -9, -9], threshold=0.0)
    assert torch.equal(gradient[0], again[0])


def test_nothing_kept_is_no_loss_and_no_gradient():
    _, gradient = gradient_of(filtered_loss, [[1.0, 0.0]], [[True, False]], [-1.0], threshold=0.0)
    assert gradient.tolist() == [[0.0, 0.0]]


def test_a_choice_counts_by_the_exponential_of_its_advantage_up_to_a_limit():
    chosen = [[True, False], [True, False], [True, False]]
    advantage = [0.0, math.log(3) / 2, 50.0]
    found, _ = gradient_of(
        weighted_loss, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], chosen, advantage, temperature=0.5, max_weight=4.0
    )
    each = [math.log(2), math.log(1 + math.exp(-1)), math.log(1 + math.exp(1))]
    assert float(found["policy_loss"].detach()) == pytest.approx((each[0] + 3 * each[1] + 4 * each[2]) / 8)
    assert float(found["effective_share"]) == pytest.approx(8**2 / (1 + 9 + 16) / 3)


def test_a_set_of_actions_is_chosen_as_a_whole():
    open_ended = [[True, True, False]]
    _, gradient = gradient_of(filtered_loss, [[0.0, 0.0, 0.0]], open_ended, [1.0], threshold=0.0)
    assert gradient[0].tolist() == pytest.approx([-1 / 6, -1 / 6, 1 / 3])


def test_a_run_does_better_than_imitation_of_the_same_data(tmp_path, mixed):
    """Half of the episodes are random play; the filter has to find out which choices were good."""
    steps = {"decisions": 20_000, "evaluation": {"matches": 400, "opponents": ["random"]}}
    learner = {"batch_size": 512, "minibatch_size": 64, "learning_rate": 5e-3}
    imitation = {**TINY, **steps, "data": [str(mixed)], "learner": {**learner, "kind": "imitation"}}
    config, game = validate_config(imitation, where="test")
    plain = train(config, game, RunFolder(tmp_path / "plain"), say=lambda text: None).scores["random"].win_rate
    better = run(tmp_path / "filtered", mixed, {**learner, "n_steps": 50}, **steps).scores["random"].win_rate
    assert better > plain + 0.05
    kept = [line["loss/kept"] for line in lines(tmp_path / "filtered") if "loss/kept" in line]
    assert 0.2 < kept[-1] < 0.9


@pytest.mark.parametrize("loss", ["filtered", "weighted"])
def test_a_resumed_run_goes_on_with_the_same_critic(tmp_path, mixed, loss):
    steady = {"lr_schedule": "constant", "loss": loss}
    run(tmp_path / "whole", mixed, learner=steady, decisions=2000)
    run(tmp_path / "parts", mixed, learner=steady, decisions=700)
    run(tmp_path / "parts", mixed, learner=steady, decisions=2000)
    whole, parts = (
        {line["update"]: line["loss/value_loss"] for line in lines(tmp_path / name) if "loss/value_loss" in line}
        for name in ("whole", "parts")
    )
    assert parts == whole


@pytest.mark.parametrize("memory", ["lstm", "transformer"])
def test_networks_with_memory_learn_whole_episodes(tmp_path, mixed, memory):
    assert run(tmp_path / "run", mixed, network={**TINY["network"], "memory": memory}, decisions=1000).finished
