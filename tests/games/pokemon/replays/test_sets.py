"""Data sets on Hugging Face's hub, spoken by a local server."""

import json
import os
from pathlib import Path

import pytest

from sparring.core.replays import Filters
from sparring.games.pokemon.replays import sets
from sparring.games.pokemon.replays.download import download
from sparring.games.pokemon.replays.sets import DataSet
from tests.commands import one_line, sparring
from tests.games.pokemon.replays.data_sets import BARE, kept, metamon, pokechamp, vgc
from tests.games.pokemon.replays.sites import Hub, serving
from tests.warm import run

LAYOUTS = {"metamon": (metamon, 10), "pokechamp": (pokechamp, 3), "vgc": (vgc, 12)}


def fetch(url, name, output, *options):
    environment = {**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(output.parent / "cache")}
    return run("replays", "download", name, "--output", output, "--json", *options, env=environment)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_comes_over_the_network_and_only_once(layout, tmp_path):
    make, count = LAYOUTS[layout]
    hub = Hub("some-one/replays", make(tmp_path / "set"))
    with serving(hub.answer) as url:
        done = fetch(url, "some-one/replays", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["new"] == count
        assert len(kept(tmp_path / "out")) == count
        sent = hub.sent
        again = fetch(url, "some-one/replays", tmp_path / "out")
        assert json.loads(again.stdout)["found"] == 0
        assert hub.sent == sent


def test_several_workers_read_the_same_files_at_once_and_go_on_with_them(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for file in range(5):
        lines = [json.dumps({"id": f"gen9ou-{file}{n}", "formatid": "gen9ou", "log": BARE}) for n in range(40)]
        (folder / f"{file}.jsonl").write_text("\n".join(lines))
    for stop in (10, 70, 10_000):
        seen = []
        report = download(
            DataSet(str(folder), workers=3),
            tmp_path / "out",
            filters=Filters(),
            on_progress=seen.append,
            stopped=lambda seen=seen, stop=stop: len(seen) >= stop,
        )
    assert report.there == 200
    assert set(kept(tmp_path / "out")) == {f"gen9ou-{file}{n}" for file in range(5) for n in range(40)}


def test_a_file_that_fails_is_told_when_the_others_have_been_read(tmp_path, monkeypatch):
    folder = tmp_path / "set"
    folder.mkdir()
    for file in range(4):
        (folder / f"{file}.jsonl").write_text(json.dumps({"id": f"gen9ou-{file}", "formatid": "gen9ou", "log": BARE}))
    usual = Path.open

    def broken(path, *rest, **options):
        if path.name == "1.jsonl":
            raise OSError("the disk is on fire")
        return usual(path, *rest, **options)

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(OSError, match="on fire"):
        download(DataSet(str(folder), workers=2), tmp_path / "out", filters=Filters())
    monkeypatch.undo()
    assert len(kept(tmp_path / "out")) == 3
    assert download(DataSet(str(folder), workers=2), tmp_path / "out", filters=Filters()).there == 4


def test_files_of_other_formats_are_not_fetched(tmp_path):
    hub = Hub("some-one/replays", vgc(tmp_path / "set"))
    with serving(hub.answer) as url:
        done = fetch(url, "some-one/replays", tmp_path / "out", "--format", "gen9vgc2023regc")
    assert json.loads(done.stdout)["by_format"] == {"gen9vgc2023regc": 6}
    assert not any("regg" in path for path in hub.paths)


def test_a_large_file_is_gone_on_with_in_its_middle(tmp_path):
    folder = vgc(tmp_path / "set", count=800, filler=60_000)
    (folder / "logs_gen9vgc2023regc.json").unlink()
    size = (folder / "logs_gen9vgc2024regg.json").stat().st_size
    hub = Hub("some-one/replays", folder)
    with serving(hub.answer) as url:
        assert fetch(url, "some-one/replays", tmp_path / "out", "--max-games", "600").returncode == 0
        hub.sent = 0
        done = fetch(url, "some-one/replays", tmp_path / "out")
        assert json.loads(done.stdout)["new"] == 200
        assert hub.sent < 0.8 * size
        assert len(kept(tmp_path / "out")) == 800


def test_a_data_set_that_is_not_there_is_one_line(tmp_path):
    hub = Hub("some-one/replays", tmp_path)
    with serving(hub.answer) as url:
        done = fetch(url, "some-one/other", tmp_path / "out")
    assert done.returncode == 2
    one_line(done.stderr, "some-one/other: no such data set on Hugging Face")


def test_a_network_that_fails_is_one_line_and_no_file_is_taken_for_read(tmp_path, monkeypatch):
    folder = vgc(tmp_path / "set")
    hub = Hub("some-one/replays", folder)
    original = hub.send
    hub.send = lambda handler, file: handler.reply(b"", status=403)
    with serving(hub.answer) as url:
        done = fetch(url, "some-one/replays", tmp_path / "out")
        assert done.returncode == 1, done.stderr
        one_line(done.stderr, "some-one/replays", "the same command goes on")
        hub.send = original
        done = fetch(url, "some-one/replays", tmp_path / "out")
        assert json.loads(done.stdout)["there"] == 12


def test_a_fault_that_passes_is_not_noticed(tmp_path):
    hub = Hub("some-one/replays", vgc(tmp_path / "set"))
    original = hub.send

    def send(handler, file):
        hub.send = original
        handler.reply(b"", status=503)

    hub.send = send
    with serving(hub.answer) as url:
        done = fetch(url, "some-one/replays", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["there"] == 12


def test_without_the_package_one_line_says_what_to_install(tmp_path):
    done, _ = sparring("replays", "download", "some-one/replays", "--output", tmp_path, without=["huggingface_hub"])
    assert done.returncode == 2
    one_line(done.stderr, "huggingface_hub", "pip install 'sparring[replays]'")
    assert sets.DataSet(str(tmp_path)).share == 0.0
