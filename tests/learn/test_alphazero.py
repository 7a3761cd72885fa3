"""AlphaZero: hand-worked losses, the replay window, and a run that learns, gates, resumes and starts from weights."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sparring.core import Array, InputError, Rows
from sparring.learn.alphazero import AlphaZero, AlphaZeroSettings, alphazero_losses, mirror, searched_rows
from sparring.learn.outputs import row_outputs
from sparring.learn.replay import ReplayWindow
from sparring.policy import value_error
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import load_config, validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests import hex, poker
from tests.poker import CPU
from tests.runs import updates

TINY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "learner": {
        "kind": "alphazero",
        "search": {"kind": "gumbel", "simulations": 8, "gumbel_scale": 1.0, "reuse_tree": False},
        "batch_size": 256,
        "minibatch_size": 64,
        "window_size": 1000,
        "lr_schedule": "constant",
    },
    "decisions": 1500,
    "matches": 16,
    "threads": 1,
    "backend": "torch",
    "checkpoint": {"every": 2, "keep": 2},
    "evaluation": {"matches": 40, "opponents": ["random"]},
}


def run(folder, learner=None, **changes):
    merged = {**TINY, **changes, "learner": {**TINY["learner"], **(learner or {})}}
    config, game = validate_config(merged, where="test")
    return train(config, game, RunFolder(folder), say=lambda text: None)


def test_losses_by_hand():
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25, 9.0]]))
    legal = torch.tensor([[True, True, True, False]])
    policy = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    losses = alphazero_losses(logits, legal, policy, torch.tensor([2.25]))
    assert float(losses["policy_loss"]) == pytest.approx(np.log(2))
    assert float(losses["value_loss"]) == pytest.approx(2.25)
    assert float(losses["policy_kl"]) == pytest.approx(np.log(2))
    same = torch.tensor([[0.5, 0.25, 0.25, 0.0]])
    losses = alphazero_losses(logits, legal, same, torch.tensor([0.0]))
    assert float(losses["policy_kl"]) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("term", "moved", "still"), [("policy", "policy", "value"), ("value", "value", "policy")])
def test_each_loss_term_moves_the_head_it_should_and_the_encoder(term, moved, still):
    policy = hex.policy()
    planes, legal = {"planes": torch.zeros(4, 2, 4, 4, dtype=torch.uint8)}, torch.ones(4, 16, dtype=torch.bool)
    output = policy.step(planes, legal, policy.initial_memory(4))
    targets = torch.eye(16)[:4]
    errors = value_error(output, torch.ones(4))
    alphazero_losses(output.logits, legal, targets, errors)[f"{term}_loss"].backward()
    size = {name: 0.0 if p.grad is None else float(p.grad.abs().max()) for name, p in policy.named_parameters()}
    assert max(size[name] for name in size if name.startswith(f"head.{moved}")) > 0
    assert max(size[name] for name in size if name.startswith("encoder")) > 0
    assert max(size[name] for name in size if name.startswith(f"head.{still}")) == 0


@dataclass(frozen=True, slots=True, eq=False)
class Numbers(Rows):
    x: NDArray[np.int64]
    groups: Mapping[str, Array]


def numbers(*values):
    return Numbers(np.array(values), {"double": 2 * np.array(values)})


def held(rows):
    assert (rows.groups["double"] == 2 * rows.x).all()
    return rows.x.tolist()


def test_the_window_keeps_the_newest_rows():
    window = ReplayWindow(5)
    assert (len(window), window.snapshot()) == (0, None)
    with pytest.raises(ValueError, match="empty"):
        window.draw(1, np.random.default_rng(0))
    window.add(numbers(0, 1, 2))
    assert (len(window), held(window.snapshot())) == (3, [0, 1, 2])
    window.add(numbers(3, 4, 5, 6))
    assert (len(window), held(window.snapshot())) == (5, [2, 3, 4, 5, 6])
    assert set(held(window.draw(200, np.random.default_rng(0)))) == {2, 3, 4, 5, 6}
    window.add(numbers(*range(100, 120)))
    assert held(window.snapshot()) == [115, 116, 117, 118, 119]
    other = ReplayWindow(5)
    other.restore(window.snapshot())
    other.add(numbers(7))
    assert held(other.snapshot()) == [116, 117, 118, 119, 7]


def test_drawn_rows_are_copies():
    window = ReplayWindow(3)
    window.add(numbers(1, 2, 3))
    window.draw(50, np.random.default_rng(0)).x[:] = 0
    assert held(window.snapshot()) == [1, 2, 3]


def test_the_value_target_mixes_outcome_and_search_value_by_q_ratio():
    episodes = poker.collect(50)
    outcome = np.repeat(episodes.headers.outcome, episodes.headers.lengths)
    np.testing.assert_array_equal(searched_rows(episodes, 0.0).value, outcome)
    np.testing.assert_array_equal(searched_rows(episodes, 1.0).value, episodes.steps.value)
    mixed = searched_rows(episodes, 0.25).value
    np.testing.assert_allclose(mixed, 0.75 * outcome + 0.25 * episodes.steps.value, rtol=1e-6)


def test_mirrored_rows_are_the_image_and_the_others_stay():
    """Two actions that the image swaps, and a field that it reverses."""

    def symmetry(observation):
        return {"line": observation["line"][:, ::-1]}, np.array([1, 0], np.int32)

    line, legal = np.array([[1, 2], [3, 4]]), np.array([[True, False], [True, False]])
    policy = np.array([[1, 0], [1, 0]], np.float32)
    mirror(symmetry, slice(0, 1), {"line": line}, legal, policy)
    assert line.tolist() == [[2, 1], [3, 4]]
    assert legal.tolist() == [[False, True], [True, False]]
    assert policy.tolist() == [[0, 1], [1, 0]]


def alphazero(policy, **settings):
    return AlphaZero(policy, AlphaZeroSettings(minibatch_size=64, **settings), device=CPU, seed=0, symmetry=None)


def test_a_categorical_value_head_learns_from_the_outcome():
    """One number could not: the bins' own logits get the gradient."""
    episodes, policy = poker.collect(200), poker.policy(value="categorical", loud=False)
    episodes.headers.outcome[:] = 1.0
    learner = alphazero(policy, learning_rate=1e-2, q_ratio=0.0, replay_ratio=10.0)
    losses = [learner.update(episodes, progress=0)["value_loss"] for _ in range(8)]
    assert losses[0] > 1  # nats: 51 bins, all alike at first
    assert losses[-1] < 0.2
    _, value = row_outputs(policy, episodes, device=CPU)
    assert (value - 1).abs().mean() < 0.2


def test_a_learner_loaded_from_its_state_goes_on_as_the_first_would():
    first, second = alphazero(poker.policy()), alphazero(poker.policy(seed=5))
    first.update(poker.collect(100), progress=0)
    tensors, values = first.state()
    second.load({name: tensor.clone() for name, tensor in tensors.items()}, values)
    metrics = [learner.update(poker.collect(150), progress=0) for learner in (first, second)]
    assert metrics[0] == metrics[1]
    assert metrics[0]["window_rows"] > 250
    for name, weight in first.policy.state_dict().items():
        assert torch.equal(weight, second.policy.state_dict()[name])


def test_it_learns_three_by_three(tmp_path):
    outcome = run(tmp_path, learner={"learning_rate": 5e-3}, decisions=3000, matches=64)
    history = updates(tmp_path)
    assert history[-1]["loss/value_loss"] < history[0]["loss/value_loss"]
    assert history[-1]["loss/policy_loss"] < history[0]["loss/policy_loss"]
    assert history[-1]["play/cache_hits"] > 0.3
    assert outcome.scores["random"].win_rate > 0.7


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path):
    run(tmp_path / "whole")
    run(tmp_path / "parts", decisions=700)
    run(tmp_path / "parts")
    ours, theirs = load_checkpoint(tmp_path / "parts" / "best"), load_checkpoint(tmp_path / "whole" / "best")
    assert ours.version == theirs.version
    for name, weight in ours.weights.items():
        assert torch.equal(weight, theirs.weights[name]), name


def test_the_gate_lets_only_better_weights_play(tmp_path):
    gate = {"every": 2, "matches": 16, "threshold": 1.0}
    run(tmp_path / "shut", learner={"gate": gate})
    shut = updates(tmp_path / "shut")
    assert [("rating/gate" in line) for line in shut] == [line["update"] % 2 == 0 for line in shut]
    assert all(line["play/policy_lag"] == line["update"] - 1 for line in shut), "version 0 plays for ever"
    run(tmp_path / "open", learner={"gate": {**gate, "threshold": 0.0}})
    assert updates(tmp_path / "open")[-1]["play/policy_lag"] < shut[-1]["play/policy_lag"]


def test_weights_carry_to_a_larger_board(tmp_path):
    run(tmp_path / "three", decisions=300)
    small = load_checkpoint(tmp_path / "three" / "best").weights
    config = {**TINY, "settings": {"size": 5}, "init": str(tmp_path / "three"), "decisions": 100}
    config["learner"] = {**TINY["learner"], "learning_rate": 1e-12}
    made, game = validate_config(config, where="test")
    train(made, game, RunFolder(tmp_path / "five"), say=lambda text: None)
    carried = load_checkpoint(tmp_path / "five" / "best")
    assert carried.spec.settings["size"] == 5
    for name, weight in carried.weights.items():
        torch.testing.assert_close(weight, small[name], atol=1e-5, rtol=0)
    with pytest.raises(InputError, match=r"init = .*its network is .*, not"):
        run(tmp_path / "other", init=str(tmp_path / "three"), network={"channels": 16, "blocks": 1})


@pytest.mark.parametrize("preset", ["hex-5x5", "hex-7x7", "hex-9x9"])
def test_presets_are_valid(preset):
    config, _ = load_config(preset, [])
    assert config.learner.search.simulations >= 16


def test_bad_settings_name_the_key(tmp_path):
    with pytest.raises(InputError, match=r"learner\.search\.simulation: unknown key \(did you mean 'simulations'"):
        load_config("hex-7x7", ["learner.search.simulation=3"])
    with pytest.raises(InputError, match=r"learner\.replay_ratio"):
        load_config("hex-7x7", ["learner.replay_ratio=0"])


def test_search_figures_are_in_the_metrics(tmp_path):
    run(tmp_path, decisions=300)
    line = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0])
    assert line["play/calls_per_move"] <= 9
    assert {"play/search_batch", "play/cache_hits", "loss/policy_kl", "loss/window_rows"} <= line.keys()
