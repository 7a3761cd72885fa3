"""`sparring tournament`, as typed."""

import json
import signal
import sqlite3
import sys
import time

import pytest

from sparring.league.ledger import Ledger
from tests import warm
from tests.warm import Process

WIDE = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
CUP = ["tournament", "path", "random", "--game", "hex", "--size", "4", "--ledger", "cup.ledger"]
FAILS = "import sys; sys.exit(3)"


def kept(path):
    with Ledger(path) as ledger:
        return {one.id: one for one in ledger.matches()}


def test_a_round_robin_with_a_table_that_fits_80_columns(run, checkpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fails.py").write_text(FAILS)
    engine = f"gtp:{sys.executable} -S -E {tmp_path / 'fails.py'}"
    words = [*CUP[:3], str(checkpoint), "openspiel:20", engine, *CUP[3:]]
    text = run(*words, "--schedule", "round-robin", "--matches", "2", env=WIDE).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "hex: 20 matches, ratings in Elo points, path = 0" in text
    assert "points of the row's player against the column's" in text
    assert "8 matches were forfeited" in text
    assert "ended at 'boardsize 4' with code 3" in " ".join(text.split()) or "ended before" in text
    matches = kept("cup.ledger").values()
    assert len(matches) == 20
    mine = [one for one in matches if any(seat.name == engine for seat in one.seats)]
    assert all("forfeits: " in one.note for one in mine)
    assert all(seat.outcome == (-1 if seat.name == engine else 1) for one in mine for seat in one.seats)
    assert {seat.kind for one in mine for seat in one.seats if seat.name == engine} == {"program"}


def test_json(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = json.loads(run(*CUP, "--sprt", "0,200", "--json").stdout)
    assert found["sprt"]["accepted"] == "elo1"
    assert (found["schedule"], found["complete"], found["game"]) == ("sprt", True, "hex")
    assert found["settings"]["opening"] == 2


def test_confidence_is_answered_in_words(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(*CUP, "--confidence", "0.95", env=WIDE).stdout
    assert "who is stronger, each order at 95% confidence\n  path is stronger than random\n" in found
    assert "orders" not in json.loads(run(*CUP, "--schedule", "round-robin", "--matches", "4", "--json").stdout)


def test_killed_in_the_middle_it_goes_on_with_no_match_lost_or_doubled(tmp_path):
    words = [*CUP, "--schedule", "round-robin", "--matches", "4000"]
    first = Process(*words, cwd=tmp_path)
    path, deadline = tmp_path / "cup.ledger", time.monotonic() + 120
    while time.monotonic() < deadline and not (path.exists() and len(kept(path)) > 50):
        time.sleep(0.02)
    first.kill()
    first.wait()
    before = kept(path)
    assert 50 < len(before) < 4000
    more = 2 * (len(before) // 2) + 40
    words[-1] = str(more)
    done = warm.run(*words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = kept(path)
    assert len(after) == json.loads(done.stdout)["matches"] == more
    assert all(after[id] == one for id, one in before.items())


@pytest.mark.parametrize("workers", [0, 2])
def test_ctrl_c_ends_it_at_once_with_what_was_played(tmp_path, workers):
    """Also the processes that play, whatever they are doing."""
    words = [*CUP, "--schedule", "round-robin", "--matches", "100000", "--workers", workers]
    process = Process(*words, cwd=tmp_path)
    path, deadline = tmp_path / "cup.ledger", time.monotonic() + 120
    while time.monotonic() < deadline and not path.exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    code = process.wait(60)
    assert code in (0, 130)  # 130 if it came before the tournament listened
    assert time.monotonic() - begun < 20
    said = process.stderr.read()
    assert code == 130 or said.splitlines()[-1] == "stopped; the same command goes on from cup.ledger"
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*CUP[:3], "nobody", *CUP[3:]], ["unknown player 'nobody'"]),
        ([*CUP[:3], "path", *CUP[3:]], ["path: the same player twice"]),
        ([*CUP[:3], "pokemon-gen1", *CUP[3:]], ["a checkpoint of pokemon cannot play hex"]),
        ([*CUP[:3], "gtp:no-such-engine", *CUP[3:]], ["no program 'no-such-engine' on this machine"]),
        ([*CUP[:3], "poke-env:RandomPlayer", *CUP[3:]], ["hex has no seats for players by poke-env"]),
        ([*CUP, "--sprt", "5"], ["--sprt 5: not of the form elo0,elo1"]),
        ([*CUP, "--colour", "red"], ["no such option: --colour"]),
        (["tournament", "path", "random"], ["say which game"]),
    ],
)
def test_bad_input_is_one_line(refused, words, said):
    refused(words, *said)


def test_a_corrupt_or_locked_ledger_is_one_line(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("sparring.league.ledger._PATIENCE", 0.05)
    (tmp_path / "cup.ledger").write_text("no ledger")
    refused(CUP, "cup.ledger: not a ledger")
    (tmp_path / "cup.ledger").unlink()
    Ledger(tmp_path / "cup.ledger", create=True).close()
    other = sqlite3.connect(tmp_path / "cup.ledger", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused(CUP, "locked by another process")
    other.close()
