"""Opponents of a run: anybody who can be named, met in training and in ratings, and the same ones after a resume."""

import shutil
import sys
from pathlib import Path

import pytest
import torch

from sparring.core import InputError, Resumable
from sparring.inference import NetworkPlayer
from sparring.policy.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.opponents import find_opponents
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay
from tests import hex
from tests.runs import lines, updates
from tests.serving.support import running, source

TINY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "ppo", "batch_size": 200, "minibatch_size": 100, "epochs": 1, "lr_schedule": "constant"},
    "decisions": 700,
    "matches": 12,
    "threads": 1,
    "backend": "torch",
    "checkpoint": {"every": 1, "keep": 1},
    "evaluation": {"every": 2, "matches": 10, "opponents": ["random"]},
}


def run(folder, **changes):
    config, game = validate_config({**TINY, **changes}, where="test")
    return train(config, game, RunFolder(Path(folder)), say=lambda text: None)


def save(folder, *, version=1, memory="none"):
    network = {"channels": 8, "blocks": 1, "memory": memory}
    weights = hex.policy(4, seed=version, memory=memory).state_dict()
    save_checkpoint(Path(folder), Checkpoint(hex.spec(4), network, version, weights, {}))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The present folder: an old run, a checkpoint with an LSTM, and a module of the user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    save("runs/old/best")
    save("runs/lstm/checkpoints/00000003", version=3, memory="lstm")
    (tmp_path / "own_opponents.py").write_text(OWN)
    return tmp_path


OWN = """
from sparring.core import RandomPlayer
from tests import hex

def build(spec):
    return hex.policy()

def junk(spec):
    return "no network"

made, closed = [], []

class Seeded(RandomPlayer):
    def __init__(self, seed):
        super().__init__(seed)
        made.append(seed)

    def close(self):
        closed.append(self)

def make(spec, seed):
    return RandomPlayer(seed)
"""
EVERYBODY = ("random", "path", "hex-7x7", "runs/old", "runs/lstm/checkpoints/00000003", "own_opponents:build")
TAGS = ("random", "path", "hex-7x7", "runs-old", "runs-lstm-checkpoints-00000003", "own_opponents-build")


@pytest.mark.parametrize("background", [False, True])
def test_a_policy_is_rated_against_whomever_the_configuration_names(background):
    rating = {"every": 2, "matches": 6, "opponents": list(EVERYBODY), "background": background}
    outcome = run("r", evaluation=rating)
    assert tuple(outcome.scores) == EVERYBODY
    assert all(score.matches == 6 for score in outcome.scores.values())
    final = lines(Path("r"))[-1]
    assert {name for name in final if "win_rate" in name} == {f"rating/win_rate/{tag}" for tag in TAGS}
    assert final["rating/win_rate/runs-old"] == pytest.approx(outcome.scores["runs/old"].win_rate)


def test_a_rating_by_networks_is_the_same_each_time():
    rating = {**TINY["evaluation"], "opponents": ["runs/old", "runs/lstm/checkpoints/00000003", "path"]}
    run("a", evaluation=rating)
    run("b", evaluation=rating)
    assert lines(Path("a")) == lines(Path("b"))


def test_networks_among_the_opponents_play_in_the_engine_of_the_policy():
    config, game = validate_config({**TINY, "opponents": {"runs/old": 0.2, "hex-7x7": 0.2, "path": 0.1}}, where="test")
    play = SelfPlay(config, game, find_opponents(config, game, Path("r")), say=lambda text: None)
    try:
        assert list(play.engine.policies) == ["main", "runs-old", "hex-7x7"]
        assert all(isinstance(play.playing.table.opponents[tag], NetworkPlayer) for tag in ("runs-old", "hex-7x7"))
        assert isinstance(play.playing.table.opponents["path"], Resumable)
    finally:
        play.close()


def test_training_meets_its_opponents_and_learns_from_its_own_rows_alone():
    outcome = run("r", opponents={"random": 0.5, "runs/old": 0.5})
    assert outcome.finished
    told = updates(Path("r"))
    assert all(0 <= line[f"play/against/{tag}"] <= 1 for line in told for tag in ("random", "runs-old"))
    assert any(line["play/mean_return"] != 0 for line in told), "in self-play alone it is 0"


def test_an_opponent_that_is_met_often_is_learned_to_beat():
    learner = {**TINY["learner"], "batch_size": 1000, "epochs": 4, "learning_rate": 3e-3}
    run("r", opponents={"random": 1.0}, decisions=12_000, matches=64, learner=learner)
    rates = [line["play/against/random"] for line in updates(Path("r"))]
    assert sum(rates[-3:]) / 3 > sum(rates[:3]) / 3 + 0.1


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(memory):
    changes = {
        "opponents": {"random": 0.2, "path": 0.2, "runs/lstm/checkpoints/00000003": 0.2, "own_opponents:build": 0.2},
        "network": {**TINY["network"], "memory": memory},
    }
    run("whole", **changes)
    run("parts", **changes, decisions=300)
    run("parts", **changes)
    assert lines(Path("parts")) == lines(Path("whole"))
    ours, theirs = (load_checkpoint(Path(name) / "best").weights for name in ("parts", "whole"))
    assert all(torch.equal(weight, theirs[name]) for name, weight in ours.items())


def test_workers_and_overlap_meet_opponents_too():
    run("r", opponents={"runs/old": 0.5, "random": 0.4}, workers=1, overlap=True)
    assert any("play/against/runs-old" in line for line in updates(Path("r")))


def test_players_of_your_own_are_met_and_closed_and_a_resumed_run_goes_on_where_they_stood():
    rating = {**TINY["evaluation"], "opponents": ["own_opponents:Seeded", "own_opponents:make"]}
    changes = {"opponents": {"own_opponents:Seeded": 0.4, "own_opponents:make": 0.3}, "evaluation": rating}
    outcome = run("whole", **changes)
    assert tuple(outcome.scores) == ("own_opponents:Seeded", "own_opponents:make")
    run("parts", **changes, decisions=300)
    run("parts", **changes)
    assert lines(Path("parts")) == lines(Path("whole"))
    own = sys.modules["own_opponents"]
    assert len(own.made) > 4  # tried, met, rated
    assert len(own.made) == len(own.closed)
    run("spread", **changes, workers=1)
    assert any("play/against/own_opponents-Seeded" in line for line in updates(Path("spread")))


def test_a_searching_policy_meets_opponents_too():
    learner = {
        "kind": "alphazero",
        "batch_size": 200,
        "minibatch_size": 64,
        "search": {"kind": "gumbel", "simulations": 4},
    }
    run("r", learner=learner, opponents={"runs/old": 0.5}, decisions=300)
    assert any("play/against/runs-old" in line for line in updates(Path("r")))


def test_a_model_of_a_policy_server_is_an_opponent():
    with running(source()) as server:
        name = f"{server.address}/main"
        rating = {"matches": 6, "opponents": [name]}
        outcome = run("r", settings={"size": 5, "opening": 2}, opponents={name: 0.3}, evaluation=rating, decisions=200)
        tag = "tcp-" + server.address.removeprefix("tcp://").replace(".", "-").replace(":", "-") + "-main"
        assert outcome.scores[name].matches == 6
        assert f"rating/win_rate/{tag}" in lines(Path("r"))[-1]
        with pytest.raises(InputError, match="opponents: policy server .*elsewhere"):
            run("other", opponents={f"{server.address}/elsewhere": 0.3})
    assert not Path("other").exists()


def test_a_run_meets_the_same_weights_after_its_opponent_has_changed_or_gone():
    changes = {"opponents": {"runs/old": 0.5}, "evaluation": {**TINY["evaluation"], "opponents": ["runs/old"]}}
    run("whole", **changes)
    for after in (lambda: save("runs/old/best", version=9), lambda: shutil.rmtree("runs/old")):
        run("parts", **changes, decisions=300)
        after()
        run("parts", **changes)
        assert lines(Path("parts")) == lines(Path("whole"))
        shutil.rmtree("parts")
        save("runs/old/best")
    kept = [load_checkpoint(path).version for path in Path("whole/opponents").iterdir()]
    assert kept == [1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"opponents": {"nobody": 0.1}}, "opponents: unknown player 'nobody'"),
        ({"opponents": {"no/such/run": 0.1}}, "opponents: no/such/run: no such file or folder"),
        ({"opponents": {"rule": 0.1}}, "opponents: unknown player 'rule'; hex has: random, path"),
        ({"opponents": {"rocket-1v1": 0.1}}, "opponents: rocket-1v1: a checkpoint of rocket cannot play hex"),
        ({"opponents": {"human": 0.1}}, "opponents: human: a person"),
        (
            {"evaluation": {"opponents": ["pth"]}},
            r"evaluation.opponents: unknown player 'pth' \(did you mean 'path'\?\)",
        ),
        ({"evaluation": {"opponents": ["runs"]}}, "evaluation.opponents: runs: no checkpoint here"),
        ({"evaluation": {"opponents": ["own_opponents:buidl"]}}, "evaluation.opponents: own_opponents:buidl: cannot"),
        (
            {"evaluation": {"opponents": ["own_opponents:junk"]}},
            "opponents: own_opponents:junk: playing needs a torch mod",
        ),
        (
            {"opponents": {"own_opponents:junk=runs/old": 0.1}},
            "opponents: own_opponents:junk=runs/old: playing needs a ",
        ),
        (
            {"opponents": {"runs/old": 0.1, "./runs/old": 0.1}},
            r"opponents: ./runs/old and runs/old would have one name",
        ),
        ({"opponents": {"random": 0.7, "path": 0.7}}, "opponents: shares of the matches add up to more than 1"),
        ({"opponents": {"random": 0}}, "opponents.random = 0"),
    ],
)
def test_who_cannot_be_met_is_named_before_anything_starts(changes, said):
    with pytest.raises(InputError, match=said):
        run("r", **changes)
    assert not Path("r").exists()


def test_a_folder_of_a_run_with_other_opponents_is_refused():
    run("r", opponents={"random": 0.5}, decisions=200)
    with pytest.raises(InputError, match=r"holds another run \(opponents.random: 0.5 there, 0.25 here\)"):
        run("r", opponents={"random": 0.25})
