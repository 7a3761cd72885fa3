"""Jobs: sent with what was written, and found again by number or by folder."""

from pathlib import Path

import pytest

from sparring.core import InputError
from sparring.launch import jobs
from sparring.launch.jobs import cancel, find_job, submit
from sparring.launch.programs import NoAnswer
from sparring.launch.request import checked

GONE = 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1'
NO_ACCOUNTS = 'echo "Slurm accounting storage is disabled" >&2; exit 1'


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Puts shell commands in the place of SLURM's programs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()

    def put(**bodies):
        for name, body in bodies.items():
            path = tmp_path / "bin" / name
            path.write_text(f"#!/bin/bash\n{body}\n")
            path.chmod(0o755)

    put(scontrol=GONE, sacct=NO_ACCOUNTS, sbatch="echo 41")
    return put


def asked(tmp_path, **options):
    return checked(**{"preset": "kuhn-ppo", "run": str(tmp_path / "runs" / "r"), "folder": str(tmp_path)} | options)


def test_a_job_is_found_by_its_folder_and_by_its_number(programs, tmp_path):
    sent = submit(asked(tmp_path), "#!/bin/bash\n")
    assert (sent.number, sent.run, sent.log) == ("41", tmp_path / "runs/r", tmp_path / "runs/r/job/log.txt")
    assert (tmp_path / "runs/r/job/job.sh").read_text() == "#!/bin/bash\n"
    for word in ("41", "runs/r", str(tmp_path / "runs" / "r")):
        assert find_job(word) == sent, "also when SLURM has forgotten it"
    assert find_job("42").kept is None
    (tmp_path / "runs" / "r").rename(tmp_path / "moved")
    assert find_job("moved").run == tmp_path / "moved"


def test_tasks_of_an_array_have_folders_of_their_own(programs, tmp_path):
    whole = submit(asked(tmp_path, seeds=3, first_seed=5), "#!/bin/bash\n")
    assert [task.number for task in whole.tasks()] == ["41_0", "41_1", "41_2"]
    task = find_job("runs/r/seed-7")
    assert (task.number, task.run, task.log.name, task.note.name) == (
        "41_2",
        tmp_path / "runs/r/seed-7",
        "log-2.txt",
        "stop-2",
    )
    assert find_job("41_2") == task
    with pytest.raises(InputError, match="job 41 is an array: name one of its tasks, such as 41_0"):
        _ = whole.log


def test_a_second_job_for_a_folder_waits_for_the_first(programs, tmp_path):
    submit(asked(tmp_path), "first")
    programs(scontrol='echo "JobId=41 JobState=PENDING Reason=Priority"')
    with pytest.raises(InputError, match="job 41 is still there; see sparring launch status 41"):
        submit(asked(tmp_path), "second")
    assert (tmp_path / "runs/r/job/job.sh").read_text() == "first"
    programs(scontrol='echo "JobId=41 JobState=FAILED Reason=NonZeroExitCode"', sbatch="echo '42;cluster'")
    assert submit(asked(tmp_path), "second").number == "42"


def test_the_environment_does_not_overrule_the_script(programs, tmp_path, monkeypatch):
    monkeypatch.setenv("SBATCH_PARTITION", "elsewhere")
    programs(sbatch='[ -z "${SBATCH_PARTITION:-}" ] && echo 41')
    assert submit(asked(tmp_path), "").number == "41"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            'echo "sbatch: error: Batch job submission failed: Invalid account" >&2; exit 1',
            "submission failed: Invalid",
        ),
        (
            "echo 'sbatch: error: DNS' >&2; echo 'sbatch: fatal: No configuration' >&2; exit 1",
            "sbatch: No configuration",
        ),
        ("exit 3", "exit code 3"),
        ("echo nonsense", "answered 'nonsense', which is no job's number"),
    ],
)
def test_what_slurm_refuses_is_said_in_its_words(programs, tmp_path, body, words):
    programs(sbatch=body)
    with pytest.raises(NoAnswer, match=words):
        submit(asked(tmp_path), "")
    assert not (tmp_path / "runs/r/job/job.json").exists()


ENDED = 'echo "JobId=41 JobState=COMPLETED Reason=None"'
RUNS = 'echo "JobId=41 JobState=RUNNING Reason=None"'


@pytest.mark.parametrize("now", [True, False])
def test_a_job_that_ends_while_it_is_cancelled_is_no_failure(programs, tmp_path, monkeypatch, now):
    """SLURM then refuses the signal, without a word."""
    monkeypatch.setattr(jobs, "_ASK_SECONDS", 0.0)
    sent = submit(asked(tmp_path), "")
    programs(scontrol=f"[ -e ended ] && {ENDED} || {RUNS}", scancel="touch ended; exit 229")
    cancel(sent, now=now, say=lambda text: None)


def test_a_job_that_may_not_be_cancelled_is_said(programs, tmp_path):
    sent = submit(asked(tmp_path), "")
    programs(scontrol=RUNS, scancel='echo "scancel: error: Kill job error: Access denied" >&2; exit 1')
    with pytest.raises(NoAnswer, match="Access denied"):
        cancel(sent, now=False, say=lambda text: None)


@pytest.mark.parametrize("word", ["12;ls", "-1", "12_", "1" * 20, "../12", "$(id)", "12\n", "٣"])
def test_what_is_neither_number_nor_folder_is_never_shown_to_slurm(programs, word):
    programs(scontrol="touch called")
    with pytest.raises(InputError, match="neither the number of a job nor a run folder"):
        find_job(word)
    assert not Path("called").exists()


DAMAGED = [
    b"",
    b"[]",
    b'{"job": "x"}',
    b'{"job": -3}',
    b"\xff",
    b'{"job": 1, "seeds": -',
    b'{"job": 1, "seeds": 99999999}',
]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_note_of_a_job_is_named(programs, tmp_path, content):
    submit(asked(tmp_path), "")
    (tmp_path / "runs/r/job/job.json").write_bytes(content)
    with pytest.raises(InputError, match="job.json: damaged"):
        find_job("runs/r")
    other = submit(asked(tmp_path, run=str(tmp_path / "runs" / "other")), "")
    assert find_job("41") == other, "it is in nobody else's way"


def test_without_slurm_there_is_one_line(programs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no such program here; jobs are sent from a machine with SLURM"):
        submit(asked(tmp_path), "")
