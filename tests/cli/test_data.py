"""`sparring data`: what it prints, and one line with exit code 2 for what it cannot read."""

import json

from sparring.rollout.store import shards
from tests.data.stores import hex_store, people_store


def test_stats_as_text_json_and_page(run, tmp_path):
    store = people_store(tmp_path / "people")
    assert "Gyarados 50.0%" in run("data", "stats", store, env={"COLUMNS": "80"}).stdout
    page = tmp_path / "page.html"
    done = run("data", "stats", store, "--json", "--page", page)
    assert json.loads(done.stdout)["specs"][0]["matches"] == 1
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_show(run, tmp_path):
    text = run("data", "show", people_store(tmp_path), "--episode", 0, "--step", 0).stdout
    assert "chose: Psychic" in text
    assert "decision 1" not in text


def test_what_cannot_be_read_is_one_line(refused, tmp_path):
    store = hex_store(tmp_path / "store", shards=2)
    (tmp_path / "empty").mkdir()
    for command in (["stats"], ["show", "--episode", 0]):
        refused(["data", *command, tmp_path / "empty"], "no episodes here")
        refused(["data", *command, tmp_path / "none"], "no such folder of episodes")
    refused(["data", "show", store, "--episode", 9999], "has the episodes 0..")
    refused(["data", "stats", store, "--page", tmp_path / "empty"], "exists and is not a page")
    path = shards(store)[1]
    path.write_bytes(path.read_bytes()[:300])
    for command in (["stats"], ["show", "--episode", 0]):
        refused(["data", *command, store], path.name, "damaged")
