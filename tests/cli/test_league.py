"""`sparring league` and `sparring evaluate --ledger`, as typed."""

import json
import sqlite3

import pytest

from sparring.league.ledger import Ledger, Seat
from tests.commands import sparring
from tests.league.support import match

WIDE = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}


@pytest.fixture
def ledger(tmp_path):
    """Three of four matches are ann's against ben; against cid she wins with sun and loses with rain."""
    path = tmp_path / "hex.ledger"
    with Ledger(path, create=True) as opened:
        for number in range(400):
            first, second = ("ann", "ben") if number % 2 else ("ben", "ann")
            won = (number % 8 < 6) == (first == "ann")
            opened.add([match(number, first, second, 1.0 if won else -1.0)])
        for number in range(400, 600):
            rain = number % 4 < 2
            won = rain if number % 20 else not rain
            first, second = ("cid", "ann") if number % 2 else ("ann", "cid")
            outcome = 1.0 if won == (first == "cid") else -1.0
            opened.add([match(number, first, second, outcome, team_set="rain" if rain else "sun")])
    return path


def test_show_fits_80_columns_and_warns_of_what_the_ratings_hide(run, ledger):
    text = run("league", "show", ledger, "--anchor", "ben", env=WIDE).stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "hex: 600 matches, ratings in Elo points, ben = 0" in lines[0]
    assert lines[1].split() == ["player", "rating", "95%", "interval", "GXE", "matches", "score"]
    assert next(line for line in lines if line.startswith("ben ")).split()[2] == "anchor"
    assert "warning: cid: team set rain: +" in text


def test_show_gives_everything_as_json(run, ledger):
    data = json.loads(run("league", "show", ledger, "--anchor", "ben", "--by", "team_set", "--json").stdout)
    assert [one["player"] for one in data["players"]][-1] == "ben"
    ann = next(one for one in data["players"] if one["name"] == "ann")
    assert ann["interval"][0] < ann["rating"] < ann["interval"][1]
    assert ann["matches"] == 600
    assert data["payoffs"][0][0] is None
    assert data["by"]["axis"] == "team_set"
    assert {one["value"] for one in data["by"]["subsets"]} == {"", "rain", "sun"}
    assert data["cycles"]["gradient"] + data["cycles"]["cyclic"] == pytest.approx(1)


@pytest.mark.parametrize("axis", ["seat", "team_set", "opening", "opponent", "settings"])
def test_show_by_each_axis(run, ledger, axis):
    text = run("league", "show", ledger, "--by", axis, env=WIDE).stdout
    assert f"by {axis.replace('_', ' ')}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_long_and_hostile_names_do_not_break_the_table(run, tmp_path):
    path = tmp_path / "x.ledger"
    with Ledger(path, create=True) as opened:
        opened.add([match(1, "runs/" + "very-long-" * 12, "\x1b[2J[red]ben[/red]"), match(2, "[b]", "c")])
    text = run("league", "show", path, env=WIDE).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "[red]ben[/red]" in text
    assert "no matches connect" in text


def test_mixed_teams_have_a_table_of_their_own(run, tmp_path):
    path = tmp_path / "x.ledger"
    seats = tuple(Seat(name=name, team=at // 2, outcome=1.0 if at < 2 else -1.0) for at, name in enumerate("abcd"))
    with Ledger(path, create=True) as opened:
        opened.add([match(1, seats=seats)])
    text = run("league", "show", path, env=WIDE).stdout
    assert "players of mixed teams, by openskill" in text
    assert {line.split()[0] for line in text.splitlines()[3:]} == set("abcd")


def test_export_and_import(run, ledger, tmp_path):
    assert "600 matches" in run("league", "export", ledger, tmp_path / "out.csv").output
    said = run("league", "import", tmp_path / "new.ledger", tmp_path / "out.csv").output
    assert "600 matches added, 0 were there" in said
    said = run("league", "import", tmp_path / "new.ledger", tmp_path / "out.csv").output
    assert "0 matches added, 600 were there" in said


def test_evaluate_writes_its_matches_once(run, checkpoint, tmp_path):
    path = tmp_path / "hex.ledger"
    words = ["evaluate", checkpoint, "path", "--matches", 12, "--parallel", 4, "--simulations", 2, "--ledger", path]
    score = json.loads(run(*words, "--json").stdout)
    with Ledger(path) as ledger:
        kept = list(ledger.matches())
    assert len(kept) == 12
    for one in kept:
        mine = next(seat for seat in one.seats if seat.kind == "network")
        assert (mine.name, len(mine.checkpoint), mine.style) == (str(checkpoint), 64, "simulations=2")
        assert (one.game, one.settings["size"], one.seed) == ("hex", 4, 0)
        assert 7 <= one.length <= 16
        assert one.seats[0].outcome == -one.seats[1].outcome
    wins = sum(seat.outcome == 1 for one in kept for seat in one.seats if seat.kind == "network")
    assert wins == score["wins"]
    assert [sum(one.seats[0].kind == kind for one in kept) for kind in ("network", "built-in")] == [6, 6]
    again = run(*words)
    assert "12 of these matches were there already" in " ".join(again.stderr.split())
    run(*words, "--seed", 1)
    with Ledger(path) as ledger:
        assert len(ledger) == 24
    assert "path" in run("league", "show", path).stdout


def test_evaluate_plays_the_same_with_a_ledger(run, tmp_path):
    words = ["evaluate", "path", "random", "--game", "hex", "--size", 4, "--matches", 20, "--json"]
    assert run(*words).stdout == run(*words, "--ledger", tmp_path / "x.ledger").stdout


def test_bad_input_is_one_line(refused, tmp_path, ledger):
    (tmp_path / "text.ledger").write_text("no ledger")
    both = tmp_path / "both.ledger"
    with Ledger(both, create=True) as opened:
        opened.add([match(1), match(2, game="rps")])
    Ledger(tmp_path / "empty.ledger", create=True).close()
    refused(["league", "show", "none.ledger"], "none.ledger: no such ledger")
    refused(["league", "show", "text.ledger"], "text.ledger: not a ledger")
    refused(["league", "show", "empty.ledger"], "no matches yet")
    refused(["league", "show", both], "matches of hex, rps; say which with --game")
    refused(["league", "show", both, "--game", "rp"], "no matches of 'rp' (did you mean 'rps'?); it has: hex, rps")
    refused(["league", "show", ledger, "--anchor", "bob"], "'bob' is no player", "ann, ben, cid")
    refused(["league", "export", ledger, "out.xlsx"], ".csv, .jsonl, .parquet, .arrow")
    refused(["league", "import", "new.ledger", "none.csv"], "cannot read none.csv")
    assert not (tmp_path / "new.ledger").exists()
    game = ["evaluate", "path", "random", "--game", "hex", "--size", "4", "--matches", "2"]
    refused([*game, "--ledger", "text.ledger"], "text.ledger: not a ledger")


def test_a_locked_ledger_is_one_line(refused, ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("sparring.league.ledger._PATIENCE", 0.05)
    (tmp_path / "in.csv").write_text("id,game,name_0,team_0,outcome_0,name_1,team_1,outcome_1\n1,hex,a,0,1,b,1,-1\n")
    other = sqlite3.connect(ledger, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused(["league", "import", ledger, "in.csv"], "locked by another process")
    other.close()


def test_show_needs_neither_torch_nor_a_compiler(ledger):
    done, imported = sparring("league", "show", ledger)
    assert done.returncode == 0, done.stderr
    assert not {"torch", "numba"} & imported
