"""What is in a store: counts of Hex matches and of a battle of people, as JSON, as a table, and as a page."""

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from sparring.data.statistics import store_statistics
from sparring.report.data import statistics_page, statistics_table
from sparring.rollout.store import EpisodeStore
from tests.data.stores import hex_store, people_store, played, rated


def of(path):
    (spec,) = store_statistics([path])["specs"]
    return spec


def table(found, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(statistics_table(found), highlight=False)
    return console.file.getvalue()


def test_counts_of_self_play(tmp_path):
    part = rated(played(300), [1000.0, 1099.6, float("nan")], [0, 1_700_000_000, 1_710_000_000, 2**60])
    part.headers.complete[0] = False
    with EpisodeStore(tmp_path, part.spec) as store:
        store.append(part)
    found = of(tmp_path)
    lengths = part.headers.lengths
    assert (found["game"], found["settings"]["size"], found["players"]) == ("hex", 3, 2)
    assert (found["episodes"], found["decisions"], found["truncated"]) == (len(part), part.rows, 1)
    assert found["matches"] == len(np.unique(part.headers.serial))
    assert sum(found["results"].values()) == len(part) - 1
    assert found["results"]["drawn"] == 0
    assert (found["lengths"]["min"], found["lengths"]["max"]) == (lengths.min(), lengths.max())
    assert found["lengths"]["mean"] == pytest.approx(lengths.mean())
    assert found["lengths"]["median"] == int(np.quantile(lengths, 0.5, method="inverted_cdf"))
    for bar in found["lengths"]["histogram"]:
        assert bar["count"] == ((lengths >= bar["from"]) & (lengths < bar["below"])).sum()
    known = (~np.isnan(part.headers.rating)).sum()
    thousand = (part.headers.rating == 1000).sum()
    assert found["ratings"]["known"] == known
    assert [(bar["from"], bar["count"]) for bar in found["ratings"]["histogram"]] == [
        (1000, thousand),
        (1100, known - thousand),
    ]
    dated = np.isin(part.headers.played_at, [1_700_000_000, 1_710_000_000])
    assert (found["dates"]["known"], found["dates"]["first"], found["dates"]["last"]) == (
        dated.sum(),
        "2023-11-14",
        "2024-03-09",
    )
    assert list(found["dates"]["months"]) == ["2023-11", "2023-12", "2024-01", "2024-02", "2024-03"]
    assert found["actions"] == {"by": "kind", "counts": {"stone": part.rows}}
    assert found["top"]["move"]["b2"] == (part.steps.action == 4).sum()
    assert sum(found["top"]["first move"].values()) == len(part)
    assert found["unknown"] == {"decisions": 0, "share": 0.0, "mean_candidates": 0.0}


def test_counts_of_a_battle_of_people(tmp_path):
    found = of(people_store(tmp_path))
    assert found["settings"]["format"] == "gen9customgame"
    assert (found["matches"], found["episodes"]) == (1, 2)
    assert found["results"] == {"won": 1, "drawn": 0, "lost": 1}
    assert found["actions"] == {"by": "kind", "counts": {"move": 4, "replacement": 1, "switch": 1}}
    assert found["unknown"]["decisions"] == 1  # Mew in turn 3
    assert found["unknown"]["share"] == 1 / found["decisions"]
    assert found["unknown"]["mean_candidates"] > 1
    assert found["top"]["species"] == {"Gyarados": 1, "Jynx": 1, "Mew": 1, "Onix": 1}


def test_stores_of_one_spec_are_counted_together_and_others_apart(tmp_path):
    stores = [hex_store(tmp_path / "a", shards=2), hex_store(tmp_path / "b", shards=1)]
    hex_store(tmp_path / "c", size=4)
    found = store_statistics([tmp_path, stores[0]])
    assert [spec["settings"]["size"] for spec in found["specs"]] == [3, 4]
    assert found["specs"][0]["episodes"] == sum(of(store)["episodes"] for store in stores)
    assert len(found["stores"]) == 3
    json.dumps(found)


def test_the_table_fits_80_columns(tmp_path):
    hex_store(tmp_path / "hex")
    people_store(tmp_path / "people")
    text = table(store_statistics([tmp_path]))
    assert max(map(len, text.splitlines())) <= 80
    for words in (
        "pokemon gen9customgame",
        "species    Gyarados 50.0%",
        "14.3% of the decisions",
        "1,500+",
        "first move",
    ):
        assert words in text


def test_the_page_needs_no_network_and_runs_nothing(tmp_path):
    hostile = played(60)
    spec = replace(hostile.spec, settings={"size": "<script>alert(1)</script>"})
    with EpisodeStore(tmp_path / "a&<b>", spec) as store:
        store.append(replace(hostile, spec=spec))
    people_store(tmp_path / "people")
    page = statistics_page(store_statistics([tmp_path]))
    assert "<script" not in page
    assert "<b>/" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(src|href)=(?!"data:)|https?:', page)
    assert page.count("<svg") == page.count("</svg>") == 2 + 5
    assert "Gyarados" in page
