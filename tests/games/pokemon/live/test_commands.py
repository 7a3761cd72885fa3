"""`sparring ladder` with input it cannot use: one line, exit code 2, before anything is sent."""

import sys
from pathlib import Path

import pytest

from sparring.cli import main
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from tests import hex

USER = ["--username", "ourbot"]
PLAYER = ["--model", "max-power", "--format", "gen1randombattle"]
NOWHERE = ["--server", "ws://127.0.0.1:9"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*NOWHERE, *USER, *PLAYER], ("ws://127.0.0.1:9/showdown/websocket", "cannot be reached")),
        (["--server", "http://localhost", *USER, *PLAYER], ("--server http://localhost", "ws://localhost:8000")),
        ([*NOWHERE, "--username", "?!", *PLAYER], ("--username '?!'", "letters or digits")),
        ([*NOWHERE, *USER, "--model", "max-power"], ("--format", "gen1randombattle")),
        ([*NOWHERE, *USER, "--model", "max-power", "--format", "gen77ou"], ("unknown Pokémon format 'gen77ou'",)),
        ([*NOWHERE, *USER, "--model", "nobody", "--format", "gen1ou"], ("unknown player 'nobody'", "max-power")),
        ([*NOWHERE, *USER, "--model", "human", "--format", "gen1ou"], ("human", "in a browser")),
        ([*NOWHERE, *USER, *PLAYER, "--team-set", "teams"], ("team_set 'teams'", "random teams")),
        ([*NOWHERE, *USER, *PLAYER, "--challenge", "Rival", "--accept"], ("--challenge and --accept",)),
        ([*NOWHERE, *USER, *PLAYER, "--password", "--login", "http://example.org/"], ("--login", "https only")),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPARRING_PASSWORD", "secret")
    refused(monkeypatch, capsys, arguments, words)


def test_a_folder_that_cannot_be_written_is_told_before_anybody_logs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("a file of somebody's")
    arguments = [*NOWHERE, *USER, *PLAYER, "--save", str(tmp_path / "taken")]
    refused(monkeypatch, capsys, arguments, ("cannot write", "taken: File exists"))


def test_a_checkpoint_of_another_game_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    network = {"channels": 8, "blocks": 1}
    save_checkpoint(tmp_path / "hex", Checkpoint(hex.spec(), network, 1, hex.policy().state_dict(), {}))
    arguments = [*NOWHERE, *USER, "--model", str(tmp_path / "hex")]
    refused(monkeypatch, capsys, arguments, ("a checkpoint of hex cannot play pokemon",))


def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sparring", "ladder", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    errors = capsys.readouterr().err
    assert end.value.code == 2, errors
    problem = [line for line in errors.splitlines() if line.startswith("sparring:")]
    assert len(problem) == 1, errors
    for word in (*words,):
        assert word in problem[0]
    assert "secret" not in errors
