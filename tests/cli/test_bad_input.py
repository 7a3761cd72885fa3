"""Bad input: one clear line on standard error, exit code 2, nothing started or half written."""

import errno
import json
import os
import subprocess
import sys

import pytest

from sparring.cli import main
from sparring.core import shipped_weights
from tests import warm
from tests.commands import one_line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "hex-quik"], ["unknown preset 'hex-quik' (did you mean 'hex-quick'?)"]),
        (["train", "hex-quick", "learner.lr=1"], ["learner.lr: unknown key", "learning_rate"]),
        (["train", "hex-quick", "learner.clip_range=-1"], ["learner.clip_range = -1", "more than 0"]),
        (["evaluate", "path", "random", "--game", "hex", "--sise", "5"], ["sise: unknown key (did you mean 'size'?)"]),
        (["train", "hex-quick", "game=chess"], ["unknown game 'chess'", "hex"]),
        (["train", "hex-quick", "settings.size=2"], ["settings.size = 2", "3 to 19"]),
        (["train", "hex-quick", "matches"], ["key=value"]),
        (["train", "hex-quick", "seed=-1"], ["seed = -1", "at least 0"]),
        (["evaluate", "random", "path"], ["--game", "; allowed: hex"]),
        (["gtp", "hex", "tcp://localhost:1/a"], ["tcp://localhost:1/a: played elsewhere, not a network"]),
        (["evaluate", "random", "path", "--game", "hex", "--size", "40"], ["size = 40", "3 to 19"]),
        (["evaluate", "random", "path", "--game", "hex", "--colour", "red"], ["colour: unknown key", "size"]),
        (["train", "hex-quick", "init=runs/nope"], ["init = runs/nope: runs/nope: no such file or folder"]),
        (
            ["train", "pokemon-imitate-gen1"],
            ["pokemon-imitate-gen1: data: imitation needs", "data=FOLDER", "--mock-data"],
        ),
        (["evaluate", "random", "path", "--game", "hex", "--swap", "maybe"], ["swap = 'maybe'", "true or false"]),
        (["evaluate", "random", "strong", "--game", "hex"], ["unknown player 'strong'", "path", "hex-7x7"]),
        (["evaluate", "random", "pth", "--game", "hex"], ["unknown player 'pth'", "did you mean 'path'?"]),
        (["evaluate", "hex-7x8", "path"], ["unknown player 'hex-7x8'", "did you mean 'hex-7x7'?"]),
        (["evaluate", "rule", "random", "--game", "hex"], ["unknown player 'rule'", "hex has: random, path"]),
        (["evaluate", "hex-7x7", "random", "--game", "rocket"], ["a checkpoint of hex cannot play rocket"]),
        (["evaluate", "tcp://localhost:5555", "random", "--game", "hex"], ["tcp://host:port/model"]),
        (["evaluate", "tcp://localhost:1/a", "path", "--game", "hex", "--simulations", "4"], ["--simulations"]),
        (["play", "rocket", "rule"], ["rocket cannot be played in the terminal; allowed: ", "hex"]),
        (["watch", "rocket", "hex-7x7"], ["a checkpoint of hex cannot play rocket"]),
        (
            ["export", "rocket", "rule", "bot"],
            ["rule: a built-in player, not a network; give a run, a checkpoint or shipped weights (rocket-1v1"],
        ),
        (["gtp", "hex", "path"], ["path: a built-in player, not a network", "shipped weights (hex-7x7)"]),
        (["serve", "--model", "main"], ["--model main", "NAME=PLAYER"]),
        (["serve", "--model", "main=path"], ["path is not a network"]),
        (["serve"], ["nothing to serve"]),
        (["bench", "selfplay", "--game", "hex", "--model", "path"], ["path: a built-in player, not a network"]),
        (["ladder", "--server", "ws://x", "--username", "me", "--model", "random"], ["--format"]),
        (["ladder", "--server", "ws://x", "--username", "me", "--model", "hex-7x7"], ["cannot play pokemon"]),
        (["play", "kuhn"], ["kuhn cannot be played in the terminal"]),
        (["play", "hex", "--seat", "2"], ["--seat 2", "seats 0 to 1"]),
        (["train", "hex-quick", "init=path"], ["init = path", "not a run"]),
        (["train", "hex-quick", "init=pokemon-gen1"], ["a checkpoint of pokemon cannot start hex"]),
        (["train", "hex-quick", "opponents={pth: 0.1}"], ["opponents: unknown player 'pth' (did you mean 'path'?)"]),
        (["train", "hex-quick", "opponents=path"], ["opponents = 'path'", "such as {path: 0.2}"]),
        (["train", "hex-quick", "learner.kind=rnad"], ["entropy_coef, epochs", "write 'learner={kind: rnad}'"]),
        (
            ["play", str(shipped_weights()["hex-7x7"])],
            ["is none; name the game first: hex "],
        ),
        (["train", "hex-quick", "learner=ppo"], ["with kind: ppo, alphazero", "; write learner.kind=ppo"]),
        (["train", "hex-quick", "opponents={path: 1.5}"], ["opponents.path = 1.5", "at most 1"]),
        (["train", "hex-quick", "evaluation.opponents=[rocket-1v1]"], ["a checkpoint of rocket cannot play hex"]),
        (["train", "hex-quick", "evaluation.opponents=[rule]"], ["unknown player 'rule'; hex has: random, path"]),
        (["train", "hex-quick", "evaluation.opponents=[tcp://localhost]"], ["tcp://host:port/model"]),
        (["train", "hex-quick", "report=[tensorbord]"], ["report[0] = 'tensorbord'", "tensorboard, wandb"]),
        (["evaluate", "no/such/run", "path", "--game", "hex"], ["no/such/run", "no such file"]),
        (["setup", "pokemon", "--showdown", "../other"], ["pokemon: showdown = '../other': allowed: one version"]),
        (["setup", "pokemon", "0.11.10"], ["unexpected argument '0.11.10'"]),
        (["launch", "slurm", "hex-quik"], ["unknown preset 'hex-quik' (did you mean 'hex-quick'?)"]),
        (["launch", "slurm", "hex-quick", "matches=0"], ["matches = 0", "1 or more"]),
        (["launch", "slurm", "hex-quick", "--partition", "a b"], ["--partition 'a b'", "letters, digits"]),
        (["launch", "slurm", "hex-quick", "--memory", "64"], ["--memory '64'", "such as 64G"]),
        (["launch", "slurm", "hex-quick", "--run", "a;b"], ["a;b'", "letters, digits"]),
        (["launch", "slurm", "hex-quick", "--resume"], ["holds no run to go on with"]),
        (["launch", "slurm", "hex-quick", "--nodes", "2", "cluster.address=auto"], ["cluster: several processes"]),
        (["launch", "explain", "nowhere"], ["'nowhere': neither the number of a job nor a run folder"]),
        (["launch", "logs", "../12"], ["'../12': neither the number of a job"]),
        (["launch", "status", "x" * 5000], ["cannot use ", "File name too long"]),
        (["play", "hexx"], ["unknown game 'hexx'", "did you mean 'hex'?"]),
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


def test_a_folder_near_the_one_that_was_meant(tmp_path, checkpoint, refused):
    kept = checkpoint.rename(tmp_path / "00000036")
    (tmp_path / "runs" / "hex-quick" / "checkpoints").mkdir(parents=True)
    kept.rename(tmp_path / "runs" / "hex-quick" / "checkpoints" / kept.name)
    refused(["evaluate", "runs/hex-quik", "random"], "no such file or folder (did you mean 'runs/hex-quick'?)")
    newest = f"; the newest below it: runs/hex-quick/checkpoints/{kept.name}"
    refused(["evaluate", "runs/hex-quick/checkpoints", "random"], "no checkpoint here", newest)


def test_a_policy_server_that_is_not_there(refused, monkeypatch):
    monkeypatch.setattr("sparring.serving.client._REPEAT", 0.01)
    refused(
        ["evaluate", "tcp://localhost:1/main", "random", "--game", "hex"], "tcp://localhost:1: nobody listens there"
    )


@pytest.mark.parametrize("content", [b"\x80\x81\x00", b"game: [hex\n"])
def test_a_preset_or_a_run_that_is_not_yaml(tmp_path, refused, content):
    (tmp_path / "mine.yaml").write_bytes(content)
    refused(["train", "mine.yaml"], "mine.yaml", "YAML")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_bytes(content)
    refused(["train", "hex-quick", "--run", "run"], "run/config.yaml", "YAML")


def test_a_preset_of_ones_own_without_its_ending(tmp_path, refused):
    (tmp_path / "mine").write_text("game: hex\n")
    refused(["train", "./mine"], "./mine: a preset of your own is a file whose name ends in .yaml or .yml")


def test_code_that_cannot_build_a_policy_is_named_with_its_line(tmp_path, refused):
    (tmp_path / "fails.py").write_text("def build(spec):\n    return 1 / 0\n")
    evaluate = ["evaluate", "fails:build", "path", "--game", "hex", "--matches", "2"]
    train = ["train", "hex-quick", "network={factory: fails:build}", "--run", "r"]
    serve = ["serve", "--model", "main=fails:build", "--game", "hex"]
    for command in (evaluate, train, serve):
        refused(command, "called with the spec of the game: ZeroDivisionError: division by zero", "fails.py, line 2")


@pytest.mark.parametrize("name", ["First", "make"])
def test_a_player_of_your_own_where_a_network_is_needed(tmp_path, refused, name):
    (tmp_path / "own_act.py").write_text(
        "class First:\n    def act(self, decisions):\n        ...\n\ndef make(spec):\n    return First()\n"
    )
    own = f"own_act:{name}"
    for command in (
        ["gtp", "hex", own],
        ["analyse", "hex", own, "x.sgf"],
        ["bench", "selfplay", "--game", "hex", "--model", own],
        ["export", "rocket", own, "bot"],
    ):
        refused(command, f"{own}: a player of your own, not a network; give a run")
    refused(["serve", "--model", f"main={own}", "--game", "hex"], own, "not a network")
    refused(["train", "hex-quick", f"init={own}", "--run", "r"], f"init = {own}", "not a run")
    anchored = ["train", "hex-quick", f"anchor={{to: '{own}', kl: 0.1}}", "--run", "r"]
    refused(anchored, f"anchor.to: {own}: not a run or checkpoint folder")
    words = ["it is a player, with `act`"] if name == "First" else ["training needs a torch module"]
    refused(["train", "hex-quick", f"network={{factory: '{own}'}}", "--run", "r"], own, *words)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("content", "words"), [("def build(spec:\n", "SyntaxError"), ("x = nothing\n", "NameError: name 'nothing'")]
)
def test_code_that_cannot_be_imported_is_named_with_its_line(tmp_path, refused, content, words):
    name = "wrong_syntax" if "build" in content else "wrong_name"
    (tmp_path / f"{name}.py").write_text(content)
    for command in (["evaluate", f"{name}:build", "path", "--game", "hex"], ["play", "hex", f"{name}:build"]):
        refused(command, f"{name}:build: cannot import it: {words}", f"{name}.py, line 1")


def test_memory_that_cannot_be_had_is_one_line(monkeypatch, capsys):
    def refuse(*arguments, **options):
        raise MemoryError("Unable to allocate 95.4 GiB")

    monkeypatch.setattr("sparring.core.installed_games", refuse)
    monkeypatch.setattr(sys, "argv", ["sparring", "games"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    one_line(capsys.readouterr().err, "out of memory: Unable to allocate 95.4 GiB; lower ", "matches")


def test_an_unwritable_run_folder(tmp_path, refused):
    (tmp_path / "file").write_text("")
    refused(["train", "hex-quick", "--run", tmp_path / "file" / "run"], "cannot write")


@pytest.mark.parametrize(
    "arguments",
    [
        ["selfplay", "hex", "--model", "path", "--matches", "4", "--size", "4", "--save", "file/games"],
        ["keys", "file/keys"],
        ["rewards", "inspect", "file/run"],
    ],
)
def test_a_place_that_cannot_be_used_is_named(tmp_path, refused, arguments):
    (tmp_path / "file").write_text("")
    refused(arguments, "file/")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_file_that_the_system_refuses_is_one_line(monkeypatch, refused, number):
    def refuse(*arguments, **options):
        raise OSError(number, os.strerror(number), "/some/where")

    monkeypatch.setattr("sparring.core.installed_games", refuse)
    refused(["games"], "cannot use /some/where", os.strerror(number))


def test_weights_that_do_not_fit_their_network_are_named_in_a_whole_sentence(checkpoint, refused):
    about = json.loads((checkpoint / "policy.json").read_text())
    about["network"]["channels"] = 16
    (checkpoint / "policy.json").write_text(json.dumps(about))
    (checkpoint / "SHA256SUMS").unlink()
    refused(["evaluate", checkpoint, "random"], "do not fit their own network: size mismatch for ", "torch.Size")


def test_a_full_disk(tmp_path):
    """No file may grow beyond 20 kB: the first checkpoint does not fit."""
    words = ["--run", tmp_path / "r", "threads=1", "learner.batch_size=64", "matches=8", "decisions=64"]
    result = warm.run("train", "hex-quick", *words, most_file_bytes=20_000)
    assert result.returncode == 2, result.stderr
    one_line(result.stderr, "cannot write")
    assert not list((tmp_path / "r").glob("checkpoints/*/*"))


def test_ctrl_c_while_commands_are_still_imported_is_quiet():
    code = "import builtins; from sparring.__main__ import main; take = builtins.__import__\n"
    code += "def stop(name, *rest):\n    if name == 'sparring.cli':\n        raise KeyboardInterrupt\n"
    code += "    return take(name, *rest)\nbuiltins.__import__ = stop\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_ctrl_c_that_python_has_to_drop_ends_a_command_all_the_same():
    """In `__del__` and in callbacks from C no exception gets out, and half-made objects complain."""
    code = """
import os, signal, sys, time, types

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

class HalfMade:
    def __del__(self):
        raise AttributeError("never made")

def run():
    half = HalfMade()
    Dying()
    time.sleep(60)

sys.modules["sparring.cli"] = types.ModuleType("sparring.cli")
sys.modules["sparring.cli"].main = run
from sparring.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
