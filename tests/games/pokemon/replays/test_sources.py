"""Replays in files: every layout, every packing, and what hostile or broken files do."""

import gzip
import html
import json
import math
import os
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparring.core import InputError
from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.records import save_replay
from sparring.games.pokemon.replays import sources
from sparring.games.pokemon.replays.reasons import Reason
from sparring.games.pokemon.replays.sources import ReplayFiles, read_replays
from tests.games.pokemon.replays.logs import battle

LOG = battle("|t:|1700000000", "|move|p1a: Mew|Pound|p2a: Onix", "|-damage|p2a: Onix|50/100 par")
SITE = {
    "id": "gen9ou-1",
    "format": "[Gen 9] OU",
    "formatid": "gen9ou",
    "players": ["Ann", "Bob"],
    "log": LOG,
    "uploadtime": 1710000000,
    "rating": 1500,
}


def packed(content, packing):
    if packing == ".zst":
        return pa.compress(content, codec="zstd", asbytes=True)
    return gzip.compress(content) if packing == ".gz" else content


def read(path):
    return list(ReplayFiles([path]))


def only(path):
    [replay] = read(path)
    if isinstance(replay, Rejected):
        raise replay
    return replay


def reason(path):
    [rejected] = read(path)
    assert isinstance(rejected, Rejected)
    assert str(path) in rejected.detail
    assert "\n" not in rejected.detail
    return rejected.reason


def page(log):
    return f'<!DOCTYPE html>\n<script type="text/plain" class="battle-log-data">{log}</script>\n'


CONTENTS = {
    "battle.log": LOG,
    "battle.html": page(LOG.replace("/", "\\/")),
    "battle.json": json.dumps(SITE),
    "battle.jsonl": json.dumps(SITE) + "\n",
}


@pytest.mark.parametrize("packing", ["", ".zst", ".gz"])
@pytest.mark.parametrize("name", CONTENTS)
def test_each_kind_of_file_in_each_packing(name, packing, tmp_path):
    path = tmp_path / f"{name}{packing}"
    path.write_bytes(packed(CONTENTS[name].encode(), packing))
    replay = only(path)
    assert replay.log == LOG
    assert replay.played_at == (1710000000 if "json" in name else 1700000000)


@pytest.mark.parametrize(
    ("record", "id", "format", "rating", "played_at"),
    [
        (SITE, "gen9ou-1", "gen9ou", 1500, 1710000000),
        (
            {**SITE, "rating": "MISSING", "uploadtime": "MISSING", "formatid": "MISSING"},
            "gen9ou-1",
            "gen9ou",
            math.nan,
            1700000000,
        ),
        (
            {"battle_id": "battle-gen9ou-7", "text": LOG, "gamemode": "gen9ou", "elo": "1600-1799", "month_year": "x"},
            "gen9ou-7",
            "gen9ou",
            1699.5,
            1700000000,
        ),
        ({"battle_id": "gen9ou-7", "text": LOG, "elo": "1800+"}, "gen9ou-7", "gen9ou", 1800, 1700000000),
        ({"id": "gen9ou-7", "log": LOG.split("\n"), "rating": True}, "gen9ou-7", "gen9ou", math.nan, 1700000000),
        ({"id": "smogtours-gen4ou-7", "log": LOG}, "smogtours-gen4ou-7", "gen4ou", math.nan, 1700000000),
    ],
)
def test_each_layout(record, id, format, rating, played_at, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record))
    replay = only(path)
    assert (replay.id, replay.log, replay.format, replay.played_at) == (id, LOG, format, played_at)
    assert replay.rating == pytest.approx(rating, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "day"),
    [("March2025", 1740787200), ("march-2025", 1740787200), ("2025-03", 1740787200), ("13-2025", 0), ("never", 0)],
)
def test_a_month_is_a_date_if_nothing_else_is(text, day, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"battle_id": "a", "text": battle(), "month_year": text}))
    assert only(path).played_at == day


def test_many_by_id_and_in_a_list(tmp_path):
    by_id = tmp_path / "logs_gen9vgc2024regg.json"
    by_id.write_text(json.dumps({"gen9vgc2024regg-1": [1710000000, LOG], "odd name": [1710000001, LOG], "bad": 3}))
    one, two, bad = read(by_id)
    assert (one.id, one.format, one.played_at) == ("gen9vgc2024regg-1", "gen9vgc2024regg", 1710000000)
    assert (two.id, two.format, two.played_at) == ("odd name", "gen9vgc2024regg", 1710000001)
    assert bad.reason == Reason.NOT_A_LOG
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps([SITE, {**SITE, "id": "gen9ou-2"}, {}]))
    assert [replay.id for replay in read(listed)[:2]] == ["gen9ou-1", "gen9ou-2"]
    assert read(listed)[2].reason == Reason.EMPTY


def test_rows_of_a_parquet_file(tmp_path):
    records = [{**SITE, "id": f"gen9ou-{n}", "rating": "MISSING" if n % 2 else str(n)} for n in range(1, 200)]
    path = tmp_path / "train-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=50)
    replays = read(path)
    assert [replay.id for replay in replays] == [record["id"] for record in records]
    assert math.isnan(replays[0].rating)
    assert replays[1].rating == 2
    with path.open("rb") as file:
        late = list(read_replays(str(path), file, start=150))
    assert [(replay.id, at) for replay, at in late] == [(f"gen9ou-{n}", n) for n in range(151, 200)]


def test_a_parquet_file_of_something_else(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"weather": [1]}), path)
    assert reason(path) == Reason.NOT_A_LOG
    path.write_bytes(path.read_bytes()[:-9])
    assert reason(path) == Reason.NOT_A_LOG


def test_a_page_that_we_save_and_one_whose_log_is_escaped(tmp_path):
    log = LOG + "\n|c|Ann|</script> & <!-- <script>alert(1)</script>"
    save_replay(tmp_path, "gen9ou-1", log)
    assert only(tmp_path / "gen9ou-1.showdown.html").log.strip() == log
    path = tmp_path / "escaped.html"
    path.write_text(page(html.escape(log)))
    assert only(path).log == log


def test_an_entity_in_a_page_cannot_add_a_line(tmp_path):
    path = tmp_path / "a.html"
    path.write_text(page(LOG + "\n|c|Bob|ha&#10;|win|Bob&NewLine;|win|Bob"))
    assert only(path).log == LOG + "\n|c|Bob|ha |win|Bob |win|Bob"


def test_script_in_a_page_is_text(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<script>alert(document.cookie)</script>" + page("|c|Ann|<img src=x onerror=alert(1)>\n" + LOG))
    assert only(path).log.endswith(LOG)
    path.write_text("<script>alert(1)</script>")
    assert reason(path) == Reason.NOT_A_LOG


@pytest.mark.parametrize("name", ["a.log", "a.html", "a.json", "a.jsonl"])
def test_a_byte_order_mark_and_crlf(name, tmp_path):
    content = {
        "a.log": LOG,
        "a.html": page(LOG),
        "a.json": json.dumps({"log": LOG.replace("\n", "\r\n")}),
        "a.jsonl": json.dumps({"log": LOG}),
    }[name]
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode() + b"\r\n")
    assert only(path).log.rstrip("\n") == LOG


@pytest.mark.parametrize("name", ["a.log", "a.html", "a.json", "a.jsonl"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_text_that_is_not_utf_8(name, encoding, tmp_path):
    log = LOG.replace("Ann", "Änn")
    path = tmp_path / name
    content = {"a.log": log, "a.html": page(log)}.get(name) or json.dumps({"log": log}, ensure_ascii=False)
    path.write_bytes(content.encode(encoding))
    found = read(path)
    assert found
    assert all(isinstance(one, Rejected) and one.reason == Reason.NOT_A_LOG for one in found)


def test_nul_bytes_are_text_like_any_other(tmp_path):
    (tmp_path / "a.log").write_text(LOG + "\n|c|Ann|\0\0")
    assert only(tmp_path / "a.log").log.endswith("\0\0")
    (tmp_path / "b.log").write_bytes(b"\0" * 1000)
    assert reason(tmp_path / "b.log") == Reason.NOT_A_LOG
    (tmp_path / "c.jsonl").write_bytes(b"\0" * 1000)
    assert reason(tmp_path / "c.jsonl") == Reason.NOT_A_LOG


@pytest.mark.parametrize("packing", [".zst", ".gz"])
@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_truncated_packed_file_gives_what_is_whole_and_a_reason(packing, cut, tmp_path):
    noise = random.Random(0)
    lines = [json.dumps({**SITE, "id": f"gen9ou-{n}", "noise": noise.randbytes(400).hex()}) for n in range(9000)]
    content = packed("\n".join(lines).encode(), packing)
    path = tmp_path / f"a.jsonl{packing}"
    path.write_bytes(content[: int(len(content) * cut)])
    *whole, last = read(path)
    assert [replay.id for replay in whole] == [f"gen9ou-{n}" for n in range(len(whole))]
    assert isinstance(last, Rejected)
    assert last.reason == Reason.NOT_A_LOG
    assert "runcated" in last.detail
    single = tmp_path / f"b.log{packing}"
    single.write_bytes(packed(LOG.encode(), packing)[:-20])
    assert reason(single) == Reason.NOT_A_LOG


def test_a_line_of_100_mb_is_one_rejection_and_the_others_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(SITE).encode() + b"\n")
        file.write(b'{"id": "gen9ou-2", "log": "|' + b"x" * (100 << 20) + b'"}\n')
        file.write(json.dumps({**SITE, "id": "gen9ou-3"}).encode() + b"\n")
    one, two, three = read(path)
    assert (one.id, three.id) == ("gen9ou-1", "gen9ou-3")
    assert two.reason == Reason.TOO_LONG
    assert f"{path}:2" in two.detail


@pytest.mark.parametrize("name", ["a.log", "a.html", "a.json", "a.jsonl"])
def test_a_log_that_is_too_long(name, tmp_path):
    log = LOG + "\n|c|Ann|" + "x" * (40 << 20)
    content = {"a.log": log, "a.html": page(log)}.get(name) or json.dumps({"id": "gen9ou-1", "log": log})
    (tmp_path / name).write_text(content)
    assert reason(tmp_path / name) == Reason.TOO_LONG
    (tmp_path / name).write_text(
        content[: 9 << 20] + ("" if name == "a.log" else '"}' if "js" in name else "</script>")
    )
    assert reason(tmp_path / name) == Reason.TOO_LONG


def test_ten_thousand_pokemon_reach_the_parser_as_a_log(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("\n".join(f"|poke|p1|Mew{n}|" for n in range(10_000)) + "\n" + LOG)
    assert only(path).log.count("|poke|") == 10_000


@pytest.mark.parametrize("name", ["a.log", "a.html", "a.json", "a.jsonl", "a.log.zst", "a.jsonl.gz", "a.parquet"])
def test_an_empty_file(name, tmp_path):
    (tmp_path / name).write_bytes(b"")
    found = read(tmp_path / name)
    assert all(isinstance(one, Rejected) for one in found)
    assert len(found) == (0 if name.startswith("a.jsonl") else 1)


def test_folders_are_searched_and_hidden_and_other_files_passed_over(tmp_path):
    for name in ("b/2.log", "a/1.log", "a/.hidden.log", ".git/3.log", "a/notes.txt", "a/4.LOG"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(LOG)
    assert [replay.id for replay in read(tmp_path)] == ["1", "4", "2"]


@pytest.mark.parametrize("content", [None, "notes.txt"])
def test_a_folder_without_replays(content, tmp_path):
    if content:
        (tmp_path / content).write_text("hello")
    with pytest.raises(InputError, match=r"no replays here; allowed: \.log"):
        ReplayFiles([tmp_path])
    with pytest.raises(InputError, match="no such file or folder"):
        ReplayFiles([tmp_path / "nowhere"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_accounted_for(tmp_path):
    path = tmp_path / "a.log"
    path.write_text(LOG)
    path.chmod(0)
    assert reason(path) == Reason.NOT_A_LOG


def test_a_file_that_is_gone_is_accounted_for(tmp_path):
    path = tmp_path / "a.log"
    path.write_text(LOG)
    files = ReplayFiles([path])
    path.unlink()
    [gone] = files
    assert "cannot be read" in gone.detail


def test_the_share_grows_to_one(tmp_path):
    for n in range(5):
        (tmp_path / f"{n}.log").write_text(LOG)
    files = ReplayFiles([tmp_path])
    shares = [files.share for _ in files]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def large(tmp_path, monkeypatch, content):
    """A .json file that is too large to be read at once."""
    monkeypatch.setattr(sources, "MOST_WHOLE_BYTES", 2000)
    path = tmp_path / "logs_gen9ou.json"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("packing", ["", ".zst"])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_large_json_is_cut_into_entries_and_gone_on_with_anywhere(indent, packing, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr("sparring.games.pokemon.replays.splitting._CHUNK", chunk)
    log = LOG.replace("Ann", 'A"n\\n,{[\u00e9\\') + "\\"
    data = {f"gen9ou-{n}": [1710000000 + n, log + str(n)] for n in range(9)}
    path = large(tmp_path, monkeypatch, json.dumps(data, indent=indent, ensure_ascii=False).encode())
    target = path.with_name(path.name + packing)
    target.write_bytes(packed(path.read_bytes(), packing))
    with target.open("rb") as file:
        found = list(read_replays(str(target), file))
    replays = [replay for replay, _ in found]
    assert [(replay.id, replay.log, replay.played_at) for replay in replays] == [
        (id, log, time) for id, (time, log) in data.items()
    ]
    for number, (_, position) in enumerate(found, 1):
        with target.open("rb") as file:
            rest = [replay.id for replay, _ in read_replays(str(target), file, start=position)]
        assert rest == list(data)[number:]
    listed = large(tmp_path, monkeypatch, json.dumps([SITE] * 9, indent=indent).encode())
    assert [replay.id for replay in read(listed)] == ["gen9ou-1"] * 9


def test_large_json_with_a_broken_or_long_entry_or_none_at_its_end(tmp_path, monkeypatch):
    entries = [f'"gen9ou-{n}": {json.dumps([1, LOG])}' for n in range(6)]
    entries[1] = '"gen9ou-1": [1, nonsense]'
    entries[3] = f'"gen9ou-3": [1, "{"x" * 5000}"]'
    path = large(tmp_path, monkeypatch, ("{" + ", ".join(entries)).encode())
    found = read(path)
    assert [one.id for one in found if isinstance(one, Replay)] == ["gen9ou-0", "gen9ou-2", "gen9ou-4"]
    assert [one.reason for one in found if isinstance(one, Rejected)] == [
        Reason.NOT_A_LOG,
        Reason.TOO_LONG,
        Reason.NOT_A_LOG,
    ]
    assert "ends too early, after 5 entries" in found[-1].detail


def test_lines_are_gone_on_with_anywhere(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n\n".join(json.dumps({**SITE, "id": f"gen9ou-{n}"}) for n in range(5)))
    with path.open("rb") as file:
        found = list(read_replays(str(path), file))
    for number, (_, position) in enumerate(found, 1):
        with path.open("rb") as file:
            rest = [replay.id for replay, _ in read_replays(str(path), file, start=position)]
        assert rest == [f"gen9ou-{n}" for n in range(number, 5)]


BOMB = """
import resource, sys
from pathlib import Path
from sparring.games.pokemon.replays.sources import ReplayFiles
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    print(*(one.reason for one in ReplayFiles([Path(path)])), sep=",")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_small_file_that_unpacks_to_half_a_gigabyte_does_not_fill_the_memory(tmp_path):
    names = ["a.log.zst", "a.html.zst", "a.json.zst", "a.jsonl.zst", "b.json.zst"]
    for name in names:
        with pa.output_stream(tmp_path / name, compression="zstd") as file:
            file.write(b'{"a": [1, "' if name == "b.json.zst" else b"|" if "js" not in name else b'{"log": "|')
            for _ in range(512):
                file.write(b"x" * (1 << 20))
        assert (tmp_path / name).stat().st_size < 1 << 20
    done = subprocess.run(
        [sys.executable, "-c", BOMB, *(str(tmp_path / name) for name in names)], capture_output=True, text=True
    )
    *reasons, kilobytes = done.stdout.split("\n")[:-1]
    assert reasons[:2] == ["too long", "too long"], done.stderr
    assert reasons[3] == "too long"
    assert set(reasons) <= {"too long", "not a log"}
    assert int(kilobytes) < 150 << 10
