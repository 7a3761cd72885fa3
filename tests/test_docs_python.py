"""docs/python.md as a reader would follow it: its commands and its code, from top to bottom, in an empty folder."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparring.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "python.md"
PARTS = re.compile(r"^```python\n(?P<code>.*?)^```$|^    sparring (?P<command>.*?)$", re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(600)
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    parts = list(PARTS.finditer(PAGE.read_text()))
    assert [bool(part["command"]) for part in parts] == [False, False, False, True, False, False, False]
    names: dict[str, object] = {}
    for part in parts:
        if part["command"]:
            assert CliRunner().invoke(app, part["command"].split()).exit_code == 0
        else:
            exec(compile(part["code"], str(PAGE), "exec"), names)
    assert [entry["update"] for entry in names["history"]] == list(range(1, len(names["history"]) + 1))
    assert names["score"].matches == 100
    assert names["episodes"].height == 400
    assert len(names["steps"]) == names["part"].rows
    assert names["steps"]["turn"].max() > 3
    said = capsys.readouterr().out
    assert "against random, 95% interval" in said
    assert int(re.search(r"the shipped agent wins (\d+)% of 100", said)[1]) > 90
    assert re.search(r"update 1: \d+% against path, 95% interval \d+% - \d+%", said)
    assert "ArenaReport(matches=" in said
