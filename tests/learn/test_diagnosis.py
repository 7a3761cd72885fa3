"""Diagnosis: calibration by hand, ratings in the background, what to lower when memory runs out."""

import json
from dataclasses import replace
from time import monotonic

import numpy as np
import pytest
import torch

from sparring.core import RunError
from sparring.learn.diagnosis import value_calibration
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import validate_config
from sparring.training.limits import lower_if_too_large
from sparring.training.loop import train
from sparring.training.rating import Ratings
from sparring.training.run import RunFolder
from tests import poker

TINY = {
    "game": "kuhn",
    "network": {"width": 8},
    "learner": {"kind": "ppo", "batch_size": 64, "minibatch_size": 64, "epochs": 1},
    "decisions": 700,
    "matches": 16,
    "threads": 1,
    "evaluation": {"every": 2, "matches": 20},
}


def rows_like(value, reward):
    """Episodes of one row each."""
    count = len(value)
    episodes = poker.collect(2 * count, name="kuhn", matches=count)
    headers, steps = episodes.headers.take(slice(count)), episodes.steps.take(slice(count))
    return replace(
        episodes,
        headers=replace(headers, lengths=np.ones(count, np.int32), last_value=np.zeros(count, np.float32)),
        steps=replace(steps, value=np.array(value, np.float32), reward=np.array(reward, np.float32)),
    )


def test_calibration_compares_expected_and_real_gains_among_rows_of_like_expectation():
    """Twenty rows that expect 1 and get 0.5 on average, twenty that expect -1 and get just that."""
    value = [1.0] * 20 + [-1.0] * 20
    reward = [2.0, -1.0] * 10 + [-1.0] * 20
    found = value_calibration(rows_like(value, reward))
    assert found == pytest.approx({"value_bias": 0.25, "calibration_error": 0.25})


def test_errors_that_cancel_over_all_rows_still_count_in_their_groups():
    found = value_calibration(rows_like([1.0] * 20 + [-1.0] * 20, [0.0] * 40))
    assert found == pytest.approx({"value_bias": 0.0, "calibration_error": 1.0})


def test_every_update_logs_calibration_and_policy_lag(tmp_path):
    config, game = validate_config({**TINY, "decisions": 60, "evaluation": {"every": 0, "matches": 10}}, where="test")
    train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None)
    line = json.loads((tmp_path / "r" / "metrics.jsonl").read_text().splitlines()[0])
    loss = {
        "entropy",
        "approx_kl",
        "clip_fraction",
        "explained_variance",
        "grad_norm",
        "value_bias",
        "calibration_error",
    }
    wanted = {f"loss/{name}" for name in loss}
    wanted |= {"play/decisions_per_second", "play/policy_lag", "time/learn", "time/forward"}
    assert wanted <= set(line)


def test_a_rating_in_the_background_is_logged_later_with_the_update_it_is_of(tmp_path):
    evaluation = {**TINY["evaluation"], "background": True}
    config, game = validate_config({**TINY, "evaluation": evaluation}, where="test")
    train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None)
    lines = [json.loads(line) for line in (tmp_path / "r" / "metrics.jsonl").read_text().splitlines()]
    rated = [line for line in lines if "rating/win_rate/random" in line]
    assert len(rated) >= 2
    for line in rated:
        assert line["rating/update"] % 2 == 0 or line is rated[-1]
        assert line["update"] >= line["rating/update"]
        assert 0 <= line["rating/win_rate/random"] <= 1
    assert rated[-1]["rating/update"] == lines[-1]["update"], "the last policy is rated too"
    assert load_checkpoint(tmp_path / "r" / "best").about["win_rates"]


def test_what_the_background_rates_does_not_change_while_training_goes_on(tmp_path):
    run = poker.training(**{**TINY, "evaluation": {"every": 1, "matches": 20, "background": True}})

    saved = []

    class Folder:
        path = tmp_path

        def save_best(self, checkpoint):
            saved.append({name: weight.clone() for name, weight in checkpoint.weights.items()})

    ratings = Ratings(run.rater, Folder(), run.stages)
    try:
        run.advance()
        then = {name: weight.clone() for name, weight in run.algorithm.learner.policy.state_dict().items()}
        ratings.after_update(run.checkpoint(), None)
        run.advance()
        next(ratings.finish(run.checkpoint(), None))
    finally:
        ratings.close()
        run.close()
    for name, weight in saved[0].items():
        assert torch.equal(weight, then[name])


def test_ending_a_run_does_not_wait_for_a_rating_under_way(tmp_path):
    run = poker.training(**{**TINY, "evaluation": {"every": 1, "matches": 5_000_000, "background": True}})
    run.advance()
    ratings = Ratings(run.rater, RunFolder(tmp_path), run.stages)
    ratings.after_update(run.checkpoint(), None)
    began = monotonic()
    ratings.close()
    run.close()
    assert monotonic() - began < 30


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory: you tried"),
    ],
)
def test_out_of_memory_names_the_setting_to_lower(monkeypatch, error):
    run = poker.training(**TINY)

    def fails(*arguments, **named):
        raise error

    monkeypatch.setattr(run.algorithm.learner, "update", fails)
    with pytest.raises(
        RunError, match=r"out of memory while learning: lower learner.minibatch_size or the size of the network"
    ):
        run.advance()
    monkeypatch.setattr(run.playing, "collect", fails)
    with pytest.raises(RunError, match=r"out of memory while playing: lower matches or learner.batch_size"):
        run.advance()


def test_other_errors_are_left_as_they_are():
    with pytest.raises(RuntimeError, match="shapes"), lower_if_too_large("learning", "batch"):
        raise RuntimeError("shapes cannot be multiplied")
