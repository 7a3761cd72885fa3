"""Running commands inside the test's own process."""

import sys

import pytest
from typer.testing import CliRunner

from sparring.cli import app, main
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from tests import hex
from tests.commands import one_line


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments, **options: runner.invoke(
        app, list(map(str, arguments)), catch_exceptions=False, **options
    )


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Runs a command in an empty folder; it must end with exit code 2 and one line that has all the words."""

    def check(arguments, *words, also=lambda errors: None):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sparring", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 2
        errors = capsys.readouterr().err
        one_line(errors, *words)
        also(errors)

    return check


@pytest.fixture
def checkpoint(tmp_path):
    """A tiny Hex network for boards of 4x4."""
    folder = tmp_path / "checkpoint"
    network = {"channels": 8, "blocks": 1}
    save_checkpoint(folder, Checkpoint(hex.spec(), network, 1, hex.policy().state_dict(), {}))
    return folder
