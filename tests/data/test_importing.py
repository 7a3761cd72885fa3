"""Matches that were played elsewhere into stores: each once, every one accounted for, whatever happens on the way."""

import json
import os
import signal
from collections import Counter
from time import monotonic, sleep

import numpy as np
import psutil
import pytest

from sparring.core import InputError
from sparring.core.files import lock_folder
from sparring.core.replays import Filters, Replay
from sparring.data import importing
from sparring.data.importing import ImportPlan, import_replays
from sparring.games.pokemon.replays import episodes as reader
from sparring.rollout.store import read_episodes, shards
from tests.commands import one_line
from tests.data.replays import contents, record, run, write
from tests.games.pokemon.replays.logs import ATTACKS, battle
from tests.warm import Process


def serials(output):
    """How often each match is in the stores, by serial number and format."""
    found = Counter()
    for store in sorted(path for path in output.iterdir() if path.is_dir()):
        for episodes in read_episodes(store):
            found.update((store.name, int(serial)) for serial in episodes.headers.serial)
    return found


def rejections(output):
    return [json.loads(line) for line in (output / "rejected.jsonl").read_bytes().splitlines()]


def test_workers_change_nothing_and_the_report_counts_everything(battles, tmp_path):
    alone = run(battles, tmp_path / "alone")
    together = run(battles, tmp_path / "together", workers=2)
    assert contents(tmp_path / "alone") == contents(tmp_path / "together")
    assert alone == together
    assert (alone.found, alone.accepted, alone.already, alone.duplicates) == (300, 300, 0, 0)
    assert alone.by_format == {"gen9customgame": 100, "gen9doublescustomgame": 200}
    stored = [part for format in alone.by_format for part in read_episodes(tmp_path / "alone" / format)]
    assert alone.episodes == sum(len(part) for part in stored) == 600
    assert alone.rows == sum(part.rows for part in stored)
    assert json.loads((tmp_path / "alone/report.json").read_text()) == alone.to_json()
    assert serials(tmp_path / "alone").total() == 600
    dates = np.concatenate([part.headers.played_at for part in stored])
    assert sorted(set(dates.tolist())) == [1_700_000_000 + n for n in range(300)]


def test_a_second_run_adds_nothing(battles, tmp_path):
    broken = [{"id": "gen9ou-1"}, {"id": "gen9ou-2", "log": "|no battle"}, record(1000, log=battle(end=()))]
    write(tmp_path / "in/broken.jsonl", broken)
    (tmp_path / "in/empty.log").write_text("")
    first = run(tmp_path / "in", tmp_path / "out")
    before = contents(tmp_path / "out")
    second = run(tmp_path / "in", tmp_path / "out")
    after = contents(tmp_path / "out")
    assert first.accepted == 300
    assert (second.accepted, second.episodes, second.rows, second.already) == (0, 0, 0, 304)
    assert second.rejected == first.rejected
    assert sum(first.rejected.values()) == 4
    assert {name: content for name, content in after.items() if name != "report.json"} == {
        name: content for name, content in before.items() if name != "report.json"
    }


def test_what_is_found_twice_is_counted_and_read_once(tmp_path):
    write(tmp_path / "in/a.jsonl", [record(1), record(2), record(1)])
    write(tmp_path / "in/b.jsonl", [record(2), record(3)])
    (tmp_path / "in/c.log").write_text(record(7)["log"])
    (tmp_path / "in/d.log").write_text(record(7)["log"])
    report = run(tmp_path / "in", tmp_path / "out")
    assert (report.found, report.accepted, report.duplicates) == (7, 4, 3)
    assert set(serials(tmp_path / "out").values()) == {2}


def test_every_rejection_has_a_reason_and_a_place(tmp_path):
    records = [
        record(1),
        {"id": "gen9ou-2", "log": ""},
        {"id": "gen9ou-3", "log": "hello"},
        {"id": "gen9ou-4", "log": battle("|switch|nobody|Mew|100/100")},
        record(5, log=battle(end=())),
        record(6, log=battle().replace("singles", "triples")),
    ]
    path = write(tmp_path / "a.jsonl", records)
    with path.open("a") as file:
        file.write("{torn\n")
    report = run(path, tmp_path / "out")
    noted = rejections(tmp_path / "out")
    assert report.accepted == 1
    assert Counter(one["reason"] for one in noted) == report.rejected
    assert report.found == report.accepted + len(noted) == 7
    assert [one["reason"] for one in noted if str(path) in one["detail"]] == ["empty", "not a log", "not a log"]
    assert [one["detail"].partition(": ")[0] for one in noted[:3]] == [f"{path}:{n}" for n in (2, 3, 7)]
    assert {one["id"]: one["reason"] for one in noted[3:]} == {
        "gen9ou-4": "malformed line",
        "gen9customgame-5": "unfinished",
        "gen9customgame-6": "game type",
    }
    assert all(one["detail"] for one in noted)
    assert len({one["serial"] for one in noted}) == len(noted)


def test_filters_are_counted(battles, tmp_path):
    filters = Filters(formats=("gen9customgame",), since=1_700_000_150)
    report = run(battles, tmp_path / "out", filters=filters)
    assert report.accepted == 50
    assert report.rejected == {"filtered: format": 200, "filtered: date": 50}


def test_other_filters_look_again_at_what_the_first_left_out(battles, tmp_path):
    first = import_replays(
        ImportPlan("pokemon", [battles], tmp_path / "out", workers=0, filters=Filters(since=1_700_000_150))
    )
    again = import_replays(
        ImportPlan("pokemon", [battles], tmp_path / "out", workers=0, filters=Filters(since=1_700_000_100))
    )
    whole = import_replays(ImportPlan("pokemon", [battles], tmp_path / "out", workers=0))
    assert 0 < first.accepted < first.accepted + again.accepted < len(serials(tmp_path / "out"))
    assert first.accepted + again.accepted + whole.accepted == len(serials(tmp_path / "out"))
    assert rejections(tmp_path / "out") == []


def test_battles_that_were_read_otherwise_are_not_mixed(battles, tmp_path):
    import_replays(ImportPlan("pokemon", [battles], tmp_path / "out", workers=0, most=5))
    options = {"own_team": "usage"}
    with pytest.raises(InputError, match="choose another folder"):
        import_replays(ImportPlan("pokemon", [battles], tmp_path / "out", workers=0, options=options))


def test_most_stops_there_and_more_can_be_asked_for(battles, tmp_path):
    assert run(battles, tmp_path / "out", most=7).accepted == 7
    assert run(battles, tmp_path / "out", most=7).accepted == 0
    assert run(battles, tmp_path / "out", most=10).accepted == 3


def test_a_rejection_that_was_left_torn_is_cut_off(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(n, log=battle(f"|c|Ann|{n}", end=())) for n in range(5)])
    run(path, tmp_path / "out")
    whole = (tmp_path / "out/rejected.jsonl").read_bytes()
    for cut in (1, 30, len(whole) - 20):
        (tmp_path / "out/rejected.jsonl").write_bytes(whole[:-cut])
        assert run(path, tmp_path / "out").rejected == {"unfinished": 5}
        assert sorted(one["id"] for one in rejections(tmp_path / "out")) == [f"gen9customgame-{n}" for n in range(5)]


def test_what_a_reader_failed_at_is_tried_again_by_another_version_and_only_then(tmp_path, monkeypatch):
    def fail(*battle):
        raise ZeroDivisionError("oh")

    source = write(tmp_path / "in/battles.jsonl", [record(n) for n in range(3)] + [record(9, log="")])
    with monkeypatch.context() as broken:
        broken.setattr(reader, "parse_battle", fail)
        assert run(source, tmp_path / "out").rejected == {"reader failed": 3, "empty": 1}
    again = run(source, tmp_path / "out")
    assert (again.accepted, again.already) == (0, 4)
    monkeypatch.setattr(importing, "version", lambda name: "99.0")
    mended = run(source, tmp_path / "out")
    assert (mended.accepted, mended.already, mended.rejected) == (3, 1, {"empty": 1})
    assert [one["reason"] for one in rejections(tmp_path / "out")] == ["empty"]
    assert run(source, tmp_path / "out").already == 4


def test_few_battles_are_in_memory_at_a_time(tmp_path, monkeypatch):
    asked, done = 0, 0

    class Found:
        share = 0.0

        def __iter__(self):
            nonlocal asked
            for n in range(200):
                asked += 1
                yield Replay(f"gen9customgame-{n}", battle(*ATTACKS))

    def on_progress(report):
        nonlocal done
        done = report.accepted
        assert asked - done <= 4 * 6

    monkeypatch.setattr(importing, "CHUNK", 4)
    monkeypatch.setattr("sparring.games.pokemon.game.PokemonGame.find_replays", lambda self, inputs: Found())
    plan = ImportPlan("pokemon", [tmp_path / "in"], tmp_path / "out", workers=2)
    assert import_replays(plan, on_progress=on_progress).accepted == 200
    assert done == 200


def test_long_battles_make_smaller_chunks(tmp_path, monkeypatch):
    sizes = []
    original = importing._read
    monkeypatch.setattr(importing, "CHUNK_CHARACTERS", 5_000)
    monkeypatch.setattr(
        importing, "_read", lambda game, replays, *rest: sizes.append(len(replays)) or original(game, replays, *rest)
    )
    path = write(tmp_path / "a.jsonl", [record(n, log=battle(f"|c|Ann|{n}{'x' * 2_000}", *ATTACKS)) for n in range(9)])
    assert run(path, tmp_path / "out").accepted == 9
    assert sizes == [3, 3, 3]


def test_two_cannot_write_into_one_folder(battles, tmp_path):
    (tmp_path / "out").mkdir()
    handle = lock_folder(tmp_path / "out", busy="")
    try:
        with pytest.raises(InputError, match="another process"):
            run(battles, tmp_path / "out")
    finally:
        os.close(handle)


@pytest.mark.parametrize("output", ["in", "in/out", "in/../in/a/b"])
def test_what_is_written_is_never_read(output, battles, tmp_path):
    with pytest.raises(InputError, match="lies inside"):
        run(battles.parent, tmp_path / output)


def test_an_output_that_is_a_file_is_one_line(battles, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        run(battles, tmp_path / "out")


def test_a_damaged_shard_is_one_line(battles, tmp_path):
    run(battles, tmp_path / "out")
    [shard, *_] = shards(tmp_path / "out/gen9customgame")
    shard.write_bytes(shard.read_bytes()[:-100])
    with pytest.raises(InputError, match=str(shard)):
        run(battles, tmp_path / "out")


def test_the_same_match_has_the_same_number_wherever_it_is_found():
    assert Replay("gen9ou-1", "a").serial == Replay("gen9ou-1", "b").serial
    assert Replay("mine", "a").serial == Replay("other", "a").serial != Replay("mine", "b").serial
    assert Replay("smogtours-gen4ou-1", "a").serial == Replay("smogtours-gen4ou-1", "").serial


def start(*arguments, **options):
    """The command, in smaller chunks than usual."""
    constants = {"sparring.data.importing.CHUNK": 32}
    return Process("replays", "parse", *arguments, start_new_session=True, constants=constants, **options)


def wait_for_a_shard(output, process):
    deadline = monotonic() + 100
    while not any(output.rglob("*.arrow")):
        assert process.poll() is None, process.communicate()
        assert monotonic() < deadline
        sleep(0.002)


def gone(processes):
    deadline = monotonic() + 20
    while any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes):
        if monotonic() > deadline:
            return False
        sleep(0.05)
    return True


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_killed_in_mid_parse_the_same_command_completes_with_nothing_twice(workers, tmp_path):
    path = write(tmp_path / "a.jsonl", (record(n) for n in range(600)))
    words = (path, "--output", tmp_path / "out", "--workers", workers)
    process = start(*words)
    wait_for_a_shard(tmp_path / "out", process)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate(timeout=20)
    assert gone(children), "workers outlive a killed parent"
    some = len(serials(tmp_path / "out"))
    assert 0 < some < 600
    process = start(*words, "--json")
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    report = json.loads(output)
    assert (report["found"], report["already"], report["accepted"]) == (600, some, 600 - some)
    found = serials(tmp_path / "out")
    assert len(found) == 600
    assert set(found.values()) == {2}
    assert json.loads((tmp_path / "out/report.json").read_text()) == report


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_ctrl_c_finishes_what_is_being_read_and_the_same_command_goes_on(workers, tmp_path):
    path = write(tmp_path / "a.jsonl", (record(n) for n in range(600)))
    words = (path, "--output", tmp_path / "out", "--workers", workers, "--json")
    process = start(*words)
    wait_for_a_shard(tmp_path / "out", process)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    some = json.loads(output)["accepted"]
    assert 0 < some < 600
    output, errors = start(*words).communicate(timeout=100)
    assert json.loads(output)["accepted"] == 600 - some, errors
    assert set(serials(tmp_path / "out").values()) == {2}


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("what", ["shards", "rejections"])
def test_a_full_disk_is_one_line_and_nothing_half_written(workers, what, tmp_path):
    log = None if what == "shards" else battle(end=())
    path = write(tmp_path / "a.jsonl", ({**record(n, log=log), "id": f"gen9customgame-{n}"} for n in range(400)))
    process = start(
        *(path, "--output", tmp_path / "out", "--workers", workers),
        most_file_bytes=20_000,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2, errors
    one_line(errors, "cannot write", str(tmp_path / "out"))
    left = list((tmp_path / "out").rglob("*"))
    assert not [file for file in left if file.suffix in (".new", ".old")]
    if what == "rejections":
        assert 0 < len(rejections(tmp_path / "out")) < 400
    report = run(path, tmp_path / "out")
    assert report.accepted + sum(report.rejected.values()) == 400
    assert len(serials(tmp_path / "out")) == report.accepted
