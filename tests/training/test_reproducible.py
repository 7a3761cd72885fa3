"""What docs/reproducibility.md promises: the same seed gives the same run, and its folder says what it takes."""

import json

import pytest

from sparring.league import Seating, evaluate
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import load_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests.runs import lines
from tests.training.support import TINY, assert_same_weights, run


def table(outcome):
    return {name: (score.wins, score.draws, score.losses) for name, score in outcome.scores.items()}


@pytest.mark.parametrize(
    "changes",
    [{"opponents": {"path": 0.3}}, {"network": {**TINY["network"], "memory": "lstm"}}, {"actor_dtype": "bfloat16"}],
    ids=["opponents", "memory", "precision"],
)
def test_the_same_seed_gives_the_same_table_metrics_and_weights(tmp_path, changes):
    first, second = (run(tmp_path / name, decisions=600, **changes) for name in ("first", "second"))
    assert table(first) == table(second)
    assert lines(tmp_path / "first") == lines(tmp_path / "second")
    assert_same_weights(load_checkpoint(tmp_path / "first"), load_checkpoint(tmp_path / "second"))


@pytest.mark.parametrize("kind", ["magnet", "rnad"])
def test_so_do_the_other_learners(tmp_path, kind):
    sizes = {"batch_size": 256, "minibatch_size": 64}
    learner = {"kind": kind, "ppo": sizes} if kind == "magnet" else {"kind": kind, **sizes}
    first, second = (run(tmp_path / name, learner=learner, decisions=500) for name in ("first", "second"))
    assert table(first) == table(second)
    assert_same_weights(load_checkpoint(tmp_path / "first"), load_checkpoint(tmp_path / "second"))


def test_how_often_it_is_saved_or_watched_changes_nothing(tmp_path):
    run(tmp_path / "plain", decisions=600)
    run(tmp_path / "watched", decisions=600, checkpoint={"every": 1, "keep": 9}, on_update=lambda update: None)
    assert lines(tmp_path / "plain") == lines(tmp_path / "watched")


def test_the_same_seed_gives_the_same_rating():
    def rate(seed):
        seating = Seating.of("path", "random", game="hex", settings={"size": 4})
        with seating.seated(matches=16, seed=seed) as (players, arena):
            return evaluate(*players, arena, matches=40)

    assert rate(3) == rate(3)


def test_the_stored_configuration_is_a_preset_that_gives_the_same_run(tmp_path):
    run(tmp_path / "first", decisions=600)
    config, game = load_config(str(tmp_path / "first" / "config.yaml"), [])
    train(config, game, RunFolder(tmp_path / "second"), say=lambda text: None)
    assert lines(tmp_path / "first") == lines(tmp_path / "second")
    environment = json.loads((tmp_path / "first" / "environment.json").read_text())
    assert {"python", "torch", "numpy", "machine", "cpu_threads"} <= environment.keys()
