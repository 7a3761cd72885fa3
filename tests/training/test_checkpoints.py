"""Checkpoints of long jobs: written beside training, whole or not at all, and the last good one is found again."""

import json
import os
import random
import resource
import shutil
import signal
import threading
import time

import pytest
import torch

import sparring
from sparring.core import InputError, RunError, files
from sparring.training import run as run_module
from sparring.training.config import load_config
from sparring.training.deadline import Deadline
from sparring.training.loop import train
from sparring.training.rating import Ratings
from sparring.training.run import ResumeState, RunFolder, read_ending
from sparring.training.self_play import SelfPlay
from sparring.training.state import capture
from tests import poker, warm
from tests.commands import one_line
from tests.runs import lines
from tests.warm import Process

SMALL = ["network.width=8", "learner.batch_size=64", "learner.minibatch_size=64", "matches=8", "threads=1"]
SMALL += ["evaluation.every=0", "evaluation.matches=4", "checkpoint.every=1000000", "report=[]"]


def start(folder, *more, decisions=400, **options):
    config, game = load_config("kuhn-ppo", [*SMALL, f"decisions={decisions}", *more])
    return train(config, game, RunFolder(folder), **{"say": lambda text: None} | options)


def ending(folder):
    return json.loads((folder / "ending.json").read_text())


def state(update, value=None):
    weight = torch.full((1000,), float(update if value is None else value))
    return ResumeState(update=update, values={"decisions": update}, learner={"weight": weight}, playing={})


def test_a_damaged_state_is_told_and_the_one_before_it_is_taken(tmp_path):
    config, _ = load_config("kuhn-ppo", SMALL)
    folder, told = RunFolder(tmp_path), []
    folder.open(config)
    for update in (1, 2, 3):
        folder.save_resume(state(update))
    folder.close()
    assert sorted(path.name for path in tmp_path.glob("resume/*")) == ["00000002", "00000003"]
    torn = tmp_path / "resume" / "00000003" / "learner.safetensors"
    torn.write_bytes(torn.read_bytes()[:100])
    assert folder.open(config, told.append).update == 2
    folder.close()
    assert "00000003: damaged: learner.safetensors" in told[0]
    assert "going back to the one before" in told[0]


def test_parts_of_states_that_rank_0_does_not_have_are_dropped(tmp_path):
    """It was killed before it wrote its own, or has dropped them since."""
    config, _ = load_config("kuhn-ppo", SMALL)
    folder, of_rank_1 = RunFolder(tmp_path), RunFolder(tmp_path)
    folder.open(config)
    for update in (1, 2, 3):
        of_rank_1.save_resume(state(update), rank=1)
        folder.save_resume(state(update))
    of_rank_1.save_resume(state(4), rank=1)
    folder.close()
    assert sorted(path.name for path in tmp_path.glob("resume/rank-1/*")) == ["00000002", "00000003", "00000004"]
    assert folder.open(config, pytest.fail).update == 3
    folder.close()
    assert sorted(path.name for path in tmp_path.glob("resume/rank-1/*")) == ["00000002", "00000003"]


def test_two_successive_checkpoints_with_the_same_learner_are_an_error(tmp_path):
    folder = RunFolder(tmp_path)
    folder.save_resume(state(1))
    with pytest.raises(RunError, match="00000002: not saved: the learner is the same as in the checkpoint before"):
        folder.save_resume(state(2, value=1))
    assert RunFolder(tmp_path).read_resume(1).update == 1


def test_what_is_being_saved_is_one_steps_while_training_goes_on():
    trainee = poker.training(game="kuhn", learner={"kind": "ppo", "batch_size": 64}, matches=8)
    trainee.advance()
    ratings = Ratings(trainee.rater, None, trainee.stages)
    copied = capture(trainee, ratings)
    then = {name: tensor.clone() for name, tensor in copied.learner.items()}
    weights = {name: weight.clone() for name, weight in trainee.algorithm.learner.policy.state_dict().items()}
    trainee.advance()
    ratings.close()
    trainee.close()
    for name, tensor in copied.learner.items():
        assert torch.equal(tensor, then[name])
    for name, weight in weights.items():
        assert torch.equal(copied.learner[f"learner/policy/{name}"], weight)


def test_a_callback_can_stop_the_run_which_is_saved_and_goes_on(tmp_path):
    rated = []

    def enough(update):
        rated.append(sparring.evaluate(update.checkpoint, "random", matches=4).matches)
        return update.update == 2

    outcome = start(tmp_path, on_update=enough)
    assert (outcome.updates, outcome.finished, rated) == (2, False, [4, 4])
    assert (ending(tmp_path)["how"], ending(tmp_path)["reason"], ending(tmp_path)["update"]) == (
        "stopped",
        "the callback",
        2,
    )
    assert start(tmp_path, on_update=lambda update: False).finished, "only True stops it"


def test_a_state_is_saved_after_so_many_minutes_without_any_update_count(tmp_path):
    seen = []

    def look(update):
        seen.extend(tmp_path.glob("resume/0*"))

    start(tmp_path, "checkpoint.minutes=0.0000001", on_update=look)
    assert seen, "it is saved while the run goes on"


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_at_random_moments_there_is_always_a_whole_state(tmp_path, kills):
    """None of them loses what was on disk before."""
    config, _ = load_config("kuhn-ppo", SMALL)
    last = 0
    for number in range(kills):
        first, told = os.pipe()
        child = os.fork()
        if child == 0:
            folder = RunFolder(tmp_path)
            folder.open(config, lambda text: None)
            for update in range(last + 1, last + 1000):
                folder.save_resume(state(update))
                os.write(told, b".")
            os._exit(0)
        os.read(first, 1)
        time.sleep(random.Random(number).uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(first)
        os.close(told)
        folder = RunFolder(tmp_path)
        found = folder.open(config, pytest.fail)
        folder.close()
        assert found.update > last
        last = found.update
        assert float(found.learner["weight"][0]) == last


def test_a_disk_that_fills_up_during_a_save_ends_the_run_and_leaves_the_state_before(tmp_path, monkeypatch):
    def full(path, files):
        if path.parent.name == "resume" and path.name >= "00000003":
            raise InputError(f"cannot write {path}: No space left on device")
        write(path, files)

    write = run_module.write_folder
    monkeypatch.setattr(run_module, "write_folder", full)
    with pytest.raises(InputError, match="No space left on device"):
        start(tmp_path, "checkpoint.every=1")
    assert ending(tmp_path)["how"] == "failed"
    monkeypatch.undo()
    told = []
    assert start(tmp_path, say=told.append).finished
    assert any("at update 2" in text for text in told)


@pytest.fixture
def strays():
    """Signals that arrive while no run listens: they are told by the test that they came in, instead of ending it."""
    caught = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
    before = {
        number: signal.signal(number, lambda number, frame: caught.append((signal.Signals(number).name, frame)))
        for number in numbers
    }
    yield caught
    for number, handler in before.items():
        signal.signal(number, handler)
    assert not caught, "the run was not listening any more, or somebody else sent it"


@pytest.mark.parametrize("name", ["SIGUSR2", "SIGTERM"])
@pytest.mark.parametrize("when", [1, 3])
def test_a_signal_saves_at_the_next_border_and_the_run_goes_on_later(tmp_path, strays, name, when):
    def ask(update):
        if update.update == when:
            os.kill(os.getpid(), signal.Signals[name])

    outcome = start(tmp_path, on_update=ask)
    assert not outcome.finished
    assert outcome.updates == when
    assert ending(tmp_path) | {"time": 0} == {"how": "stopped", "reason": name, "update": when, "time": 0}
    assert (tmp_path / "resume" / f"{when:08d}").is_dir()
    assert start(tmp_path).finished
    assert [line["update"] for line in lines(tmp_path)][: when + 1] == list(range(1, when + 2))


@pytest.mark.parametrize("name", ["SIGUSR2", "SIGTERM"])
def test_a_signal_during_the_first_batch_is_heard_after_it(tmp_path, strays, monkeypatch, name):
    def advance(self):
        os.kill(os.getpid(), signal.Signals[name])
        return play(self)

    play = SelfPlay.advance
    monkeypatch.setattr(SelfPlay, "advance", advance)
    outcome = start(tmp_path)
    assert (outcome.finished, outcome.updates) == (False, 1)
    assert ending(tmp_path)["reason"] == name
    monkeypatch.undo()
    told = []
    assert start(tmp_path, say=told.append).finished
    assert any("at update 1" in text for text in told)


@pytest.mark.parametrize("where", ["start", "close"])
def test_the_signal_of_a_job_is_noted_before_and_after_updates_too(tmp_path, strays, monkeypatch, where):
    """While a run gets ready, and while it is rated at its end, the process must not die of it."""

    def asked(self):
        os.kill(os.getpid(), signal.SIGUSR2)
        return usual(self)

    usual = getattr(SelfPlay, where)
    monkeypatch.setattr(SelfPlay, where, asked)
    outcome = start(tmp_path)
    if where == "start":
        assert (outcome.finished, outcome.updates) == (False, 1)
        assert ending(tmp_path)["reason"] == "SIGUSR2"
        assert (tmp_path / "resume" / "00000001").is_dir()
    else:
        assert outcome.finished


@pytest.mark.parametrize("name", ["SIGUSR2", "SIGTERM"])
def test_a_signal_during_a_save_harms_neither_the_save_nor_the_run(tmp_path, strays, monkeypatch, name):
    """It arrives when the files of the third state are half written, by the thread that writes them."""
    sent = threading.Event()

    def pace(update):
        assert update.update < 4 or sent.wait(60)

    def write(path, content, mode):
        usual(path, content[: len(content) // 2], mode)
        if "00000003" in path.parent.name and path.parent.parent.name == "resume" and not sent.is_set():
            os.kill(os.getpid(), signal.Signals[name])
            sent.set()
            time.sleep(0.05)
        usual(path, content, mode)

    usual = files._write
    monkeypatch.setattr(files, "_write", write)
    outcome = start(tmp_path, "checkpoint.every=1", on_update=pace)
    assert sent.is_set()
    assert not outcome.finished
    assert outcome.updates in (3, 4)  # training goes on while it is saved
    assert ending(tmp_path)["reason"] == name
    monkeypatch.undo()
    folder, (config, _) = RunFolder(tmp_path), load_config("kuhn-ppo", [*SMALL, "decisions=400", "checkpoint.every=1"])
    assert folder.open(config, pytest.fail).update == outcome.updates
    assert folder.read_resume(3).update == 3
    folder.close()


def test_a_second_signal_during_the_last_save_waits_for_it(tmp_path, strays, monkeypatch):
    """Ctrl-C twice, or SIGTERM from a scheduler and its launcher: what is being written is whole, or not there."""
    sent = []

    def write(path, content, mode):
        usual(path, content[: len(content) // 2], mode)
        if path.parent.parent.name == "resume" and not sent:
            sent.append(path)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)
        usual(path, content, mode)

    usual = files._write
    monkeypatch.setattr(files, "_write", write)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a second signal is what Ctrl-C is to the program
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path, on_update=lambda update: os.kill(os.getpid(), signal.SIGTERM))
    assert sent
    monkeypatch.undo()
    folder, (config, _) = RunFolder(tmp_path), load_config("kuhn-ppo", [*SMALL, "decisions=400"])
    assert folder.open(config, pytest.fail).update == 1
    folder.close()


def test_a_disk_that_is_really_full_in_the_middle_of_a_file_leaves_whole_states(tmp_path):
    """The kernel refuses to let any file grow further, while the run saves after every update."""
    small = [word for word in SMALL if not word.startswith(("network.", "checkpoint."))]
    words = ["train", "kuhn-ppo", *small, "network.width=64", "checkpoint.every=1", "--run", tmp_path]
    process = Process(*words, "decisions=1000000")
    end = time.monotonic() + 100
    while not any((tmp_path / "resume").glob("0*")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (20_000, 20_000))
    _, errors = process.communicate()
    assert process.returncode == 2
    one_line(errors, "cannot write", str(tmp_path), "File too large")
    newest = max(int(path.name) for path in (tmp_path / "resume").glob("0*"))
    again = warm.run(*words, f"decisions={64 * (newest + 3)}")
    assert again.returncode == 0, again.stderr
    assert f"resuming {tmp_path} at update {newest}" in again.stderr


def test_the_signal_is_a_setting(tmp_path, strays):
    outcome = start(tmp_path, "job.signal=USR1", on_update=lambda update: os.kill(os.getpid(), signal.SIGUSR1))
    assert (outcome.finished, outcome.updates) == (False, 1)


def test_a_run_stops_before_its_time_limit_and_always_gets_one_update_further(tmp_path):
    for update in (1, 2):
        outcome = start(tmp_path, "job.time_limit_hours=0.000001")
        assert (outcome.finished, outcome.updates) == (False, update)
        assert ending(tmp_path)["reason"] == "time limit"
    assert start(tmp_path).finished
    assert ending(tmp_path)["how"] == "finished"


def test_the_margin_before_a_limit_grows_with_the_longest_update(monkeypatch):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    deadline = Deadline(hours=1.0, _began=0.0, _last=0.0)
    now = 1000.0
    deadline.update_ended()
    assert not deadline.reached
    now = 3600 - 2000 - 61
    assert not deadline.reached
    now = 3600 - 2000 - 59
    assert deadline.reached
    assert not Deadline(hours=0.0).reached


def test_a_limit_counts_from_the_start_of_the_job_however_often_its_processes_start_again(monkeypatch):
    began = time.clock_gettime(time.CLOCK_BOOTTIME) - 3000
    monkeypatch.setenv("SPARRING_JOB_BEGAN", f"{began:.2f}")
    assert not Deadline(hours=1.0).reached
    assert Deadline(hours=0.84).reached
    for wrong in ("soon", "", f"{began + 10_000_000:.2f}"):
        monkeypatch.setenv("SPARRING_JOB_BEGAN", wrong)
        with pytest.raises(InputError, match="SPARRING_JOB_BEGAN = .*: no time since this machine's start"):
            Deadline(hours=1.0)


def test_a_clock_that_jumps_neither_ends_a_run_nor_keeps_it_from_saving(tmp_path, monkeypatch):
    now, jumps, seen = time.time, iter([-86_400, 86_400, -1e9, 1e9] * 1000), []
    monkeypatch.setattr(time, "time", lambda: now() + next(jumps))

    def look(update):
        seen.extend(tmp_path.glob("resume/0*"))

    outcome = start(tmp_path, "checkpoint.minutes=0.0000001", "job.time_limit_hours=1", on_update=look)
    assert outcome.finished
    assert seen
    assert [line["update"] for line in lines(tmp_path) if "loss/policy_loss" in line] == list(
        range(1, outcome.updates + 1)
    )


def test_how_a_run_ended_is_read_or_refused(tmp_path):
    assert read_ending(tmp_path) is None
    start(tmp_path)
    assert (read_ending(tmp_path).how, read_ending(tmp_path).reason) == ("finished", "all decisions")
    for damaged in (b"", b"[]", b'{"how": "won", "reason": "", "update": 1, "time": 0}', b"\xff"):
        (tmp_path / "ending.json").write_bytes(damaged)
        with pytest.raises(InputError, match="ending.json: damaged"):
            read_ending(tmp_path)


def test_what_is_kept_of_a_job_may_be_there_before_the_run(tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "job.sh").write_text("#!/bin/bash\n")
    assert start(tmp_path).finished
    assert (tmp_path / "job" / "job.sh").exists()


def test_a_run_folder_that_was_moved_is_resumed(tmp_path):
    start(tmp_path / "here", decisions=200)
    shutil.move(tmp_path / "here", tmp_path / "there")
    told = []
    assert start(tmp_path / "there", say=told.append).finished
    assert any(text.startswith(f"resuming {tmp_path / 'there'} at update") for text in told)
