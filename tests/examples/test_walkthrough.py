"""docs/adding-a-game.md: the code that it shows is the example's, and its checks run."""

import re

import pytest

from tests.examples.conftest import EXAMPLE

PAGE = EXAMPLE.parents[1] / "docs" / "adding-a-game.md"
BLOCKS = re.findall(r"^```(python|yaml)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
SHOWN = [code for language, code in BLOCKS if language == "python" and code.startswith("# connect_four/")]


@pytest.mark.parametrize("code", SHOWN, ids=lambda code: code.split("\n")[0])
def test_what_is_shown_is_in_the_example(code):
    name, *parts = re.split(r"^# (?=connect_four/)|^ *# \.\.\.\n", code, flags=re.MULTILINE)[1:]
    file, _, begin = name.partition("\n")
    source = (EXAMPLE / file).read_text()
    for part in (begin, *parts):
        assert part.strip("\n") in source, part
    assert max(len(part) for part in (begin, *parts)) > 200


def test_every_part_that_is_required_is_shown():
    shown = {code.split("\n")[0].removeprefix("# connect_four/") for code in SHOWN}
    assert shown == {"game.py", "settings.py", "rules.py", "arena.py", "model.py", "net.py", "players.py"}


def test_the_preset_that_is_shown_is_the_examples():
    ((_, preset),) = (block for block in BLOCKS if block[0] == "yaml")
    assert preset == (EXAMPLE / "connect_four/presets/connect-four.yaml").read_text()


@pytest.mark.usefixtures("installed")
def test_the_checks_of_the_page_run(capsys):
    names: dict[str, object] = {}
    for language, code in BLOCKS:
        if language == "python" and code not in SHOWN:
            exec(compile(code, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "GameReport(matches=1" in said
    assert "ArenaReport(matches=10" in said
