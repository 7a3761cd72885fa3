"""Weights & Biases in offline mode, for real: the same run after a resume, steps in decisions, no harm if it dies."""

import os
import signal
import struct
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from sparring.core import InputError
from sparring.report.metrics import Metrics
from tests.commands import SPARRING, one_line, sparring
from tests.runs import updates
from tests.warm import Process, run

wandb = pytest.importorskip("wandb")

BLOCK = 32768
QUICK = "settings.size=3 network.channels=8 network.blocks=1 matches=16 threads=1 learner.batch_size=256 "
QUICK += "learner.minibatch_size=128 evaluation.matches=4 evaluation.opponents=[random] report=[wandb]"


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)


def records(content):
    """The records of a .wandb file: LevelDB's log format behind a header of 7 bytes."""
    at, whole = 7, b""
    while at + 7 <= len(content):
        length, kind = struct.unpack_from("<HB", content, at + 4)
        if kind:
            whole += content[at + 7 : at + 7 + length]
            if kind in (1, 4):  # a whole record, or the last part of one
                yield whole
                whole = b""
        at += 7 + length
        if BLOCK - at % BLOCK < 7:  # no room for another header
            at += BLOCK - at % BLOCK


def histories(folder):
    """What the run wrote for `wandb sync`, file by file: `[(run id, [(step, values), ...], exit code), ...]`."""
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # waits until all is written
    found = []
    for path in sorted(folder.glob("wandb/offline-run-*/*.wandb")):
        run_id, steps, code = None, [], None
        for data in records(path.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            if record.run.run_id:
                run_id = record.run.run_id
            if record.history.item:
                values = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
                steps.append((int(values["_step"]), values))
            if record.HasField("exit"):
                code = record.exit.exit_code
        found.append((run_id, steps, code))
    return found


def open_metrics(folder, said, *, resumed_at=0):
    def say(text):
        if not text.startswith("waiting"):  # said on a busy machine
            said.append(text)

    return Metrics(folder, resumed_at=resumed_at, settings={"seed": 1}, report=["wandb"], say=say)


def test_a_resumed_run_has_the_same_id_and_decisions_are_its_steps(tmp_path):
    said = []
    with open_metrics(tmp_path, said) as metrics:
        metrics.write(1, 100, {"loss/entropy": 0.5})
        metrics.write(2, 200, {"loss/entropy": 0.25})
    time.sleep(1.1)  # wandb names its folders by the second
    with open_metrics(tmp_path, said, resumed_at=2) as metrics:
        metrics.write(3, 300, {"loss/entropy": 0.125})
        metrics.write(3, 300, {"rating/win_rate/runs-old": 1.0})
    first, second = histories(tmp_path)
    assert first[0] == second[0]
    assert [step for step, _ in first[1]] == [100, 200]
    assert [step for step, _ in second[1]] == [300]
    assert first[1][1][1]["loss/entropy"] == "0.25"
    assert second[1][0][1]["rating/win_rate/runs-old"] in ("1", "1.0")
    assert (first[2], second[2]) == (0, 0)
    assert said == [f"metrics go to Weights & Biases: {tmp_path}/wandb, for wandb sync"] * 2


def test_a_run_that_fails_ends_as_failed(tmp_path):
    with pytest.raises(ZeroDivisionError), open_metrics(tmp_path, []):
        raise ZeroDivisionError
    ((_, _, code),) = histories(tmp_path)
    assert code == 1


def test_training_goes_on_if_wandb_dies(tmp_path):
    said = []
    with open_metrics(tmp_path, said) as metrics:
        metrics.write(1, 100, {"loss/entropy": 0.5})
        for process in psutil.Process().children(recursive=True):
            if process.name().startswith("wandb"):
                process.kill()
        for update in range(2, 30):
            metrics.write(update, 100 * update, {"loss/entropy": 0.5})
            time.sleep(0.02)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 29
    assert [line for line in said if "failed, training goes on without it" in line] == said[1:]
    assert len(said) == 2


def test_a_wandb_that_cannot_start_is_one_line_and_a_wrong_setting_is_refused(tmp_path, monkeypatch):
    def broken(**arguments):
        raise OSError("no space left\nand more")

    said = []
    monkeypatch.setattr(wandb, "init", broken)
    with open_metrics(tmp_path, said) as metrics:
        metrics.write(1, 100, {"loss/entropy": 0.5})
    assert said == ["Weights & Biases failed, training goes on without it: no space left"]

    def nobody(**arguments):
        raise wandb.errors.UsageError("api_key not configured (no-tty)")

    monkeypatch.setattr(wandb, "init", nobody)
    with pytest.raises(
        InputError, match=r"report: wandb: api_key not configured .*; WANDB_MODE=offline needs no login"
    ):
        open_metrics(tmp_path, said)


def test_without_the_package_a_run_is_refused_before_it_starts(tmp_path):
    done, _ = sparring("train", "hex-quick", "report=[tensorboard, wandb]", "--run", "r", without=["wandb"])
    assert done.returncode == 2
    one_line(done.stderr, "report: wandb needs the package wandb", "pip install 'sparring[wandb]'")
    assert not (tmp_path / "r").exists()


def test_nobody_who_did_not_ask_imports_it(tmp_path):
    words = [word for word in QUICK.split() if not word.startswith("report")]
    done, imported = sparring("train", "hex-quick", *words, "decisions=200", "--run", "r")
    assert done.returncode == 0, done.stderr
    assert "wandb" not in imported
    assert not (tmp_path / "r" / "wandb").exists()


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_a_signal_finishes_it_and_the_same_command_continues_its_run(tmp_path, number):
    command = ["train", "hex-quick", *QUICK.split(), "--run", "r"]
    process = Process(*command, "decisions=100_000_000", start_new_session=True)
    metrics = Path("r/metrics.jsonl")
    deadline = time.monotonic() + 120
    while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, number)  # as a terminal sends it: to every process of the command
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    ((name, steps, code),) = histories(Path("r"))
    told = [line["decisions"] for line in updates(Path("r"))]
    assert [step for step, _ in steps] == told
    assert code == 0
    done = run(*command, f"decisions={told[-1] + 10}")
    assert done.returncode == 0, done.stderr
    after = histories(Path("r"))[1]
    assert after[0] == name
    assert after[1][0][0] > told[-1]
    assert any("rating/win_rate/random" in values for _, values in after[1])


@pytest.mark.skipif(subprocess.run(["unshare", "-rn", "true"]).returncode != 0, reason="needs a network namespace")
def test_offline_needs_no_network(tmp_path):
    command = ["unshare", "-rn", *SPARRING, "train", "hex-quick", *QUICK.split(), "decisions=200", "--run", "r"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    ((_, steps, code),) = histories(tmp_path / "r")
    assert steps
    assert code == 0
