"""A run of several processes: the command under torchrun, each one's settings, and their figures as one's."""

import os
import socket
import subprocess
import sys
import time

import psutil
import pytest

from sparring.learn.alphazero import AlphaZeroSettings
from sparring.learn.magnet import MagnetSettings
from sparring.learn.ppo import PpoSettings
from sparring.training.ranks import scaled
from sparring.training.run import read_ending
from tests import warm
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


@pytest.mark.slow
def test_a_run_goes_from_two_processes_to_one_with_one_curve(tmp_path):
    words = ["train", "kuhn-ppo", *SMALL, "--run", str(tmp_path / "run")]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "--"]
    first = subprocess.run(
        [*launcher, "sparring", *words, "decisions=600"],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=250,
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("Next: sparring") == 1, "only rank 0 speaks"
    before = [line for line in lines(tmp_path / "run") if "loss/policy_loss" in line]
    assert before[0]["decisions"] >= 128, "the batches of both processes count"
    assert (tmp_path / "run" / "resume" / "rank-1").is_dir()
    second = warm.run(*words, "decisions=1000")
    assert second.returncode == 0, second.stderr
    assert "the number of processes was 2: new matches begin" in second.stderr
    after = [line for line in lines(tmp_path / "run") if "loss/policy_loss" in line]
    assert after[: len(before)] == before
    assert [line["update"] for line in after] == list(range(1, len(after) + 1))
    assert len(after) > len(before)


def test_a_callback_that_raises_in_rank_0_stops_all_and_everything_is_saved(tmp_path):
    run = tmp_path / "run"
    first, second = warm.group(run, *SMALL, "checkpoint.every=100", module="tests.training.raising")
    assert first.communicate()[1].strip().endswith("ValueError: not like this")
    assert second.communicate()[1] == ""
    assert (first.returncode, second.returncode) == (1, 0)
    assert (run / "resume" / "00000002").is_dir()
    assert (run / "resume" / "rank-1" / "00000002").is_dir()
    assert read_ending(run).reason == "ValueError: not like this"


@pytest.mark.slow
def test_when_a_process_on_one_of_two_machines_dies_all_are_started_again(tmp_path):
    """Two torchruns on this machine stand for those of two machines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = tmp_path / "run"
    launcher = ["-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--max-restarts=3"]
    launcher += [
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint=127.0.0.1:{port}",
        "-m",
        "--",
        "sparring",
        "train",
        "kuhn-ppo",
    ]
    words = [sys.executable, *launcher, *SMALL, "decisions=12000", "--run", str(run)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    machines = [subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        end = time.monotonic() + 200
        while not (run / "resume").exists() or not any((run / "resume").glob("0*")):
            assert time.monotonic() < end
            time.sleep(0.2)
        psutil.Process(machines[1].pid).children()[0].kill()
        said = [machine.communicate(timeout=250)[1] for machine in machines]
    finally:
        for machine in machines:
            machine.kill()
    assert [machine.returncode for machine in machines] == [0, 0], said
    assert any(f"resuming {run} at update" in text for text in said)
    updates = [line["update"] for line in lines(run) if "loss/policy_loss" in line]
    assert updates == list(range(1, len(updates) + 1))
