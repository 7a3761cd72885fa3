"""Pages as a reader would follow them: their commands and their code, from top to bottom, in an empty folder."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import Headers, Steps

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
    assert "against random, 95% interval" in said
    assert int(re.search(r"the shipped agent wins (\d+)% of 100", said)[1]) > 90
    assert re.search(r"update 1 against path: \d+\.\d% \(\d+\.\d% - \d+\.\d%\): \d+ won", said)
    assert "ArenaReport(matches=" in said
