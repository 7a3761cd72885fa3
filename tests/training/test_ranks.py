"""A run of several processes: the command under torchrun, each one's settings, and their figures as one's."""

import os
import subprocess
import sys

import pytest

from sparring.core import InputError
from sparring.learn import parallel
from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.magnet import MagnetSettings
from sparring.learn.ppo import PpoSettings
from sparring.training.config import load_config
from sparring.training.ranks import own_config, scaled
from tests.runs import lines

SMALL = ["network.width=8", "learner.batch_size=64", "learner.minibatch_size=32", "matches=8", "threads=1"]
SMALL += ["evaluation.every=0", "evaluation.matches=4", "checkpoint.every=2", "report=[]"]


def test_the_rule_by_which_learning_rates_and_batches_follow_the_number_of_processes():
    ppo = PpoSettings(batch_size=1000, minibatch_size=100, learning_rate=0.01)
    assert scaled(ppo, "sqrt", 4) == PpoSettings(batch_size=1000, minibatch_size=100, learning_rate=0.02)
    assert scaled(ppo, "linear", 4).learning_rate == pytest.approx(0.04)
    assert scaled(ppo, "off", 4) == PpoSettings(batch_size=250, minibatch_size=25, learning_rate=0.01)
    assert scaled(MagnetSettings(ppo=ppo), "off", 4).ppo.batch_size == 250
    assert scaled(AlphaZeroSettings(window_size=400), "off", 4).window_size == 100


def train(folder, decisions, *, processes):
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m", "--"]
    words = ["sparring", "train", "kuhn-ppo", *SMALL, f"decisions={decisions}", "--run", str(folder)]
    command = [sys.executable, *(launcher if processes > 1 else ["-m"]), *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=250
    )


def test_a_run_goes_from_two_processes_to_one_with_one_curve(tmp_path):
    first = train(tmp_path / "run", 600, processes=2)
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("Next: sparring") == 1, "only rank 0 speaks"
    before = [line for line in lines(tmp_path / "run") if "loss/policy_loss" in line]
    assert before[0]["decisions"] >= 128, "the batches of both processes count"
    assert (tmp_path / "run" / "resume" / "rank-1").is_dir()
    second = train(tmp_path / "run", 1000, processes=1)
    assert second.returncode == 0, second.stderr
    assert "the number of processes was 2: new matches begin" in second.stderr
    after = [line for line in lines(tmp_path / "run") if "loss/policy_loss" in line]
    assert after[: len(before)] == before
    assert [line["update"] for line in after] == list(range(1, len(after) + 1))
    assert len(after) > len(before)


def test_a_league_in_several_processes_is_refused(monkeypatch):
    config, _ = load_config("kuhn-ppo", ["league.every=5"])
    assert own_config(config) == config
    monkeypatch.setattr(parallel, "size", lambda: 2)
    with pytest.raises(InputError, match="league: 2 processes would each keep a pool of their own"):
        own_config(config)
