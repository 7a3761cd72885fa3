"""A plug-in that cannot be loaded: told in one line, left out of what is listed, and refused where it is asked for."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import InputError, game_names, installed_games, load_game, plugins
from sparring.training.config import load_config
from tests.commands import SPARRING, one_line
from tests.plugins import install

BROKEN = "import os\n\nGAME = (\n"


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder for packages, first on the path; nothing has been told yet."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(plugins, "_told", set())
    monkeypatch.chdir(tmp_path)
    yield folder
    for name in [path.stem for path in folder.glob("*.py")]:
        sys.modules.pop(name, None)


def in_its_own_process(packages, *words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), *filter(None, sys.path)])}
    return subprocess.run([*SPARRING, *words], capture_output=True, text=True, timeout=100, env=environment)


def test_commands_that_only_list_games_leave_out_a_broken_one_and_say_so_once(packages):
    file = install(packages, "broken-game", "broken_game", BROKEN, games="broken = broken_game:GAME")
    line = f"game broken (package broken-game) cannot be loaded: SyntaxError: '(' was never closed ({file}, line 3)"
    for words in (["games"], ["evaluate", "path", "random", "--game", "hex", "--size", "3", "--matches", "2"]):
        done = in_its_own_process(packages, *words)
        assert done.returncode == 0, done.stderr
        assert [said for said in done.stderr.splitlines() if "broken" in said] == [f"{line}; see: sparring doctor"]
        assert "broken" not in done.stdout
    load_config("hex-quick", [])
    assert "hex" in installed_games()
    assert "broken" not in installed_games()
    assert "broken" in game_names()


@pytest.mark.parametrize(
    "words",
    [["settings", "broken"], ["play", "broken", "random"], ["evaluate", "path", "random", "--game", "broken"]],
    ids=" ".join,
)
def test_it_is_refused_where_it_is_asked_for(packages, monkeypatch, capsys, words):
    from sparring.cli import main

    file = install(packages, "broken-game", "broken_game", BROKEN, games="broken = broken_game:GAME")
    monkeypatch.setattr(sys, "argv", ["sparring", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    one_line(capsys.readouterr().err, "game broken (package broken-game)", f"({file}, line 3)")


def test_commands_of_a_broken_package_are_left_out_and_the_others_work(packages):
    file = install(packages, "broken-game", "broken_game", "1 / 0\n", commands="broken = broken_game")
    done = in_its_own_process(packages, "--help")
    line = "commands of broken (package broken-game) cannot be loaded: ZeroDivisionError: division by zero"
    assert done.stderr.strip() == f"{line} ({file}, line 1); see: sparring doctor"
    assert done.returncode == 0
    assert "train" in done.stdout


COMPLETE = """
from pathlib import Path
import msgspec

class Options(msgspec.Struct):
    pass

class Nim:
    name, summary, settings, network, presets, players = "nim", "Nim", Options, Options, Path("presets"), {}
    def spec(self, settings): ...
    def arena(self, settings, *, matches, seed): ...
    def policy(self, spec, network): ...
    def fits(self, trained, spec): ...
    def model(self, spec): ...

"""


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("GAME = Nim", "nim_game:GAME is the class Nim, and a game is an object: Nim()"),
        ("del Nim.fits, Nim.network\nGAME = Nim()", "nim_game:GAME has no `network`, `fits`; see `sparring.core.Game`"),
        ("GAME = Nim()\nGAME.presets = 'presets'", "has a `presets` that is 'presets'; allowed: a Path"),
        ("GAME = Nim()\nGAME.settings = dict", "has a `settings` that is <class 'dict'>; allowed: a subclass of"),
        ("GAME = Nim()\nGAME.players = {'best': 3}", "has a `players['best']` that is 3; allowed: something to call"),
        ("GAME = Nim()\nGAME.name = 'nym'", "has the name 'nym', and its entry point 'nim': they must be the same"),
        ("", r"cannot be loaded: AttributeError: module 'nim_game' has no attribute 'GAME'"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3 ("),
    ],
)
def test_an_object_that_is_no_game_is_refused_and_says_why(packages, capsys, end, why):
    install(packages, "nim", "nim_game", COMPLETE + end, games="nim = nim_game:GAME")
    with pytest.raises(InputError) as refused:
        load_game("nim")
    assert why in str(refused.value)
    assert "nim" not in installed_games()
    assert why in capsys.readouterr().err


def test_a_complete_game_is_loaded(packages):
    install(packages, "nim", "nim_game", COMPLETE + "GAME = Nim()", games="nim = nim_game:GAME")
    assert load_game("nim").name == "nim"
    result = CliRunner().invoke(app, ["games"], catch_exceptions=False)
    assert "nim" in result.stdout
