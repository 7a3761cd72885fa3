"""The training loop: it resumes bit for bit, stops politely, and learns."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from sparring.core import InputError, RunError
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import load_config, validate_config
from sparring.training.run import RunFolder
from sparring.training.training import Training, train
from tests.runs import lines

TINY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "ppo", "batch_size": 256, "minibatch_size": 64, "epochs": 2, "segment_length": 3},
    "decisions": 1500,
    "matches": 16,
    "threads": 1,
    "checkpoint": {"every": 2, "keep": 2},
    "evaluation": {"every": 3, "matches": 20, "opponents": ["random"]},
}


def run(folder, **changes):
    config, game = validate_config({**TINY, **changes}, where="test")
    return train(config, game, RunFolder(folder), say=lambda text: None)


def test_a_policy_is_rated_at_the_temperature_the_evaluation_asks_for():
    for wanted in (0.0, 1.0):
        config, game = validate_config({**TINY, "evaluation": {"temperature": wanted}}, where="test")
        training = Training(config, game, say=lambda text: None)
        assert training.rated_player(1, seed=0).temperature == wanted
        training.close()


@pytest.mark.parametrize("network", [{}, {"memory": "lstm"}])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path, network):
    network = {**TINY["network"], **network}
    run(tmp_path / "whole", network=network)
    run(tmp_path / "parts", network=network, decisions=700, learner={**TINY["learner"], "lr_schedule": "constant"})
    whole = tmp_path / "constant"
    constant = {**TINY["learner"], "lr_schedule": "constant"}
    run(whole, network=network, learner=constant)
    outcome = run(tmp_path / "parts", network=network, learner=constant)
    assert outcome.finished
    ours, theirs = load_checkpoint(tmp_path / "parts" / "best"), load_checkpoint(whole / "best")
    assert ours.version == theirs.version
    for name, weight in ours.weights.items():
        assert torch.equal(weight, theirs.weights[name]), name
    assert lines(tmp_path / "parts")[-1] == lines(whole)[-1]
    assert [line["update"] for line in lines(whole)] == [line["update"] for line in lines(tmp_path / "parts")]


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path):
    run(tmp_path / "a")
    run(tmp_path / "b")
    run(tmp_path / "c", seed=1)
    assert lines(tmp_path / "a") == lines(tmp_path / "b")
    assert lines(tmp_path / "a") != lines(tmp_path / "c")


def test_a_run_folder_holds_what_the_docs_say(tmp_path):
    outcome = run(tmp_path / "r")
    names = {path.name for path in (tmp_path / "r").iterdir()}
    assert names == {"config.yaml", "environment.json", "metrics.jsonl", "tensorboard", "checkpoints", "best", "resume"}
    assert len(list((tmp_path / "r" / "checkpoints").iterdir())) == 2
    assert outcome.scores["random"].matches == 20
    last = lines(tmp_path / "r", timed=True)[-1]
    assert {"entropy", "approx_kl", "clip_fraction", "explained_variance", "mean_batch", "matches_per_second"} <= set(
        last
    )


def test_metrics_written_after_the_last_checkpoint_are_not_doubled(tmp_path):
    run(tmp_path / "r", decisions=700)
    path = tmp_path / "r" / "metrics.jsonl"
    path.write_text(path.read_text() + '{"update": 99}\n{"upda')
    run(tmp_path / "r", decisions=1000)
    updates = [line["update"] for line in lines(tmp_path / "r")]
    assert updates == sorted(set(updates))
    assert 99 not in updates


def test_a_folder_of_another_run_is_refused(tmp_path):
    run(tmp_path / "r", decisions=300)
    with pytest.raises(InputError, match="holds a run with another seed"):
        run(tmp_path / "r", seed=5)


def test_a_folder_that_is_no_run_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        run(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_folder_in_which_another_process_trains_is_refused(tmp_path):
    config, _ = load_config("hex-quick", [])
    first, second = RunFolder(tmp_path / "r"), RunFolder(tmp_path / "r")
    first.open(config)
    with pytest.raises(InputError, match="another process is training there"):
        second.open(config)
    first.close()
    second.open(config)
    second.close()


def test_a_nan_stops_the_run_and_leaves_the_batch(tmp_path, monkeypatch):
    from sparring.learn import ppo

    real = ppo.generalised_advantages

    def poisoned(*arguments):
        advantage, target = real(*arguments)
        target[0] = float("nan")
        return advantage, target

    monkeypatch.setattr(ppo, "generalised_advantages", poisoned)
    with pytest.raises(RunError, match=r"value target is not finite at update 1; the batch is in .*not-finite"):
        run(tmp_path / "r")
    assert (tmp_path / "r" / "not-finite.safetensors").stat().st_size > 1000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_exits_with_0(tmp_path, number):
    command = [sys.executable, "-m", "sparring", "train", "hex-quick", "--run", str(tmp_path / "r")]
    command += ["learner.batch_size=512", "matches=32", "decisions=100_000_000", "threads=1", "evaluation.every=0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = tmp_path / "r" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "the same command continues" in errors
    saved = load_checkpoint(tmp_path / "r")
    assert saved.version == lines(tmp_path / "r")[-1]["update"]


def test_hex_quick_shortened_beats_random(tmp_path):
    """A small part of the preset already beats random far beyond chance (60% of 200 matches would be 3 sigma)."""
    overrides = ["decisions=50_000", "threads=1", "evaluation.every=0", "evaluation.matches=200", "settings.size=3"]
    overrides += ["network.channels=16", "network.blocks=1", "learner.batch_size=4096", "learner.learning_rate=3e-3"]
    config, game = load_config("hex-quick", overrides)
    outcome = train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None)
    assert outcome.scores["random"].win_rate > 0.75


@pytest.mark.slow
def test_hex_quick_beats_random_and_the_heuristic(tmp_path):
    config, game = load_config("hex-quick", ["evaluation.opponents=[random, path]"])
    outcome = train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None)
    assert outcome.scores["random"].win_rate >= 0.99
    assert outcome.scores["path"].win_rate >= 0.70
