"""No code from data: no command imports anything because a run folder, a checkpoint or a store says so."""

import json
import os
import sys

import pytest
import typer
import yaml

from sparring.cli import app
from sparring.core import RandomPlayer
from sparring.league.exchange import export_matches
from sparring.league.ledger import Ledger
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.rollout import Collector, everyone
from sparring.rollout.store import EpisodeStore
from sparring.training.config import load_config
from sparring.training.run import RunFolder
from tests import hex as small
from tests.league.support import match
from tests.torture.forks import command, in_child

FACTORY = {"factory": "trap:build"}
COMMANDS = {
    "train": [["hex-quick", "--run", "."], ["config.yaml", "--run", "."], ["best/preset.yaml", "--run", "new"]],
    "evaluate": [[".", "random"], ["random", "best", "--game", "hex"]],
    "launch slurm": [["config.yaml", "--dry-run"], ["best/preset.yaml", "--run", ".", "--resume", "--dry-run"]],
    "launch status": [["."]],
    "launch logs": [["."]],
    "launch cancel": [["."]],
    "launch explain": [["."]],
    "exploit": [[".", "--minutes", "0.05"], ["best", "--minutes", "0.05", "--run", "."]],
    "play": [["hex", "."]],
    "selfplay": [["hex", "--model", ".", "--games", "1", "--save", "games"]],
    "serve": [["--model", "a=.", "--port", "0"]],
    "gtp": [["hex", "."]],
    "analyse": [["hex", ".", "game.sgf"]],
    "sgf": [["store"]],
    "ladder": [["--server", "ws://127.0.0.1:9", "--username", "me", "--model", "."]],
    "bench scale": [["config.yaml"], ["best/preset.yaml"]],
    "diagnose": [["config.yaml", "--seconds", "0.1"], ["--game", "hex", "--compare", "metrics.jsonl"]],
    "plan": [["config.yaml", "--seconds", "0.1"], ["hex-quick", "--rates", "metrics.jsonl"]],
    "bench selfplay": [["--game", "hex", "--model", ".", "--matches", "1", "--workers", "1"]],
    "watch rocket": [["rocket"]],
    "export rocket": [["rocket", "bundle"]],
    "rewards inspect": [["."]],
    "rewards ablate": [["config.yaml"]],
    "presets": [["config.yaml"]],
    "report": [["."]],
    "data stats": [["store"]],
    "data show": [["store", "--episode", "0"]],
    "replays download": [["store", "--output", "out"]],
    "replays parse": [["metrics.jsonl", "--output", "out"]],
    "replays teams": [["game.sgf"]],
    "replays generate": [["gen1ou", "battles.jsonl", "--model", "."]],
    "tournament": [[".", "random", "--ledger", "trap.ledger"], ["random", "path", "--game", "hex", "--ledger", "."]],
    "league show": [["trap.ledger"], ["."]],
    "league import": [["new.ledger", "trap.jsonl"]],
    "league export": [["trap.ledger", "out.csv"]],
}
READS_NO_DATA = {
    "bench suite",
    "bench render",
    "games",
    "help",
    "version",
    "settings",
    "keys",
    "setup",
    "showdown",
    "doctor",
}
"""Commands that are given no run folder, checkpoint or store."""


def leaf_commands(group, before=()):
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from leaf_commands(found, (*before, name))
        else:
            yield " ".join((*before, name))


def test_every_command_is_tried():
    assert set(leaf_commands(typer.main.get_command(app))) == set(COMMANDS) | READS_NO_DATA


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """The present folder: a run whose every part names a factory that is there to be imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap.py").write_text("open('sprung', 'w').close()\ndef build(spec): raise SystemExit(99)\n")
    folder = RunFolder(tmp_path / "run")
    folder.open(load_config("hex-quick", [])[0])
    folder.close()
    for path in (tmp_path / "run").iterdir():
        path.rename(tmp_path / path.name)
    stored = {**yaml.safe_load((tmp_path / "config.yaml").read_text()), "network": FACTORY}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(stored))
    weights = small.policy(4).state_dict()
    for name in ("best", "checkpoints/00000001", "rocket/best"):
        save_checkpoint(tmp_path / name, Checkpoint(small.spec(4), FACTORY, 1, weights, {}))
    (tmp_path / "best" / "config.yaml").write_text(yaml.safe_dump(stored))
    (tmp_path / "best" / "preset.yaml").write_text(yaml.safe_dump(stored))
    about = tmp_path / "rocket" / "best" / "policy.json"
    about.write_text(
        json.dumps({**json.loads(about.read_text()), "spec": {**small.spec(4).to_json(), "game": "rocket"}})
    )
    (about.parent / "SHA256SUMS").unlink()
    (tmp_path / "metrics.jsonl").write_text('{"update": 1, "network": {"factory": "trap:build"}}\n')
    (tmp_path / "game.sgf").write_text("(;FF[4]GM[11]SZ[4];B[a1])")
    collector = Collector(small.arena(4), {"trap:build": RandomPlayer(0)}, everyone(0, 2), record=["trap:build"])
    with EpisodeStore(tmp_path / "store", small.spec(4), about={"models": ["trap:build"]}) as store:
        store.append(collector.collect(20))
    with Ledger(tmp_path / "trap.ledger", create=True) as ledger:
        ledger.add([match(1, first="trap:build", game="trap:build", record="trap:build")])
        export_matches(ledger, tmp_path / "trap.jsonl")
    return tmp_path


OPPONENTS = [{"opponents": {"trap:build": 0.1}}, {"evaluation": {"opponents": ["random", "trap:build=best"]}}]


def name_opponents(folder, named):
    stored = yaml.safe_load((folder / "config.yaml").read_text())
    stored["network"] = load_config("hex-quick", [])[0].network
    (folder / "config.yaml").write_text(yaml.safe_dump({**stored, **named}))


@pytest.mark.parametrize("named", OPPONENTS, ids=["training", "rating"])
@pytest.mark.parametrize(
    "arguments", [["hex-quick", "--run", "."], ["config.yaml"], ["config.yaml", "opponents.random=0.1"]]
)
def test_training_imports_no_opponent_that_a_run_folder_names(hostile, capfd, named, arguments):
    name_opponents(hostile, named)
    quick = ["decisions=10", "evaluation.matches=2", "evaluation.every=0", "threads=1"]

    def work():
        sys.path.insert(0, "")
        command("train", *arguments, *quick)

    code = in_child(work, hostile / "log")
    said = capfd.readouterr().err
    assert not (hostile / "sprung").exists(), said
    assert code == (0 if "evaluation" in named and arguments[0] == "hex-quick" else 2), said
    assert "Traceback" not in said
    if arguments[0] == "config.yaml":
        key = "evaluation.opponents" if "evaluation" in named else "opponents"
        assert f"code of your own: add {key}=... with all of them" in said


def test_an_opponent_by_code_is_imported_where_the_user_names_it(hostile):
    name_opponents(hostile, OPPONENTS[0])

    def work():
        sys.path.insert(0, "")
        command("train", "config.yaml", "opponents={trap:build: 0.1}", "--run", "new")

    in_child(work, hostile / "log")
    assert (hostile / "sprung").exists(), (hostile / "log").read_text()


@pytest.mark.parametrize(("name", "arguments"), [(name, words) for name in COMMANDS for words in COMMANDS[name]])
def test_no_command_imports_what_data_names(hostile, name, arguments):
    def work():
        sys.path.insert(0, "")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = os.fdopen(0, closefd=False)
        command(*name.split(), *arguments)

    code = in_child(work, hostile / "log")
    said = (hostile / "log").read_text()
    assert not (hostile / "sprung").exists(), said
    assert code in (0, 2), said
    assert "Traceback" not in said
