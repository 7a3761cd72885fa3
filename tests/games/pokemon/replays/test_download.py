"""Downloads: what is kept, that no battle comes twice, and that a run which is stopped anywhere goes on."""

import json
import signal
from time import monotonic, sleep

import pytest

from sparring.core import InputError
from sparring.core.replays import Filters, Replay
from sparring.games.pokemon.replays import folder as folders
from sparring.games.pokemon.replays.download import download
from sparring.games.pokemon.replays.folder import ReplayFolder
from sparring.games.pokemon.replays.sets import DataSet
from tests.commands import one_line
from tests.games.pokemon.replays.data_sets import BARE, LOG, kept, metamon, pokechamp, vgc
from tests.warm import Process, run


def fetch(source, output, *, formats=(), min_elo=0.0, since=0, **options):
    filters = Filters(formats=formats, min_rating=min_elo, since=since)
    return download(DataSet(str(source)), output, filters=filters, **options)


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_data_set_becomes_records_that_parse_reads(tmp_path):
    report = fetch(metamon(tmp_path / "set"), tmp_path / "out")
    assert (report.found, report.new, report.there) == (10, 10, 10)
    assert report.by_format == {"gen1ou": 5, "gen2ou": 5}
    assert visible(tmp_path / "out") == ["00000000.jsonl"]
    records = [json.loads(line) for line in (tmp_path / "out/00000000.jsonl").read_text().splitlines()]
    assert records[1] == {
        "id": "gen2ou-1",
        "format": "gen2ou",
        "players": ["Ann", "Bob"],
        "uploadtime": 1_700_000_001,
        "rating": 1001.0,
        "log": BARE,
    }
    assert records[0]["rating"] is None
    replay = kept(tmp_path / "out")["gen2ou-1"]
    assert (replay.log, replay.format, replay.rating, replay.played_at) == (BARE, "gen2ou", 1001.0, 1_700_000_001)


def test_the_layout_of_pokechamp(tmp_path):
    fetch(pokechamp(tmp_path / "set"), tmp_path / "out")
    replays = kept(tmp_path / "out")
    assert {id: replay.rating for id, replay in replays.items()} == {
        "gen9ou-0": 1099.5,
        "gen9ou-1": 1800,
        "gen9ou-2": 1350,
    }
    assert replays["gen9ou-0"].played_at == 1740787200
    assert replays["gen9ou-0"].format == "gen9ou"


def test_the_layout_of_vgc_battle_logs_and_files_of_other_formats_are_not_read(tmp_path):
    report = fetch(vgc(tmp_path / "set"), tmp_path / "out", formats=("gen9vgc2024regg",))
    assert (report.found, report.new) == (6, 6)
    replay = kept(tmp_path / "out")["gen9vgc2024regg-3"]
    assert (replay.format, replay.played_at, replay.rating) == ("gen9vgc2024regg", 1_700_000_003, 1500)


@pytest.mark.parametrize(
    ("options", "ids", "reason"),
    [
        ({"formats": ("gen1ou",)}, [0, 2, 4, 6, 8], "filtered: format"),
        ({"min_elo": 1005}, [5, 7, 8], "filtered: rating"),
        ({"since": 1_700_000_007}, [7, 8, 9], "filtered: date"),
    ],
)
def test_what_is_not_wanted_is_left_out_and_counted(options, ids, reason, tmp_path):
    report = fetch(metamon(tmp_path / "set"), tmp_path / "out", **options)
    assert sorted(int(id.rpartition("-")[2]) for id in kept(tmp_path / "out")) == ids
    assert report.rejected == {reason: 10 - len(ids)}
    assert reason in report.examples


def test_the_log_says_the_ratings_if_it_has_them_and_the_lower_counts(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a.jsonl").write_text(json.dumps({"id": "gen9ou-1", "log": LOG, "rating": 1900}))
    assert fetch(tmp_path / "set", tmp_path / "out", min_elo=1501).rejected == {"filtered: rating": 1}
    assert fetch(tmp_path / "set", tmp_path / "out", min_elo=1500).new == 1


def test_a_second_run_adds_nothing_and_reads_nothing(tmp_path):
    source = metamon(tmp_path / "set")
    fetch(source, tmp_path / "out")
    before = (tmp_path / "out/00000000.jsonl").read_bytes()
    again = fetch(source, tmp_path / "out")
    assert (again.found, again.new, again.there) == (0, 0, 10)
    assert (tmp_path / "out/00000000.jsonl").read_bytes() == before
    assert visible(tmp_path / "out") == ["00000000.jsonl"]


def test_other_filters_read_the_source_again_and_add_what_was_left_out(tmp_path):
    source = metamon(tmp_path / "set")
    assert fetch(source, tmp_path / "out", formats=("gen1ou",)).new == 5
    again = fetch(source, tmp_path / "out")
    assert (again.found, again.already, again.new) == (10, 5, 5)
    assert len(kept(tmp_path / "out")) == 10


def test_a_battle_that_two_sources_have_comes_once(tmp_path):
    fetch(pokechamp(tmp_path / "one"), tmp_path / "out")
    report = fetch(pokechamp(tmp_path / "two"), tmp_path / "out")
    assert (report.new, report.already) == (0, 3)


def test_max_games_counts_what_is_there_and_more_can_be_asked_for(tmp_path):
    source = metamon(tmp_path / "set")
    assert fetch(source, tmp_path / "out", most=4).there == 4
    assert fetch(source, tmp_path / "out", most=4).found == 0
    assert fetch(source, tmp_path / "out", most=7).new == 3
    assert fetch(source, tmp_path / "out").there == 10
    assert len(kept(tmp_path / "out")) == 10


@pytest.mark.parametrize("packed", [False, True])
def test_full_files_get_their_name_and_a_new_one_is_begun(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "FILE_BYTES", 1000)
    fetch(metamon(tmp_path / "set"), tmp_path / "out", packed=packed)
    names = visible(tmp_path / "out")
    assert len(names) > 2
    assert names[:2] == [f"0000000{n}.jsonl{'.zst' if packed else ''}" for n in (0, 1)]
    assert len(kept(tmp_path / "out")) == 10
    assert fetch(metamon(tmp_path / "other"), tmp_path / "out", packed=not packed).already == 10


def test_stopped_anywhere_the_next_run_goes_on(tmp_path):
    source = vgc(tmp_path / "set")
    for there in (*range(1, 13), 12):
        seen = []
        stopped = lambda seen=seen: bool(seen and seen[-1].new)  # noqa: E731
        assert fetch(source, tmp_path / "out", on_progress=seen.append, stopped=stopped).there == there
    assert len(kept(tmp_path / "out")) == 12


def test_a_line_that_was_left_torn_is_cut_off_and_its_battle_fetched_again(tmp_path):
    source = metamon(tmp_path / "set")
    fetch(source, tmp_path / "out")
    content = (tmp_path / "out/00000000.jsonl").read_bytes()
    for cut in (1, 300, len(content) // 2, len(content)):
        for path in (tmp_path / "out").iterdir():
            path.unlink()
        (tmp_path / "out/.00000000.jsonl").write_bytes(content[:-cut])
        fetch(source, tmp_path / "out")
        assert len(kept(tmp_path / "out")) == 10


def test_a_run_that_was_killed_after_packing_leaves_nothing_twice(tmp_path):
    source = metamon(tmp_path / "set")
    fetch(source, tmp_path / "out", packed=True)
    fetch(source, tmp_path / "plain")
    (tmp_path / "plain/00000000.jsonl").rename(tmp_path / "out/.00000000.jsonl")
    (tmp_path / "out/.00000001.jsonl.zst.123.new").write_bytes(b"half")
    assert fetch(source, tmp_path / "out", packed=True).new == 0
    assert visible(tmp_path / "out") == ["00000000.jsonl.zst"]
    assert not (tmp_path / "out/.00000000.jsonl").exists()
    assert not (tmp_path / "out/.00000001.jsonl.zst.123.new").exists()


@pytest.mark.parametrize("content", ["", "nonsense", "[1]", '{"a": 1}', '[{"position": 3, "source": 1}]'])
def test_a_damaged_note_of_how_far_it_was_costs_only_time(content, tmp_path):
    source = metamon(tmp_path / "set")
    fetch(source, tmp_path / "out")
    (tmp_path / "out/.positions.json").write_text(content)
    again = fetch(source, tmp_path / "out")
    assert (again.found, again.already, again.new) == (10, 10, 0)


def test_two_cannot_download_into_one_folder(tmp_path):
    source = metamon(tmp_path / "set")
    with ReplayFolder(tmp_path / "out"), pytest.raises(InputError, match="another process downloads there"):
        fetch(source, tmp_path / "out")


def test_names_from_outside_are_text_and_no_paths(tmp_path):
    (tmp_path / "set").mkdir()
    names = ["../../evil", "/etc/passwd", "a\nb\0c", "x" * 5000]
    records = [{"id": name, "format": name, "log": f"{LOG}\n|c|Ann|{n}"} for n, name in enumerate(names)]
    (tmp_path / "set/a.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    before = sorted(path.name for path in tmp_path.iterdir())
    fetch(tmp_path / "set", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "out"])
    assert visible(tmp_path / "out") == ["00000000.jsonl"]
    assert len(kept(tmp_path / "out")) == 4


def test_text_that_cannot_be_utf_8_is_kept_as_far_as_it_can(tmp_path):
    with ReplayFolder(tmp_path / "out") as folder:
        folder.add(Replay("gen9ou-1", LOG), {"id": "gen9ou-1", "log": LOG + "\ud800"})
    assert kept(tmp_path / "out")["gen9ou-1"].log == LOG + "?"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("no such thing", "allowed: showdown, owner/name of a data set, or a folder"),
        ("empty", "no replays here"),
        ("empty --format gen9ou", "no replays here of gen9ou"),
        ("showdown", "--format gen9ou"),
        ("showdown --format gen9ou --url ftp://x", "allowed: http:// or https://"),
    ],
)
def test_a_source_that_is_none(source, words, tmp_path):
    (tmp_path / "empty").mkdir()
    arguments = [source] if " " in source and "--" not in source else source.split()
    done = run("replays", "download", *arguments, "--output", "out", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    one_line(done.stderr, words)


def start(*arguments, **options):
    return Process("replays", "download", *arguments, **options)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("compress", [[], ["--compress"]])
def test_killed_or_interrupted_the_same_command_completes_with_nothing_twice(number, compress, tmp_path):
    source = vgc(tmp_path / "set", count=600, filler=60_000)
    words = (source, "--output", tmp_path / "out", *compress)
    process = start(*words)
    deadline = monotonic() + 60
    while not any((tmp_path / "out").glob(".0*.jsonl")) and process.poll() is None and monotonic() < deadline:
        sleep(0.005)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 0), errors
    there = len(kept(tmp_path / "out")) if visible(tmp_path / "out") else 0
    assert there < 1200
    process = start(*words, "--json")
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    assert json.loads(output)["there"] == 1200
    assert len(kept(tmp_path / "out")) == 1200


@pytest.mark.parametrize("compress", [[], ["--compress"]])
def test_a_full_disk_is_one_line_and_nothing_half_written(compress, tmp_path):
    source = vgc(tmp_path / "set", count=40, filler=30_000)
    process = start(source, "--output", tmp_path / "out", *compress, most_file_bytes=1_000_000)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2, errors
    one_line(errors, "cannot write", str(tmp_path / "out/.00000000.jsonl"))
    there = kept(tmp_path / "out")
    assert 20 < len(there) < 40
    assert fetch(source, tmp_path / "out").there == 80
    assert len(kept(tmp_path / "out")) == 80


def test_what_a_user_sees_and_that_parse_takes_it_from_there(tmp_path):
    source = metamon(tmp_path / "set")
    with (source / "broken.jsonl").open("w") as file:
        file.write('{"id": "gen1ou-99"}\n')
    process = start(source, "--output", tmp_path / "out", "--format", "gen1ou", "--compress")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    rows = [" ".join(line.strip("│ ").replace("│", " ").split()) for line in output.splitlines()]
    assert "new gen1ou 5" in rows
    assert "left out filtered: format 5" in rows
    assert "in the folder 5" in rows
    assert any(row.startswith("left out empty, such as broken.jsonl:1: no log in it") for row in rows)
    assert len(errors.splitlines()) == 1
    done = run("replays", "parse", tmp_path / "out", "--output", tmp_path / "episodes", "--json", "--workers", "0")
    assert done.returncode == 2, "these are no whole battles"
    report = json.loads(done.stdout)
    assert report["found"] == sum(report["rejected"].values()) == 5
