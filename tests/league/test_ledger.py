"""The ledger: nothing that was written is lost, whoever writes and whatever dies; what is none is said in a line."""

import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparring.core import InputError, RunError
from sparring.league.ledger import Ledger, Match, Seat
from tests.league.support import match


@pytest.fixture
def path(tmp_path):
    return tmp_path / "hex.ledger"


def test_matches_come_back_as_they_were_by_time(path):
    kept = [match(2), match(1, opening="a1 b2", team_set="ou", seed=-5, length=7, record="x.html")]
    with Ledger(path, create=True) as ledger:
        assert ledger.add(kept) == 2
        assert list(ledger.matches()) == [kept[1], kept[0]]
    with Ledger(path) as again:
        assert list(again.matches()) == [kept[1], kept[0]]
        assert len(again) == 2
        assert again.games() == ["hex"]
        assert again.find(["m2", "m9"]) == {"m2": kept[0]}


def test_a_match_of_an_id_that_is_there_is_not_added(path):
    with Ledger(path, create=True) as ledger:
        assert ledger.add([match(1)]) == 1
        assert ledger.add([match(1, outcome=-1.0), match(2)]) == 1
        assert [one.seats[0].outcome for one in ledger.matches()] == [1.0, 1.0]


def test_matches_are_counted_by_who_sat_where_and_what_came_of_it(path):
    with Ledger(path, create=True) as ledger:
        ledger.add(match(number, outcome=outcome) for number, outcome in enumerate([1.0, 1.0, 0.0]))
        ledger.add([match(9, "ben", "ann"), match(10, game="rps")])
        counted = sorted((*(p.name for p in t.players), t.outcomes, t.matches) for t in ledger.tallies("hex"))
    assert counted == [("ann", "ben", (0.0, -0.0), 1), ("ann", "ben", (1.0, -1.0), 2), ("ben", "ann", (1.0, -1.0), 1)]


@pytest.mark.parametrize("name", ["'; DROP TABLE matches; --", 'a"b', "α\nβ", "%s", "?", "x" * 1000])
def test_names_are_data(path, name):
    with Ledger(path, create=True) as ledger:
        ledger.add([match(1, first=name, opening=name, game=name)])
        (kept,) = ledger.matches()
        assert kept.seats[0].name == kept.opening == name
        assert ledger.tallies(name)[0].players[0].name == name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": ""}, "id"),
        ({"seed": 2**63}, "seed"),
        ({"length": -1}, "match: length = -1: allowed: a whole number, 0 "),
        ({"time": math.nan}, "finite|time"),
        ({"record": "x" * 1001}, "record"),
        ({"opening": "\udcff"}, "not text"),
        ({"settings": {"a": object()}}, "object"),
        ({"settings": {"a": "x" * 100_001}}, "settings"),
        ({"seats": ()}, "seats"),
        ({"seats": tuple(Seat(name="a", team=0, outcome=1.0) for _ in range(2))}, "one team"),
        ({"seats": tuple(Seat(name="a", team=at // 2, outcome=at % 2) for at in range(4))}, "seat 1: another outcome"),
    ],
)
def test_what_is_no_match_is_refused_and_nothing_is_written(path, change, words):
    with Ledger(path, create=True) as ledger:
        with pytest.raises(InputError, match=words):
            ledger.add([match(1), match(2, **change)])
        assert len(ledger) == 0


@pytest.mark.parametrize("outcome", [2.0, -1.5, math.nan, "won", None])
def test_a_seat_has_an_outcome_from_lost_to_won(outcome):
    with pytest.raises(InputError, match=f"outcome = {outcome!r}: allowed: a number, -1 to 1"):
        Seat(name="a", team=0, outcome=outcome)
    assert Seat(name="a", team=0, outcome=np.float32(1)).outcome == 1


def test_a_closed_ledger_says_so_and_is_not_called_damaged(path):
    ledger = Ledger(path, create=True)
    ledger.add([match(1)])
    assert repr(ledger) == f"<Ledger: {path}, 1 matches>"
    ledger.close()
    ledger.close()
    assert repr(ledger) == f"<Ledger: {path}, closed>"
    for call in (ledger.games, lambda: len(ledger), lambda: ledger.add([match(2)]), lambda: list(ledger.matches())):
        with pytest.raises(RunError, match="the ledger is closed"):
            call()


WRITER = """
import sys
from pathlib import Path
from sparring.league.ledger import Ledger
from tests.league.support import match
number, count = int(sys.argv[2]), int(sys.argv[3])
with Ledger(sys.argv[1], create=True) as ledger:
    for at in range(count):
        ledger.add([match(f"{number}-{at}", first=f"p{at % 7}", second=f"q{number}", time=float(at))])
        print(at, flush=True)
"""


def writer(path, number, count):
    """A process that adds `count` matches one by one and says so after each."""
    command = [sys.executable, "-c", WRITER, str(path), str(number), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def test_eight_processes_that_write_at_once_lose_nothing(path):
    writers = [writer(path, number, 100) for number in range(8)]
    for one in writers:
        one.communicate(timeout=200)
    assert [one.returncode for one in writers] == [0] * 8
    with Ledger(path) as ledger:
        assert {kept.id for kept in ledger.matches()} == {f"m{n}-{at}" for n in range(8) for at in range(100)}
    assert [name.name for name in path.parent.iterdir() if name.name.startswith(".")] == []


def test_what_was_written_before_a_kill_is_there(path):
    one = writer(path, 0, 10**6)
    said = [one.stdout.readline() for _ in range(50)]
    os.kill(one.pid, signal.SIGKILL)
    said += one.stdout.readlines()
    one.wait()
    whole = [line for line in said if line.endswith("\n")]
    assert len(whole) >= 50
    with Ledger(path) as ledger:
        kept = {found.id for found in ledger.matches()}
        assert {f"m0-{int(line)}" for line in whole} <= kept
        assert len(kept) <= len(whole) + 1  # one may have been written and not yet said
        assert ledger.add([match(1)]) == 1


def test_a_write_that_breaks_off_leaves_nothing_behind(path, monkeypatch):
    with Ledger(path, create=True) as ledger:
        row, calls = ledger._row, []

        def failing(match):
            calls.append(match)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return row(match)

        monkeypatch.setattr(ledger, "_row", failing)
        with pytest.raises(KeyboardInterrupt):
            ledger.add([match(1), match(2)])
        assert len(ledger) == 0
        assert ledger.add([match(1), match(2)]) == 2  # numbers of players that were taken back are not used again
        assert len(list(ledger.matches())) == 2


def refused(path, words, **options):
    with pytest.raises(InputError, match=words) as problem:
        Ledger(path, **options)
    assert "\n" not in str(problem.value)


def test_what_is_no_ledger_is_said(tmp_path):
    refused(tmp_path / "none.ledger", "no such ledger")
    refused(tmp_path, "not a file")
    (tmp_path / "text").write_text("hello" * 1000)
    refused(tmp_path / "text", "not a ledger")
    (tmp_path / "empty").touch()
    refused(tmp_path / "empty", "not a ledger", create=True)
    with sqlite3.connect(tmp_path / "foreign") as other:
        other.execute("CREATE TABLE matches (id)")
    refused(tmp_path / "foreign", "not a ledger", create=True)
    refused(tmp_path / "text" / "below", "there is no folder", create=True)


def test_a_ledger_of_format_1_is_brought_up_to_date(path):
    with Ledger(path, create=True) as ledger:
        ledger.add([match(1)])
    with sqlite3.connect(path) as other:
        other.executescript("ALTER TABLE matches DROP COLUMN note; PRAGMA user_version = 1")
    for _ in range(2):
        with Ledger(path) as ledger:
            assert next(ledger.matches()) == match(1)
            ledger.add([match(2, note="ann forfeits: no answer")])
    with Ledger(path) as ledger:
        assert [one.note for one in ledger.matches()] == ["", "ann forfeits: no answer"]


def test_a_ledger_of_another_format_is_said(path):
    Ledger(path, create=True).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 3")
    refused(path, "format 3; this version reads 2")


def test_a_locked_ledger_is_said(path):
    with Ledger(path, create=True, patience=0.05) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match="locked by another process"):
            ledger.add([match(1)])
        assert len(ledger) == 0  # readers do not wait for writers
        other.execute("ROLLBACK")
        assert ledger.add([match(1)]) == 1
        other.close()


def test_a_damaged_ledger_is_said(path):
    with Ledger(path, create=True) as ledger:
        ledger.add(match(number, record="x" * 900) for number in range(200))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged ledger"), Ledger(path) as ledger:
        list(ledger.matches())
    with pytest.raises(InputError, match="damaged ledger"), Ledger(path) as ledger:
        ledger.add([match(1)])


def test_bytes_that_are_damaged_at_random_are_one_line_or_go_unnoticed(path):
    """SQLite quotes what it finds in a damaged schema, line breaks too."""
    with Ledger(path, create=True) as ledger:
        ledger.add(match(number) for number in range(50))
    content, said = path.read_bytes(), []
    for seed in range(30):
        lots = random.Random(seed)
        damaged = bytearray(content)
        for _ in range(lots.choice([1, 30, 300])):
            damaged[lots.randrange(len(damaged))] = lots.randrange(256)
        if seed < 5:
            damaged = damaged.replace(b"CREATE TABLE", b"CREATE\nTABEL")
        path.write_bytes(damaged)
        try:
            with Ledger(path) as ledger:
                list(ledger.matches())
        except InputError as error:
            said.append(str(error))
    assert len(said) > 5
    assert all("\n" not in line for line in said)


@pytest.mark.parametrize(
    "change", ["UPDATE lineups SET seats = '[[77, 0], [1, 1]]'", "UPDATE lineups SET seats = 'x'",
               "UPDATE matches SET outcomes = '[1]'", "UPDATE matches SET outcomes = 'x'"],
)  # fmt: skip
def test_values_that_fit_nothing_are_said(path, change):
    with Ledger(path, create=True) as ledger:
        ledger.add([match(1)])
    with sqlite3.connect(path) as other:
        other.execute(change)
    with pytest.raises(InputError, match="damaged ledger"), Ledger(path) as ledger:
        list(ledger.matches())


def test_a_match_says_on_which_machine_it_was_played():
    seats = tuple(Seat(name="a", team=team, outcome=0.0) for team in (0, 1))
    assert Match(id="1", game="hex", seats=seats).machine == os.uname().nodename
