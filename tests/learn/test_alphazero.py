"""AlphaZero: hand-worked losses, the replay window, and a run that learns, gates, resumes and starts from weights."""

import json

import numpy as np
import pytest
import torch

from sparring.core import InputError
from sparring.learn.alphazero import alphazero_losses
from sparring.learn.replay import ReplayWindow
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import load_config, validate_config
from sparring.training.run import RunFolder
from sparring.training.training import train
from tests import hex
from tests.runs import lines

TINY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "learner": {
        "kind": "alphazero",
        "search": {"kind": "gumbel", "simulations": 8, "gumbel_scale": 1.0, "reuse_tree": False},
        "rows": 256,
        "batch": 64,
        "window": 1000,
        "schedule": "constant",
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
    parts = alphazero_losses(logits, torch.tensor([0.5]), legal, policy, torch.tensor([-1.0]))
    assert float(parts["policy_loss"]) == pytest.approx(np.log(2))
    assert float(parts["value_loss"]) == pytest.approx(2.25)
    assert float(parts["divergence"]) == pytest.approx(np.log(2))
    same = torch.tensor([[0.5, 0.25, 0.25, 0.0]])
    parts = alphazero_losses(logits, torch.tensor([0.5]), legal, same, torch.tensor([0.5]))
    assert float(parts["divergence"]) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("term", "moved", "still"), [("policy", "policy", "value"), ("value", "value", "policy")])
def test_each_loss_term_moves_the_head_it_should_and_the_encoder(term, moved, still):
    policy = hex.policy()
    planes, legal = {"planes": torch.zeros(4, 2, 4, 4, dtype=torch.uint8)}, torch.ones(4, 16, dtype=torch.bool)
    output = policy.step(planes, legal, policy.initial_memory(4))
    targets = torch.eye(16)[:4]
    alphazero_losses(output.logits, output.value, legal, targets, torch.ones(4))[f"{term}_loss"].backward()
    size = {name: 0.0 if p.grad is None else float(p.grad.abs().max()) for name, p in policy.named_parameters()}
    assert max(size[name] for name in size if name.startswith(f"head.{moved}")) > 0
    assert max(size[name] for name in size if name.startswith("encoder")) > 0
    assert max(size[name] for name in size if name.startswith(f"head.{still}")) == 0


def test_the_window_keeps_the_newest_rows():
    window = ReplayWindow(5)
    window.add({"x": np.arange(3)})
    window.add({"x": np.arange(3, 7)})
    assert window.snapshot()["x"].tolist() == [2, 3, 4, 5, 6]
    assert set(window.draw(200, np.random.default_rng(0))["x"].tolist()) == {2, 3, 4, 5, 6}
    window.add({"x": np.arange(100, 120)})
    assert window.snapshot()["x"].tolist() == [115, 116, 117, 118, 119]
    other = ReplayWindow(5)
    other.restore(window.snapshot())
    other.add({"x": np.array([7])})
    assert other.snapshot()["x"].tolist() == [116, 117, 118, 119, 7]


def test_it_learns_three_by_three(tmp_path):
    outcome = run(tmp_path, learner={"learning_rate": 5e-3}, decisions=3000, matches=64)
    history = lines(tmp_path)
    assert history[-1]["value_loss"] < history[0]["value_loss"]
    assert history[-1]["policy_loss"] < history[0]["policy_loss"]
    assert history[-1]["cache_hits"] > 0.3
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
    shut = lines(tmp_path / "shut")
    assert [("gate" in line) for line in shut] == [line["update"] % 2 == 0 for line in shut]
    assert all(line["policy_age"] == line["update"] - 1 for line in shut), "version 0 plays for ever"
    run(tmp_path / "open", learner={"gate": {**gate, "threshold": 0.0}})
    assert lines(tmp_path / "open")[-1]["policy_age"] < shut[-1]["policy_age"]


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
    with pytest.raises(InputError, match=r"learner\.search\.simulation: unknown key; allowed: .*simulations"):
        load_config("hex-7x7", ["learner.search.simulation=3"])
    with pytest.raises(InputError, match=r"learner\.ratio"):
        load_config("hex-7x7", ["learner.ratio=0"])


def test_search_figures_are_in_the_metrics(tmp_path):
    run(tmp_path, decisions=300)
    line = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0])
    assert line["calls_per_move"] <= 9
    assert {"search_batch", "cache_hits", "divergence", "window"} <= line.keys()
