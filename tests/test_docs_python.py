"""Pages as a reader would follow them: their commands and their code, from top to bottom, in an empty folder."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import Headers, Steps
from sparring.core.replays import Filters, Replay
from sparring.games.pokemon.replays.episodes import read_replays
from tests.games.pokemon.replays.truth import played
from tests.serving.support import running, source

DOCS = Path(__file__).parents[1] / "docs"
PARTS = re.compile(r"^```python\n(?P<code>.*?)^```$|^    sparring (?P<command>.*?)$", re.MULTILINE | re.DOTALL)


def follow(page, kinds):
    """Runs the parts of `page`, whose kinds are "c" for a command and "p" for Python; the names that the code made."""
    parts = list(PARTS.finditer(page.read_text()))
    assert "".join("c" if part["command"] else "p" for part in parts) == kinds
    names: dict[str, object] = {"__name__": "__main__"}
    for part in parts:
        if part["command"]:
            assert CliRunner().invoke(app, part["command"].split()).exit_code == 0
        else:
            exec(compile(part["code"], str(page), "exec"), names)
    return names


def test_episodes_as_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = follow(DOCS / "data.md", "cccppp")
    assert names["legal"][np.arange(len(names["actions"])), names["actions"]].all()
    assert names["planes"].shape[1:] == (2, 5, 5)
    assert names["data"].episodes == 400
    assert names["batch"].position != names["position"]
    assert (names["batch"].episodes.headers.lengths <= 8).all()
    assert (tmp_path / "stats.html").exists()
    said = capsys.readouterr().out
    assert "batches an epoch, 400 episodes" in said
    assert len(re.findall(r"(?:path|random) in seat [01]: 100 episodes, ", said)) == 4


def test_every_column_of_a_store_is_in_the_table():
    told = re.findall(r"^\| (`.*?) \|", (DOCS / "data.md").read_text(), re.MULTILINE)
    told = re.findall(r"`(\w+)(?:/NAME)?`", " ".join(told))
    columns = {part.name for kind in (Headers, Steps) for part in fields(kind)} - {"lengths"}
    assert sorted(told) == sorted(columns)


def code_of(page, number=0):
    """A block of Python of `page`."""
    return [part["code"] for part in PARTS.finditer((DOCS / page).read_text()) if part["code"]][number]


def test_asking_a_policy_server():
    code, names = code_of("policy-server.md"), {}
    with running(source()) as server:
        exec(compile(code.replace("tcp://127.0.0.1:5555", server.address), "policy-server.md", "exec"), names)
    assert (names["decisions"].legal[np.arange(64), names["answers"].action]).all()
    assert code_of("policy-server.md", 1).startswith("# a sketch: ")


def test_an_arena_of_worker_processes(capsys):
    exec(compile(code_of("workers.md"), "workers.md", "exec"), {"__name__": "__main__"})
    assert re.fullmatch(r"\d+ episodes, 1\d{4} decisions\n", capsys.readouterr().out)


def test_actions_of_pokemon_print_what_the_page_shows(capsys):
    page = (DOCS / "pokemon-actions.md").read_text()
    exec(compile(code_of("pokemon-actions.md"), "pokemon-actions.md", "exec"), {})
    assert capsys.readouterr().out == re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]


def test_hiding_what_was_filled_in_of_replays():
    names = {}
    exec(compile(code_of("replays.md"), "replays.md", "exec"), names)
    records = [Replay(one["id"], one["log"], one["format"]) for one in played("gen9ou", "random", 1, seed=3)]
    steps = read_replays(records, Filters(), {"own_team": "usage"}).episodes["gen9ou"].steps
    hidden = names["without_guesses"](steps)
    assert (hidden["move_ids"] > 0).sum() < (steps.observation["move_ids"] > 0).sum()


@pytest.mark.timeout(600)
def test_from_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = follow(DOCS / "python.md", "ppppcppp")
    assert [entry["update"] for entry in names["history"]] == list(range(1, len(names["history"]) + 1))
    assert names["score"].matches == 100
    assert names["ended"] >= 20
    assert names["episodes"].height == 400
    assert len(names["steps"]) == names["part"].rows
    assert names["steps"]["turn"].max() > 3
    said = capsys.readouterr().out
    assert re.search(r"[3-9] updates; against random: \d+\.\d% \(", said)
    assert int(re.search(r"the shipped agent wins (\d+)% of 100", said)[1]) > 90
    assert re.search(r"update \d+ against path: \d+\.\d% \(\d+\.\d% - \d+\.\d%\): \d+ won", said)
    assert "GameReport(matches=" in said
    assert "ArenaReport(matches=" in said
