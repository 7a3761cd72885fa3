"""What people are told while a bot waits for battles."""

import sys
from contextlib import closing

import pytest

from sparring.cli import main
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.live import LadderReport, Wish
from sparring.games.pokemon.live.connection import page_address
from tests.torture.ladder import FORMAT, ME, FakeServer, record


def test_who_waits_for_challenges_says_how_to_make_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(FakeServer(record(FORMAT, 1, seed=0), hostile=False, seed=0)) as server:
        page = page_address(server.address)
        arguments = ["--server", server.address, "--username", ME, "--model", "random", "--format", FORMAT]
        monkeypatch.setattr(sys, "argv", ["sparring", "ladder", *arguments, "--accept", "--patience", "1"])
        with pytest.raises(SystemExit):
            main()
    expected = f"{ME} waits for challenges in {FORMAT} on {server.address}; in a browser: {page}, then type /challenge"
    assert f"{expected} {ME}, {FORMAT}\n" in capsys.readouterr().err


def test_the_progress_says_what_is_waited_for_while_nothing_runs() -> None:
    report = LadderReport(wins=2)
    waiting = {how: Wish(format=find_format(FORMAT), how=how) for how in ("ladder", "challenge", "accept")}
    assert report.text(0, waiting["accept"]).startswith("waiting for a challenge: 2 won, 0 drawn")
    assert report.text(0, waiting["ladder"]).startswith("looking for an opponent: ")
    assert report.text(0, waiting["challenge"]).startswith("waiting for an answer to a challenge: ")
    assert report.text(3, waiting["accept"]).startswith("3 running: 2 won")
