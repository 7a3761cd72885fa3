"""Why a job stopped: the sentence that follows from what SLURM, the log and the run folder say."""

import pytest

from sparring.launch.explaining import Evidence, explain
from sparring.launch.jobs import Record
from sparring.launch.logs import Attempt, attempts
from sparring.training.run import Ending

START = "== sparring: job 12, attempt 1, on node[0-1], in /runs/r"
TORCHRUN = [
    "E1117 00:20:01.123000 4711 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: {code}) "
    "local_rank: 1 (pid: 4722) of binary: /opt/venv/bin/python",
    "Traceback (most recent call last):",
    '  File "/opt/torch/distributed/run.py", line 900, in main',
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
]
TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "/opt/my_agents.py", line 7, in build',
    "ValueError: no such head",
]
NODE_FAILURE = "slurmstepd-node1: error: *** JOB 12 ON node0 CANCELLED AT 2026-11-17T00:05:02 DUE TO NODE FAILURE ***"
STEP_LIMIT = "slurmstepd-node0: error: *** STEP 12.0 ON node0 CANCELLED AT 2026-11-17T00:02:40 DUE TO TIME LIMIT ***"
MEMORY = "slurmstepd-node1: error: StepId=12.0 exceeded memory limit (613777408 > 104857600), being killed"
CGROUP = "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed."
SAVED = '{"how": "stopped", "reason": "SIGUSR2", "update": 70, "time": 1794873600.0}'


def said(*lines, first=1):
    return Attempt((START, *lines), first)


def record(state, reason="None", **more):
    return Record(
        "12", state, reason, **{"run_time": "00:10:00", "time_limit": "06:00:00", "nodes": "node[0-1]"} | more
    )


def sentence(state=None, *lines, reason="None", ending=None, earlier=(), record_=None, **more):
    known = record_ or (None if state is None else record(state, reason))
    given = {"saved": 70, "log": "log.txt"} | more
    return explain(Evidence("12", known, [*earlier, said(*lines)], ending, **given))


def ended(how, reason, update=70):
    return Ending(how, reason, update, 0.0)


def test_a_run_that_trained_to_the_end():
    assert sentence("COMPLETED", ending=ended("finished", "all decisions")) == (
        "job 12 finished: trained to the end, 70 updates."
    )


def test_every_attempt_before_the_last_is_told():
    earlier = [said(SAVED), said("training", NODE_FAILURE)]
    assert sentence("COMPLETED", ending=ended("finished", "all decisions"), earlier=earlier) == (
        "job 12 finished: trained to the end, 70 updates; before that: it was told to save and stop (SIGUSR2), after "
        "update 70, then a node failed."
    )


def test_of_many_attempts_the_last_are_told():
    text = sentence(
        "COMPLETED", ending=ended("finished", "all decisions"), earlier=[said(SAVED)] * 9 + [said(NODE_FAILURE)]
    )
    assert "before that: 7 other attempts, then it was told" in text
    assert text.endswith("then a node failed.")


def test_a_process_that_torchrun_started_again():
    text = sentence("COMPLETED", TORCHRUN[0].format(code=-9), ending=ended("finished", "all decisions"))
    assert "after a process (local rank 1) was killed by signal 9 (as when a machine runs out of memory)" in text
    assert "all were started again" in text


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Resources", "waits for nodes to become free"),
        ("Priority", "waits behind jobs of higher priority"),
        ("PartitionTimeLimit", "waits in vain: it asks for more time"),
        ("Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs", "waits for nodes that are down or reserved"),
        ("ReqNodeNotAvail,_UnavailableNodes:node1", "waits for nodes that are down or reserved"),
        ("SomethingNew", "waits (SomethingNew)"),
    ],
)
def test_a_job_that_has_not_begun(reason, words):
    assert explain(Evidence("12", record("PENDING", reason))).startswith(f"job 12 {words}")


def test_a_job_that_waits_to_go_on_says_why_it_stopped():
    text = sentence("PENDING", SAVED, reason="BeginTime")
    assert "it stopped because it was told to save and stop (SIGUSR2), after update 70; saved up to update 70." in text
    limit = sentence("PENDING", SAVED.replace("SIGUSR2", "time limit"), reason="BeginTime")
    assert "its time limit was near, after update 70" in limit


def test_a_job_that_runs():
    text = sentence("RUNNING", earlier=[said(NODE_FAILURE)])
    assert text == (
        "job 12 runs, for 00:10:00 of 06:00:00 on node[0-1]; before that: a node failed; saved up to update 70."
    )


@pytest.mark.parametrize(
    ("state", "lines", "words"),
    [
        ("TIMEOUT", [STEP_LIMIT], "SLURM ended it at its time limit of 06:00:00, before an update had ended"),
        ("OUT_OF_MEMORY", [], "a node ran out of memory: ask for more with --memory"),
        ("FAILED", [MEMORY], "a node ran out of memory (line 2 of log.txt)"),
        ("FAILED", [CGROUP, *TORCHRUN], "a node ran out of memory (line 2 of log.txt)"),
        ("NODE_FAIL", [], "a node of node[0-1] failed"),
        ("CANCELLED", ["sparring: rank 1 does not answer"], "it was cancelled with scancel"),
        ("PREEMPTED", [], "SLURM took its nodes for a job of higher priority"),
        ("FAILED", TORCHRUN, "a process (local rank 1) was killed by signal 9"),
        ("FAILED", [*TORCHRUN, "sparring: rank 1 is missed"], "a process (local rank 1) was killed by signal 9"),
        ("FAILED", ["sparring: cannot write /runs/r: No space left on device", *TORCHRUN],
         "of an error: cannot write /runs/r: No space left on device (line 2 of log.txt)"),
        ("FAILED", ["sparring: out of memory while learning: lower learner.minibatch_size"],
         "of an error: out of memory while learning: lower learner.minibatch_size (line 2 of log.txt)"),
        ("FAILED", [*TRACEBACK, *TORCHRUN], "of an error: ValueError: no such head at my_agents.py:7 (line 4 "),
        ("FAILED", [], "it ended without a word: its node failed, or it was killed by force (exit code 137)"),
    ],
)  # fmt: skip
def test_why_a_job_failed(state, lines, words):
    known = record(state, exit_code="137:0")
    lines = [line.format(code=-9) if line.startswith("E1117") else line for line in lines]
    assert f"stopped because {words}" in sentence(None, *lines, record_=known)


def test_who_cancelled_it():
    note = sentence("COMPLETED", SAVED, ending=ended("stopped", "SIGUSR2"), cancelled=True)
    assert note == "job 12 stopped because it was cancelled with sparring launch cancel; saved up to update 70."
    assert "cancelled with scancel by 1000" in sentence(None, record_=record("CANCELLED", "by 1000"))


def test_a_failure_is_not_hidden_by_a_wish_to_cancel():
    assert "of an error: no" in sentence("FAILED", "sparring: no", cancelled=True)


def test_without_slurm_the_run_folder_and_the_log_are_enough():
    assert "finished: trained to the end" in sentence(None, ending=ended("finished", "all decisions"))
    assert "its time limit was near, after update 70" in sentence(None, ending=ended("stopped", "time limit"))
    assert "of an error: RunError: it broke" in sentence(None, ending=ended("failed", "RunError: it broke"))
    assert "ended without a word" in sentence(None)
    assert "nothing was saved" in sentence(None, saved=None)


def test_a_damaged_line_in_the_log_is_no_ending():
    assert "ended without a word" in sentence(None, '{"how": "stopped", "rea')


def test_a_log_is_read_attempt_by_attempt_with_line_numbers(tmp_path):
    log = tmp_path / "log.txt"
    assert attempts(log) == []
    log.write_bytes(f"{START}\none\n{START}\ntwo \xff\n".encode("latin-1"))
    first, second = attempts(log)
    assert (first.lines, first.first) == ((START, "one"), 1)
    assert (second.lines, second.first) == ((START, "two �"), 3)


def test_of_a_long_log_the_end_is_read_and_lines_keep_their_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("sparring.launch.logs._MOST_BYTES", 1000)
    log = tmp_path / "log.txt"
    log.write_text("x" * 99 + "\n" + "\n".join(["y" * 99] * 99) + f"\n{START}\nsparring: it broke\n")
    (last,) = attempts(log)
    assert last.first + len(last.lines) - 1 == 102
    assert "(line 102 of log.txt)" in explain(Evidence("12", None, [last], None, log="log.txt"))
