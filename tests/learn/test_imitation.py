"""Imitation: hand-worked losses, sets of actions, and a run that learns from a store, validates and resumes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from sparring.core import InputError, masked_log_softmax
from sparring.core.episodes import pack_mask
from sparring.league import Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.learn.choices import chosen_actions
from sparring.learn.imitation import ImitationSettings, choice_weights, imitation_losses
from sparring.policy.checkpoint import load_checkpoint
from sparring.rollout.store import read_episodes
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests.data.stores import played
from tests.runs import lines

TINY = {
    "game": "hex",
    "settings": {"size": 4},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "imitation", "batch_size": 512, "minibatch_size": 64},
    "validation": {"share": 0.2},
    "decisions": 3000,
    "threads": 1,
    "checkpoint": {"every": 2},
    "evaluation": {"matches": 60, "opponents": ["random"]},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Hex as the path player plays it."""
    folder = tmp_path_factory.mktemp("imitation") / "path"
    seating = Seating.of("path", game="hex", settings={"size": 4})
    self_play(seating, folder, Plan(matches=100, parallel=16), style=Style(), say=lambda text: None)
    return folder


def run(folder, store, learner=None, **changes):
    merged = {**TINY, "data": [str(store)], **changes, "learner": {**TINY["learner"], **(learner or {})}}
    config, game = validate_config(merged, where="test")
    return train(config, game, RunFolder(folder), say=lambda text: None)


def losses(probabilities, legal, chosen, weight=None, **options):
    weight = torch.ones(len(probabilities)) if weight is None else torch.tensor(weight)
    logits = torch.log(torch.tensor(probabilities))
    log_probs = masked_log_softmax(logits, torch.tensor(legal), xp=torch)
    found = imitation_losses(log_probs, torch.tensor(legal), torch.tensor(chosen), weight, **options)
    return {name: float(value) for name, value in found.items()}


def test_the_loss_of_a_set_is_of_its_whole_probability():
    one = losses([[0.5, 0.25, 0.25]], [[True] * 3], [[False, True, False]])
    two = losses([[0.5, 0.25, 0.25]], [[True] * 3], [[False, True, True]])
    everything = losses([[0.5, 0.25, 0.25]], [[True] * 3], [[True] * 3])
    assert one["policy_loss"] == pytest.approx(math.log(4))
    assert two["policy_loss"] == pytest.approx(math.log(2))
    assert everything["policy_loss"] == pytest.approx(0, abs=1e-6)


def test_illegal_actions_have_no_part_in_it():
    found = losses([[0.5, 0.25, 9.0]], [[True, True, False]], [[False, True, False]])
    assert found["policy_loss"] == pytest.approx(math.log(3))
    smoothed = losses([[0.5, 0.25, 9.0]], [[True, True, False]], [[False, True, False]], label_smoothing=0.5)
    assert smoothed["policy_loss"] == pytest.approx(0.5 * math.log(3) + 0.25 * (math.log(3) + math.log(1.5)))


def test_a_row_without_weight_neither_counts_nor_has_a_gradient():
    logits = torch.zeros(2, 3, requires_grad=True)
    chosen = torch.tensor([[True, False, False], [False, True, False]])
    legal = torch.ones(2, 3, dtype=torch.bool)
    log_probs = masked_log_softmax(logits, legal, xp=torch)
    found = imitation_losses(log_probs, legal, chosen, torch.tensor([1.0, 0.0]))
    found["policy_loss"].backward()
    assert found["policy_loss"].item() == pytest.approx(math.log(3))
    assert logits.grad is not None
    assert logits.grad[0].abs().sum() > 0
    assert logits.grad[1].abs().sum() == 0


def weights(outcome, rating, **settings):
    headers = played(60).headers.take(np.arange(len(outcome)))
    headers = replace(
        headers,
        outcome=np.array(outcome, np.float32),
        rating=None if rating is None else np.array(rating, np.float32),
    )
    return choice_weights(headers, ImitationSettings(**settings)).tolist()


def test_every_choice_counts_the_same_unless_asked_otherwise():
    assert weights([1, 0, -1], [1000, 2500, math.nan]) == [1, 1, 1]


def test_losers_count_for_less():
    assert weights([1, 0, -1], None, loser_weight=0.25) == [1, 1, 0.25]
    assert weights([1, 0, -1], None, loser_weight=0.0) == [1, 1, 0]


def test_ratings_double_what_a_choice_counts_within_limits_and_none_is_the_middle():
    found = weights([1] * 6, [1500, 1700, 1300, 1600, 9000, 0], rating_doubling=200.0)
    assert found == pytest.approx([1, 2, 0.5, 2**0.5, 8, 1 / 8])
    assert weights([1, -1], [math.nan, 1900], rating_doubling=200.0, loser_weight=0.5) == [1, 0.5 * 4]
    assert weights([1], [1700], rating_doubling=200.0, rating_middle=1700.0) == [1]
    assert weights([1], None, rating_doubling=200.0) == [1]


def test_what_was_chosen_is_the_action_or_the_set_of_consistent_ones(store):
    episodes = next(read_episodes(store))
    rows = np.arange(5)
    assert (chosen_actions(episodes, rows).argmax(axis=1) == episodes.steps.action[:5]).all()
    both = episodes.unpack_legal()
    open_ended = replace(episodes, steps=replace(episodes.steps, consistent=pack_mask(both)))
    assert (chosen_actions(open_ended, rows) == both[:5]).all()


def test_a_run_learns_what_a_player_does_and_plays_it(tmp_path, store):
    outcome = run(tmp_path / "run", store, decisions=30_000)
    assert outcome.finished
    assert outcome.scores["random"].win_rate > 0.75
    validated = [line for line in lines(tmp_path / "run") if "validation/top1" in line]
    assert validated[-1]["validation/log_loss"] < validated[0]["validation/log_loss"]
    assert validated[-1]["validation/top1"] > 2 / 16  # the player draws lots among moves that are as good
    assert load_checkpoint(tmp_path / "run" / "best").spec.game == "hex"


def test_a_resumed_run_goes_on_behind_the_same_batch(tmp_path, store):
    steady = {"lr_schedule": "constant"}
    run(tmp_path / "whole", store, learner=steady)
    run(tmp_path / "parts", store, learner=steady, decisions=1000)
    run(tmp_path / "parts", store, learner=steady)
    whole, parts = (
        {line["update"]: line["loss/policy_loss"] for line in lines(tmp_path / name) if "loss/policy_loss" in line}
        for name in ("whole", "parts")
    )
    assert parts == whole


@pytest.mark.parametrize("memory", ["lstm", "transformer"])
def test_networks_with_memory_imitate_windows(tmp_path, store, memory):
    learner = {"segment_length": 4}
    network = {**TINY["network"], "memory": memory}
    outcome = run(tmp_path / "run", store, learner=learner, network=network, decisions=1500)
    assert outcome.finished


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"learner": {"kind": "ppo"}, "data": ["x"]}, "data, data_share: ppo needs both"),
        ({"learner": {"kind": "ppo"}, "data": [], "data_share": 0.2}, "data, data_share: ppo needs both"),
        ({"data_share": 0.5}, "data_share: imitation learns from data alone"),
        ({"validation": {"since": "2025-02-30"}}, "validation.since = '2025-02-30': no such day"),
        ({"opponents": {"path": 0.5}}, "opponents: imitation plays no matches"),
    ],
)
def test_what_does_not_go_together_is_one_line(changes, line):
    with pytest.raises(InputError, match=line):
        validate_config({**TINY, "data": ["x"], **changes}, where="test")


def test_episodes_that_do_not_fit_are_one_line(tmp_path, store):
    with pytest.raises(InputError, match="data: 17 actions, not 26|data: "):
        run(tmp_path / "run", store, settings={"size": 5})
    config, game = validate_config({**TINY, "data": []}, where="test")
    with pytest.raises(InputError, match="data: imitation needs episodes: data=FOLDER"):
        train(config, game, RunFolder(tmp_path / "run"), say=lambda text: None)
    with pytest.raises(InputError, match="nothing"):
        run(tmp_path / "run", tmp_path / "nothing")
