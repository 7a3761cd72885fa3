"""Jobs on a real SLURM of two nodes on this machine: sent, interrupted in every way, queued again, finished, explained.

Run by `make test-slurm`; see `tests.launch.loopback`.
"""

import os
import re
import sys
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from sparring.cli import app
from tests.launch import loopback
from tests.launch.loopback import wait
from tests.runs import lines

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(3600)]

SMALL = ["learner.batch_size=64", "learner.minibatch_size=64", "matches=8", "threads=1", "evaluation.every=0"]
SMALL += ["evaluation.matches=4", "checkpoint.every=20", "report=[]"]
LONG = "decisions=20000"
"""Enough to be interrupted: about 150 updates of two processes."""


@pytest.fixture(scope="module")
def slurm():
    missing = loopback.missing()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; apt-get install slurm-wlm munge")
    cluster = loopback.Loopback()
    yield cluster
    cluster.close()


@pytest.fixture
def launch(slurm, tmp_path, monkeypatch):
    """Runs `sparring launch WORDS` in an empty folder of its own."""
    for name, value in slurm.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sparring.launch.jobs._ASK_SECONDS", 1.0)
    monkeypatch.setattr("sparring.launch.programs._SECONDS", loopback.PATIENCE)

    def run(*words):
        result = CliRunner().invoke(app, ["launch", *map(str, words)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout.strip()

    yield run
    slurm.clear()


@pytest.fixture
def send(launch):
    """Sends a job that trains in `runs/r` on two nodes; its number."""

    def work(*words, nodes=2, preset=("kuhn-ppo", "network.width=8")):
        options = ["--nodes", nodes, "--run", "runs/r", "--no-follow"]
        return launch("slurm", *preset, *SMALL, "--hours", 0.5, *words, *options)

    return work


@pytest.fixture
def state(slurm):
    """What SLURM says of a job: its state, and how often it was queued again."""

    def look(job):
        said = slurm.program("scontrol", "show", "job", "--oneliner", job)
        return re.search(r"JobState=(\w+)", said)[1], int(re.search(r"Restarts=(\d+)", said)[1])

    return look


def updates(run=Path("runs/r")):
    """How many updates a run has behind it."""
    path = run / "metrics.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def one_curve(run=Path("runs/r"), decisions=20_000):
    """The metrics are those of one run that trained to its end: every update once."""
    curve = [line for line in lines(run) if "loss/policy_loss" in line]
    assert [line["update"] for line in curve] == list(range(1, len(curve) + 1))
    assert curve[-1]["decisions"] >= decisions
    assert [line["decisions"] for line in curve] == sorted(line["decisions"] for line in curve)


def ranks(run=Path("runs/r")):
    """The processes that train `run`, one a node, by their rank's node."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if str(run.absolute()) in words and "train" in words and "torch.distributed.run" not in words:
            found.append(process)
    return [process for process in found if process.parent() not in found]


def training(run=Path("runs/r"), after=30):
    wait(lambda: updates(run) >= after, f"update {after}")


def finished(state, job):
    wait(lambda: state(job)[0] not in ("RUNNING", "PENDING", "COMPLETING"), f"job {job}")
    log = Path("runs/r/job/log.txt")
    assert state(job)[0] == "COMPLETED", log.read_text() if log.exists() else state(job)


def test_a_dry_run_prints_the_script_and_sends_nothing(launch, slurm, tmp_path):
    text = launch("slurm", "kuhn-ppo", "--nodes", 2, "--hours", 0.5, "--dry-run")
    assert text.startswith("#!/bin/bash\n")
    assert slurm.program("squeue", "-h") == ""
    assert list(tmp_path.iterdir()) == []


def test_a_job_is_told_to_save_and_goes_on_from_the_queue(launch, send, slurm, state):
    job = send(LONG)
    training()
    table = launch("status", job)
    assert "RUNNING" in table
    assert "node[0-1]" in table
    with slurm.closed():
        slurm.program("scancel", "--signal=USR2", job)
        wait(lambda: state(job) == ("PENDING", 1), "the requeue")
        stopped_at = updates()
        said = launch("explain", job)
    assert re.search(
        rf"waits .*; it stopped because it was told to save and stop \(SIGUSR2\), after update {stopped_at};", said
    )
    finished(state, job)
    assert state(job) == ("COMPLETED", 1)
    one_curve()
    said = launch("explain", "runs/r")
    assert re.search(r"finished: trained to the end, \d+ updates; before that: it was told to save and stop", said)
    assert "Next: sparring evaluate" in launch("logs", job)


def test_a_process_that_is_killed_is_started_again_with_all_others(launch, send, state):
    job = send(LONG)
    training()
    ranks()[-1].kill()
    finished(state, job)
    assert state(job) == ("COMPLETED", 0), "within the job, by torchrun"
    one_curve()
    assert re.search(
        r"after a process \(local rank 0\) was killed by signal 9.* all were started again", launch("explain", job)
    )


def test_a_job_outlives_the_failure_of_a_node(launch, send, slurm, state):
    job = send(LONG)
    training()
    slurm.program("scontrol", "update", "nodename=node1", "state=down", "reason=test")
    wait(lambda: state(job) == ("PENDING", 1), "the requeue")
    assert re.search(r"waits .*; it stopped because a node failed; saved up to update \d+", launch("explain", job))
    slurm.program("scontrol", "update", "nodename=node1", "state=resume")
    finished(state, job)
    one_curve()
    assert re.search(r"finished: .*; before that: a node failed", launch("explain", job))


def test_at_its_time_limit_a_job_saves_and_waits_for_its_next_turn(launch, send, state):
    job = send("decisions=100000000", "--hours", 1 / 20)  # on a busy machine a minute goes by before the first update
    wait(lambda: state(job)[1] == 1, "the requeue")
    said = launch("explain", job)
    assert "its time limit was near, after update" in said or "(SIGUSR2), after update" in said
    saved = updates()
    wait(lambda: updates() > saved + 20, "the next attempt")
    assert re.search(r"was cancelled with sparring launch cancel; .*saved up to update \d+", launch("cancel", job))
    assert state(job) == ("COMPLETED", 1), "saved, and not queued again"
    assert [line["update"] for line in lines(Path("runs/r"))] == list(range(1, updates() + 1))


def test_a_job_whose_updates_are_longer_than_its_time_is_ended_by_slurm(launch, send, state):
    job = send(LONG, "learner.batch_size=50000000", "--hours", 1 / 60, nodes=1)
    wait(lambda: state(job)[0] == "TIMEOUT", "the time limit")
    said = launch("explain", job)
    assert (
        "SLURM ended it at its time limit of 00:01:00, before an update had ended and could be saved; nothing" in said
    )


def test_cancelling_saves_first_or_not_at_all(launch, send, state):
    job = send(LONG)
    training(after=1)
    launch("cancel", job, "--now")
    wait(lambda: state(job)[0] == "CANCELLED", "the end")
    assert re.search(r"stopped because it was cancelled with scancel", launch("explain", job))


def test_of_an_array_only_the_task_that_was_stopped_is_queued_again(launch, send, slurm, state):
    """That with the number of the whole array, which is why a requeue names the task."""
    job = send(LONG, "--seeds", 2, nodes=1)
    runs = [Path("runs/r/seed-0"), Path("runs/r/seed-1")]
    for run in runs:
        training(run)
    said = slurm.program("squeue", "-h", "-j", job, "-o", "%i %A")
    assert f"{job}_1 {job}" in said, "the number of the last task is that of the array"
    slurm.program("scancel", "--signal=USR2", f"{job}_1")
    wait(lambda: state(f"{job}_1")[1] == 1, "the requeue")
    for task in (f"{job}_0", f"{job}_1"):
        wait(lambda task=task: state(task)[0] == "COMPLETED", task)
    assert [state(f"{job}_{task}")[1] for task in (0, 1)] == [0, 1]
    for run in runs:
        one_curve(run)
    first, second = launch("explain", job).splitlines()
    assert first.startswith(f"job {job}_0 finished")
    assert "before that: it was told to save and stop (SIGUSR2)" in second


def test_an_error_of_ours_is_quoted_with_its_line(launch, send, state):
    job = send("opponents={no/such/run: 0.1}", nodes=1)
    wait(lambda: state(job)[0] == "FAILED", "the failure")
    said = launch("explain", job)
    number = int(
        re.search(r"of an error: opponents: .*no/such/run.* \(line (\d+) of \S+/runs/r/job/log.txt\)", said)[1]
    )
    assert Path("runs/r/job/log.txt").read_text().splitlines()[number - 1].startswith("sparring: opponents: ")


def test_a_node_without_enough_memory_is_named(launch, send, state):
    job = send(LONG, "--memory", "100M", nodes=1)
    wait(lambda: state(job)[0] in ("FAILED", "OUT_OF_MEMORY", "CANCELLED"), "the failure")
    assert "ran out of memory" in launch("explain", job)


def test_a_process_that_hangs_is_noticed_named_and_replaced(launch, send, state):
    job = send(LONG, "parallel.timeout_minutes=0.5")
    training()
    hanging = ranks()[-1]
    hanging.suspend()
    log = Path("runs/r/job/log.txt")
    wait(lambda: re.search(r"rank [01] of 2 does not answer: it hangs or has ended", log.read_text()), "its name")
    wait(lambda: not hanging.is_running(), "its end")
    finished(state, job)
    one_curve()


def test_a_node_whose_clock_is_off_trains_as_the_others_do(launch, send, state, tmp_path, monkeypatch):
    """Every clock that can be set is a day behind on the second node."""
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "sitecustomize.py").write_text(
        "import os, time\nif os.environ.get('SLURM_NODEID') == '1':\n"
        "    now = time.time\n    time.time = lambda: now() - 86400\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{fake}:{os.environ['PYTHONPATH']}")
    job = send(LONG, "checkpoint.minutes=0.05", "--hours", 0.2)
    finished(state, job)
    one_curve()


def test_processes_beside_the_ranks_live_through_the_signal(launch, send, slurm, state):
    """SLURM signals everything below a step: workers leave it to the rank that started them."""
    hex_preset = ("hex-quick", "settings.size=3", "network.channels=8", "network.blocks=1")
    job = send("decisions=6000", "workers=1", preset=hex_preset)
    training(after=10)
    slurm.program("scancel", "--signal=USR2", job)
    wait(lambda: state(job)[1] == 1, "the requeue")
    finished(state, job)
    one_curve(decisions=6000)
    assert "worker 0" not in Path("runs/r/job/log.txt").read_text(), "none has died"
