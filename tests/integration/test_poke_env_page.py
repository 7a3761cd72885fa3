"""docs/poke-env.md as a reader follows it: a reward of their own, and their poke-env player in the arena and online."""

import json
import re
import shlex
import sys
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from sparring.cli import app
from sparring.games.pokemon.live import LocalServer
from sparring.games.pokemon.setup import setup_pokemon

PAGE = Path(__file__).parents[2] / "docs" / "poke-env.md"
REWARDS, FUNCTIONS, ARENA, SERVER, LIVE = re.findall(
    r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
)
QUICK = "decisions=256 matches=8 threads=1 evaluation.matches=2 learner.batch_size=256 learner.minibatch_size=128"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    setup_pokemon(say=lambda line: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_rewards", raising=False)


def command(name):
    """The command of the page that begins with `sparring NAME`."""
    line = re.search(rf"^    sparring ({name} .*)$", PAGE.read_text(), re.MULTILINE)
    return shlex.split(line[1].removesuffix("&"))


@pytest.mark.timeout(600)
def test_a_run_pays_the_rewards_of_the_page(tmp_path):
    (tmp_path / "my_rewards.py").write_text(REWARDS)
    done = CliRunner().invoke(app, [*command("train"), *QUICK.split()])
    assert done.exit_code == 0, done.output
    metrics = json.loads((tmp_path / "runs/pokemon-gen9/metrics.jsonl").read_text().splitlines()[0])
    assert metrics["play/reward/my_rewards:boosts"] > 0
    assert "play/reward/my_rewards:hazards" in metrics
    small = ", ".join(map(repr, QUICK.split()))
    exec(compile(FUNCTIONS.replace('run="runs', f'{small}, run="runs'), str(PAGE), "exec"), {})
    metrics = json.loads((tmp_path / "runs/hazards/metrics.jsonl").read_text().splitlines()[0])
    assert "play/reward/my_rewards:hazards" in metrics


@pytest.mark.timeout(600)
def test_the_players_of_the_page_sit_in_the_arena_and_play_on_a_server(capsys):
    names: dict[str, object] = {}
    exec(compile(ARENA.replace("matches=20", "matches=2"), str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    for name in ("RandomPlayer", "SimpleHeuristicsPlayer", "Careful"):
        assert re.search(rf"pokemon-gen1 wins \d+% against {name}; 0 answers were not legal", said)
    with LocalServer() as server:
        words = [*command("ladder"), "--matches", "2"]
        words[words.index("--server") + 1] = f"ws://localhost:{server.port}"

        def run(code):
            exec(compile(code.replace("localhost:8000", f"localhost:{server.port}"), str(PAGE), "exec"), names)

        accepting = Thread(target=run, args=[SERVER.replace("accept(20)", "accept(4)")], daemon=True)
        accepting.start()
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        run(re.sub(r"=20\b", "=2", LIVE))
        accepting.join(60)
    said = capsys.readouterr().out
    assert re.search(r"Careful won \d of 4", said)
    assert re.search(r"\d won, \d lost, 0 choices refused", said)
