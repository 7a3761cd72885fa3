"""Data sets of replays in the layouts of Hugging Face, made up, and what a download has kept of them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from sparring.core.replays import Rejected
from sparring.games.pokemon.replays.sources import ReplayFiles
from tests.games.pokemon.replays.logs import battle

LOG = battle("|move|p1a: Mew|Pound|p2a: Onix")
BARE = LOG.replace("|1|1500", "").replace("|2|1600", "")
"""Without ratings."""


def metamon(folder, count=10):
    """Parquet files with the columns of jakegrigsby/metamon-raw-replays."""
    records = [
        {
            "id": f"gen{1 + n % 2}ou-{n}",
            "format": f"[Gen {1 + n % 2}] OU",
            "players": ["Ann", "Bob"],
            "log": BARE,
            "uploadtime": str(1_700_000_000 + n),
            "formatid": f"gen{1 + n % 2}ou",
            "rating": "MISSING" if n % 3 == 0 else str(1000 + n),
        }
        for n in range(count)
    ]
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text("# replays")
    half = count // 2
    for number, part in enumerate((records[:half], records[half:])):
        name = f"train-{number:05d}-of-00002.parquet"
        pq.write_table(pa.Table.from_pylist(part), folder / "data" / name, row_group_size=3)
    return folder


def pokechamp(folder):
    """Parquet files with the columns of milkkarten/pokechamp."""
    folder.mkdir()
    elos = ["1000-1199", "1800+", "1350"]
    records = [
        {"battle_id": f"gen9ou-{n}", "gamemode": "gen9ou", "elo": elo, "month_year": "March2025", "text": BARE}
        for n, elo in enumerate(elos)
    ]
    pq.write_table(pa.Table.from_pylist(records), folder / "test-00000-of-00001.parquet")
    return folder


def vgc(folder, count=6, filler=0):
    """JSON files as cameronangliss/vgc-battle-logs has them."""
    folder.mkdir()
    for format in ("gen9vgc2023regc", "gen9vgc2024regg"):
        logs = {f"{format}-{n}": [1_700_000_000 + n, f"{LOG}\n|c|Ann|{'x' * filler}{n}"] for n in range(count)}
        (folder / f"logs_{format}.json").write_text(json.dumps(logs))
    return folder


def kept(output):
    """The replays in a folder as parse finds them, by id; none twice."""
    replays = list(ReplayFiles([output]))
    assert not any(isinstance(one, Rejected) for one in replays)
    assert len({one.serial for one in replays}) == len(replays)
    return {one.id: one for one in replays}
