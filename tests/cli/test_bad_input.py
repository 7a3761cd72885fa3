"""Bad input: one clear line on standard error, exit code 2, nothing started or half written."""

import json
import os
import resource
import subprocess
import sys

import pytest

from sparring.cli import main
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from tests import hex


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Runs a command in an empty folder; it must end with exit code 2 and one line that has all the words."""

    def check(arguments, *words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sparring", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 2
        one_line(capsys.readouterr().err, *words)

    return check


def one_line(errors, *words):
    problem = [line for line in errors.splitlines() if line.startswith("sparring:")]
    assert len(problem) == 1, errors
    assert "Traceback" not in errors
    for word in words:
        assert word in problem[0]


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "checkpoint"
    policy = hex.policy()
    network = {"channels": 8, "blocks": 1}
    save_checkpoint(folder, Checkpoint(hex.spec(), network, 1, policy.state_dict(), {}))
    return folder


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "hex-quik"], ["unknown preset 'hex-quik'", "hex-quick"]),
        (["train", "hex-quick", "learner.lr=1"], ["learner.lr: unknown key", "learning_rate"]),
        (["train", "hex-quick", "learner.clip_range=-1"], ["learner.clip_range = -1", "> 0"]),
        (["train", "hex-quick", "game=chess"], ["unknown game 'chess'", "hex"]),
        (["train", "hex-quick", "settings.size=2"], ["size = 2", ">= 3"]),
        (["train", "hex-quick", "matches"], ["key=value"]),
        (["evaluate", "random", "path"], ["--game"]),
        (["evaluate", "random", "path", "--game", "hex", "--size", "40"], ["size = 40", "<= 19"]),
        (["evaluate", "random", "path", "--game", "hex", "--colour", "red"], ["colour: unknown key", "size"]),
        (["evaluate", "random", "strong", "--game", "hex"], ["unknown player 'strong'", "path"]),
        (["evaluate", "no/such/run", "path", "--game", "hex"], ["no/such/run", "no such file"]),
        (["play", "go"], ["unknown game 'go'"]),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, refused, arguments, words):
    refused(arguments, *words)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("checked", [True, False])
def test_a_corrupt_checkpoint(checkpoint, refused, checked):
    weights = checkpoint / "policy.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    if not checked:
        (checkpoint / "SHA256SUMS").unlink()
    refused(["evaluate", checkpoint, "random"], "damaged" if checked else "corrupt checkpoint", "policy.safetensors")


@pytest.mark.parametrize("checked", [True, False])
def test_a_checkpoint_with_damaged_json(checkpoint, refused, checked):
    (checkpoint / "policy.json").write_text("{")
    if not checked:
        (checkpoint / "SHA256SUMS").unlink()
    refused(["evaluate", checkpoint, "random"], "damaged" if checked else "corrupt checkpoint", "policy.json")


def test_a_checkpoint_of_another_game(checkpoint, refused):
    about = json.loads((checkpoint / "policy.json").read_text())
    about["spec"]["game"] = "go"
    (checkpoint / "policy.json").write_text(json.dumps(about))
    (checkpoint / "SHA256SUMS").unlink()
    refused(["evaluate", checkpoint, "random", "--game", "hex"], "go cannot play hex")


def test_an_unwritable_run_folder(tmp_path, refused):
    (tmp_path / "file").write_text("")
    refused(["train", "hex-quick", "--run", tmp_path / "file" / "run"], "cannot write")


def test_a_full_disk(tmp_path):
    """No file may grow beyond 20 kB: the first checkpoint does not fit."""

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "sparring", "train", "hex-quick", "--run", str(tmp_path / "r"), "threads=1"]
    command += ["learner.batch_size=64", "matches=8", "decisions=64"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200, preexec_fn=fill)
    assert result.returncode == 2, result.stderr
    one_line(result.stderr, "cannot write")
    assert not list((tmp_path / "r").glob("checkpoints/*/*"))
