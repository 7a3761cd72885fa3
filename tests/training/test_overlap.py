"""Overlapped collection: it plays while the learner works, the lag stays bounded, and it saves and stops cleanly."""

import threading

import numpy as np
import pytest

from sparring.core import RunError
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from sparring.training.self_play import recent
from tests import poker

CONFIG = {
    "game": "rps",
    "settings": {"wins": [1.0, 2.0, 3.0]},
    "network": {"width": 8, "layers": 1},
    "learner": {"kind": "ppo", "batch_size": 256, "minibatch_size": 256, "epochs": 1, "learning_rate": 0.01},
    "matches": 32,
    "overlap": True,
}


def test_playing_and_learning_happen_at_the_same_time():
    """The learner only returns once the next collection has begun in another thread."""
    run = poker.training(**CONFIG)
    playing, real = threading.Event(), run.playing.collect
    learner, update = run.algorithm.learner, run.algorithm.learner.update

    def collect(rows):
        if threading.current_thread() is not threading.main_thread():
            playing.set()
        return real(rows)

    def learn(episodes, **steering):
        assert playing.wait(timeout=60)
        playing.clear()
        return update(episodes, **steering)

    run.playing.collect, learner.update = collect, learn
    for _ in range(3):
        run.advance()
    run.close()


def test_the_lag_stays_within_the_bound_and_what_is_older_is_dropped_and_counted():
    run = poker.training(**{**CONFIG, "matches": 256, "game": "leduc", "settings": {}}, max_policy_lag=3)
    seen, update = [], run.algorithm.learner.update

    def learn(episodes, **steering):
        seen.append(run.update - episodes.headers.version)
        return update(episodes, **steering)

    run.algorithm.learner.update = learn
    metrics = [run.advance() for _ in range(25)]
    run.close()
    lags = np.concatenate(seen)
    assert lags.min() >= 0
    assert 0 < lags.max() <= 3
    assert sum(values["play/dropped"] for values in metrics) > 0
    assert max(values["play/policy_lag"] for values in metrics) <= 3


def test_a_match_is_kept_or_dropped_with_all_its_seats():
    episodes = poker.collect(200)
    episodes.headers.version[:] = 10
    episodes.headers.version[3] = 1
    kept = recent(episodes, version=12, max_policy_lag=5)
    assert len(kept) == len(episodes) - 2
    assert episodes.headers.serial[3] not in kept.headers.serial
    assert recent(episodes, version=12, max_policy_lag=11) is episodes
    with pytest.raises(RunError, match="every episode began more than max_policy_lag = 1 updates ago"):
        recent(episodes, version=12, max_policy_lag=1)


def test_an_overlapped_run_saves_resumes_and_ends(tmp_path):
    before = threading.active_count()
    for decisions in (1000, 2000):
        config, game = validate_config(
            {**CONFIG, "decisions": decisions, "threads": 1, "evaluation": {"matches": 20}}, where="test"
        )
        outcome = train(config, game, RunFolder(tmp_path / "run"), say=lambda text: None)
        assert outcome.finished
    assert load_checkpoint(tmp_path / "run" / "best").version == outcome.updates >= 7
    assert threading.active_count() == before


def test_a_failure_in_the_playing_thread_ends_the_run(tmp_path):
    run = poker.training(**CONFIG)
    run.advance()

    def broken(rows):
        raise RuntimeError("the arena died")

    run.playing.collect = broken
    run.advance()
    with pytest.raises(RuntimeError, match="the arena died"):
        run.advance()
    run.close()
