"""Matches worth looking at: the closest, the longest and the most surprising are kept, no others, whatever happens."""

import json
import sys

import pytest

from sparring.core import InputError
from sparring.core.files import lock_folder
from sparring.games.hex.text import read_sgf
from sparring.league.keeping import INDEX, KINDS, read_index
from sparring.league.ledger import Ledger
from sparring.league.tournament import Rules, play_tournament
from tests.games.hex.support import sgf_in

PLAYERS = ["path", "random", "openspiel:3"]


class Killed(BaseException):
    """As if the process had gone."""


def play(folder, *, players=PLAYERS, matches=16, kept=2, game="hex", on_progress=lambda progress: None, **more):
    rules = Rules(schedule="round-robin", matches=matches, keep=folder / "kept", kept=kept, **more)
    settings = {"size": 4} if game == "hex" else {}
    return play_tournament(players, folder / "x.ledger", rules, game=game, settings=settings, on_progress=on_progress)


def files(folder):
    return {path.name for path in (folder / "kept").iterdir()} - {INDEX}


def recorded(folder):
    with Ledger(folder / "x.ledger") as ledger:
        return {one.id: one.record for one in ledger.matches() if one.record}


def of_kind(found, kind):
    return [one for one in found["kept"] if kind in one["kinds"]]


def agrees(folder, found):
    """Summary, folder, list and ledger tell the same."""
    paths = {one["id"]: one["path"] for one in found["kept"]}
    assert recorded(folder) == paths
    assert files(folder) == {path.rsplit("/", 1)[1] for path in paths.values()}
    assert set(read_index(folder / "kept")) == set(paths)
    return True


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A tournament of which every match is kept."""
    folder = tmp_path_factory.mktemp("all")
    return folder, play(folder, kept=1000)


def test_of_each_kind_as_many_as_asked_for_and_the_right_ones(tmp_path, everything):
    _, every = everything
    assert len(every["kept"]) == 3 * 16
    found = play(tmp_path, kept=2)
    assert agrees(tmp_path, found)
    close = sorted(every["kept"], key=lambda one: (one["margin"], -one["length"], one["id"]))
    long = sorted(every["kept"], key=lambda one: (-one["length"], one["margin"], one["id"]))
    wins = [one for one in close if one["winner"]]
    surprising = sorted(wins, key=lambda one: one["expected"])  # stable: the closer first
    for kind, wanted in zip(KINDS, (close, long, surprising), strict=True):
        assert {one["id"] for one in of_kind(found, kind)} == {one["id"] for one in wanted[:2]}
    assert min(one["expected"] for one in of_kind(found, "most surprising")) < 0.5


def test_a_record_is_the_match_of_the_ledger(everything):
    folder, every = everything
    with Ledger(folder / "x.ledger") as ledger:
        for one in every["kept"]:
            match = ledger.find([one["id"]])[one["id"]]
            record = read_sgf(sgf_in((folder / one["path"]).read_text()))
            assert [record.black, record.white] == [seat.name for seat in match.seats] == one["players"]
            assert match.seats[record.winner].outcome == 1
            assert match.seats[record.winner].name == one["winner"]
            assert len(record.moves) == match.length + 2  # and the opening
            assert match.length == one["length"]
            assert one["margin"] >= 1


def test_the_same_again_keeps_the_same_and_more_matches_stay_within_the_number(tmp_path):
    found = play(tmp_path)
    assert play(tmp_path)["kept"] == found["kept"]
    more = play(tmp_path, matches=40)
    assert agrees(tmp_path, more)
    assert all(len(of_kind(more, kind)) == 2 for kind in KINDS)
    lengths = [sorted(one["length"] for one in of_kind(each, "longest")) for each in (found, more)]
    assert lengths[1] >= lengths[0]
    fewer = play(tmp_path, matches=40, kept=1)
    assert agrees(tmp_path, fewer)
    assert [one["length"] for one in of_kind(fewer, "longest")] == lengths[1][-1:]
    assert len(fewer["kept"]) <= 3


@pytest.mark.parametrize("end", [KeyboardInterrupt, Killed])
def test_what_was_stopped_or_killed_keeps_on(tmp_path, everything, end):
    def stop(progress):
        if progress.matches >= 20:
            raise end

    if end is Killed:
        with pytest.raises(Killed):
            play(tmp_path, on_progress=stop)
        assert not recorded(tmp_path)
        with (tmp_path / "kept" / INDEX).open("ab") as index:
            index.write(b'{"id": "half a li')
    else:
        assert agrees(tmp_path, play(tmp_path, on_progress=stop))
    found = play(tmp_path)
    assert agrees(tmp_path, found)
    assert all(len(of_kind(found, kind)) == 2 for kind in KINDS)
    assert found["matches"] == 3 * 16


def test_while_it_plays_only_a_few_are_on_disk(tmp_path):
    most = 0

    def count(progress):
        nonlocal most
        most = max(most, len(files(tmp_path)))

    play(tmp_path, players=PLAYERS[:2], matches=200, kept=2, on_progress=count)
    assert 0 < most <= 4 * 2


def test_worker_processes_keep_in_one_folder(tmp_path):
    found = play(tmp_path, players=PLAYERS[:2], matches=70, workers=2)
    assert agrees(tmp_path, found)
    assert [len(of_kind(found, kind)) for kind in KINDS][:2] == [2, 2]
    assert all(one["expected"] < 0.5 for one in of_kind(found, "most surprising"))


def test_forfeited_matches_are_not_kept_and_files_of_others_stay(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine.txt").write_text("x")
    (tmp_path / "kept" / "other.sgf").write_text("y")
    (tmp_path / "kept" / INDEX).write_text('{"id":"other","file":"other.sgf","margin":0}\n')
    found = play(tmp_path, players=["random", f"gtp:{sys.executable} -c pass"], matches=4)
    assert found["forfeits"]["matches"] == 4
    assert found["kept"] == []
    assert files(tmp_path) == {"mine.txt", "other.sgf"}
    assert set(read_index(tmp_path / "kept")) == {"other"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", "line 1: not a kept match"),
        ('{"id":"a","file":"../../x","margin":0}', "is no file of this folder"),
        ('{"id":"a","file":"x","margin":NaN}', "not a kept match"),
        ('{"id":"a","file":"x","margin":-1}', "not a kept match"),
        ('{"id":"a","file":"x","margin":1,"run":"rm"}', "not a kept match"),
    ],
)
def test_a_list_that_is_none_is_refused_before_the_first_match(tmp_path, line, words):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / INDEX).write_text(line + "\n")
    with pytest.raises(InputError, match=words):
        play(tmp_path)
    assert not (tmp_path / "x.ledger").exists()


def test_bad_places_are_one_line(tmp_path):
    with pytest.raises(InputError, match="--keep: kuhn has no matches that can be looked at"):
        play(tmp_path, players=["random", "sparring.core:RandomPlayer"], game="kuhn")
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(InputError, match="cannot write"):
        play(tmp_path)
    (tmp_path / "kept").unlink()
    lock_folder(tmp_path / "kept", busy="")
    with pytest.raises(InputError, match="another tournament keeps its matches there"):
        play(tmp_path)


def test_the_summary_is_json(everything):
    _, every = everything
    assert json.loads(json.dumps(every["kept"])) == every["kept"]
