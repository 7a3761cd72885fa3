"""Ties: the anchor by hand and in every learner that plays, mixed batches, and what is refused."""

import math

import pytest
import torch

from sparring.core import InputError, RandomPlayer, masked_log_softmax
from sparring.inference import Device
from sparring.league import Seating, Style
from sparring.league.selfplay import Plan, self_play
from sparring.learn.ties import Anchor, Tied, kl_divergence
from sparring.policy.checkpoint import load_checkpoint
from sparring.rollout import Collector, everyone
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests import hex as small
from tests.runs import updates

TINY = {
    "game": "hex",
    "settings": {"size": 3},
    "network": {"channels": 8, "blocks": 1},
    "decisions": 1200,
    "matches": 16,
    "threads": 1,
    "backend": "torch",
    "checkpoint": {"every": 2},
    "evaluation": {"matches": 10, "opponents": ["random"]},
}
LEARNERS = {
    "ppo": {"batch_size": 256, "minibatch_size": 64},
    "magnet": {"ppo": {"batch_size": 256, "minibatch_size": 64}},
    "rnad": {"batch_size": 256, "minibatch_size": 128, "learning_rate": 1e-3},
    "alphazero": {"batch_size": 256, "minibatch_size": 64, "search": {"kind": "gumbel", "simulations": 4}},
}


def run(folder, kind="ppo", **changes):
    learner = {"kind": kind, **LEARNERS.get(kind, {}), **changes.pop("learner", {})}
    config, game = validate_config({**TINY, "learner": learner, **changes}, where="test")
    return train(config, game, RunFolder(folder), say=lambda text: None)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A run that has learned a little."""
    folder = tmp_path_factory.mktemp("ties") / "start"
    run(folder)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ties") / "store"
    seating = Seating.of("path", game="hex", settings={"size": 3})
    self_play(seating, folder, Plan(matches=60, parallel=16), style=Style(), say=lambda text: None)
    return folder


def test_the_divergence_is_that_of_the_legal_actions():
    legal = torch.tensor([[True, True, False]])
    log_probs = masked_log_softmax(torch.log(torch.tensor([[0.5, 0.5, 9.0]])), legal, xp=torch)
    other = masked_log_softmax(torch.log(torch.tensor([[0.25, 0.75, 1.0]])), legal, xp=torch)
    assert float(kl_divergence(log_probs, other, legal)) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))


def test_rows_that_stand_for_themselves_are_compared_as_those_of_episodes_are():
    policy = small.policy(3)
    episodes = Collector(small.arena(3), {"me": RandomPlayer(0)}, everyone(0, 2), record=["me"]).collect(40)
    anchor = Anchor(policy, kl=0.5, device=Device.pick("cpu"))
    legal = torch.from_numpy(episodes.unpack_legal())
    seen = {name: torch.from_numpy(field) for name, field in episodes.steps.observation.items()}
    log_probs = masked_log_softmax(torch.randn(legal.shape), legal, xp=torch)
    valid = torch.ones(len(legal), dtype=torch.bool)
    rows = torch.arange(len(legal)).numpy()
    alone, figures = anchor.loss(Tied(episodes.spec, seen, legal, log_probs, valid))
    together, _ = anchor.loss(Tied(episodes.spec, {}, legal, log_probs, valid, episodes, rows))
    assert float(alone) == pytest.approx(float(together), abs=1e-6)
    assert float(alone) == pytest.approx(0.5 * float(figures["anchor_kl"]))


@pytest.mark.parametrize("kind", list(LEARNERS))
def test_a_strong_anchor_holds_every_learner_where_it_began(tmp_path, start, kind):
    tied = {"to": str(start), "kl": 50.0}
    fast = {"learning_rate": 0.02, "lr_schedule": "constant"}
    learner = {"ppo": {**LEARNERS["magnet"]["ppo"], **fast}} if kind == "magnet" else fast
    run(tmp_path / "free", kind, init=str(start), anchor={**tied, "kl": 1e-6}, learner=learner, decisions=800)
    run(tmp_path / "held", kind, init=str(start), anchor=tied, learner=learner, decisions=800)
    free, held = (updates(tmp_path / name)[-1]["loss/anchor_kl"] for name in ("free", "held"))
    assert 0 <= held < 0.5 * free


def test_the_anchor_fades_and_is_kept_with_the_run(tmp_path, start):
    run(tmp_path / "run", init=str(start), anchor={"to": str(start), "kl": 1.0, "until": 600})
    told = ["loss/anchor_kl" in line for line in updates(tmp_path / "run")]
    assert told[0]
    assert not told[-1]
    (kept,) = (tmp_path / "run" / "opponents").iterdir()
    assert load_checkpoint(kept).digest == load_checkpoint(start).digest


def test_some_of_every_step_is_imitation(tmp_path, store):
    steady = {"lr_schedule": "constant"}
    mixed = {"data": [str(store)], "data_share": 0.5, "validation": {"share": 0.2}, "learner": steady}
    run(tmp_path / "whole", decisions=2500, **mixed)
    run(tmp_path / "parts", decisions=1200, **mixed)
    run(tmp_path / "parts", decisions=2500, **mixed)
    whole = updates(tmp_path / "whole")
    assert whole[-1]["loss/imitation_loss"] < whole[0]["loss/imitation_loss"]
    validated = [line["validation/log_loss"] for line in whole if "validation/log_loss" in line]
    assert validated[-1] < validated[0]
    parts = {line["update"]: line["loss/imitation_loss"] for line in updates(tmp_path / "parts")}
    assert parts == {line["update"]: line["loss/imitation_loss"] for line in whole}


@pytest.mark.parametrize(
    ("anchor", "line"),
    [
        ({"to": "path"}, "anchor.to: path: not a run or checkpoint folder"),
        ({"to": "runs/nobody"}, "anchor.to: runs/nobody: no such file or folder"),
        ({"to": "x", "kl": -1}, "anchor.kl = -1"),
    ],
)
def test_what_is_no_anchor_is_one_line(tmp_path, anchor, line):
    with pytest.raises(InputError, match=line):
        run(tmp_path / "run", anchor=anchor)
    assert not (tmp_path / "run").exists()
