"""The episode store: whole shards, self-describing, continued at the count on disk."""

import hashlib
import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sparring.core import Episodes, InputError, RandomPlayer, RunError
from sparring.games.hex import HexArena, HexSettings
from sparring.rollout import Collector, taking_turns
from sparring.rollout import store as store_module
from sparring.rollout.store import EpisodeStore, read_episodes, read_shard, shard_headers, shard_info, shards


def played(rows: int, *, size: int = 4, seed: int = 0) -> Episodes:
    """Random matches between two players, a row count that spans several matches."""
    arena = HexArena(HexSettings(size=size), matches=8, seed=seed)
    players = {"ann": RandomPlayer(seed), "ben": RandomPlayer(seed + 1)}
    return Collector(arena, players, taking_turns([0, 1], 2), record=["ann", "ben"]).collect(rows)


def test_episodes_come_back_as_they_went(tmp_path: Path) -> None:
    episodes = played(200)
    store = EpisodeStore(tmp_path, episodes.spec)
    back = read_shard(store.append(episodes))
    assert (back.spec, back.players) == (episodes.spec, episodes.players)
    for read, written in ((back.headers, episodes.headers), (back.steps, episodes.steps)):
        for name, column in written.columns().items():
            found = read.columns()[name]
            assert found.dtype == column.dtype
            if name != "serial":
                np.testing.assert_array_equal(found, column, err_msg=name)
    assert np.array_equal(np.unique(back.headers.serial), np.arange(store.matches))


def test_headers_can_be_read_alone(tmp_path: Path) -> None:
    episodes = played(200)
    path = EpisodeStore(tmp_path, episodes.spec).append(episodes)
    info, headers = shard_headers(path)
    assert info == shard_info(path)
    assert {"serial", "action", "observation/planes"} <= set(info.columns)
    assert "consistent" not in info.columns
    for name, column in read_shard(path).headers.columns().items():
        np.testing.assert_array_equal(headers.columns()[name], column, err_msg=name)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=str(path)):
        shard_headers(path)


def test_a_shard_says_what_it_is_to_any_arrow_reader(tmp_path: Path) -> None:
    episodes = played(100)
    path = EpisodeStore(tmp_path, episodes.spec, about={"simulations": 16}).append(episodes)
    table = pa.ipc.open_file(str(path)).read_all()
    assert set(table["player"].to_pylist()) == {"ann", "ben"}
    assert table["action"].to_pylist()[0] == episodes.steps.action[: episodes.headers.lengths[0]].tolist()
    meta = json.loads(table.schema.metadata[b"sparring"])
    assert meta["spec"]["game"] == "hex"
    assert shard_info(path).about == {"simulations": 16}


def test_a_second_opening_goes_on_at_the_count_on_disk(tmp_path: Path) -> None:
    first, second = played(100), played(150, seed=5)
    with EpisodeStore(tmp_path, first.spec) as before:
        before.append(first)
    after = EpisodeStore(tmp_path, first.spec)
    assert (after.matches, after.episodes, after.rows) == (before.matches, before.episodes, before.rows)
    after.append(second)
    numbers = np.concatenate([np.unique(part.headers.serial) for part in after])
    assert numbers.tolist() == list(range(after.matches))
    assert [path.name for path in shards(tmp_path)] == ["00000000.arrow", "00000001.arrow"]


def test_one_file_is_read_like_a_store_of_one(tmp_path: Path) -> None:
    episodes = played(50)
    with EpisodeStore(tmp_path, episodes.spec) as store:
        path = store.append(episodes)
        store.append(played(50, seed=1))
    (part,) = read_episodes(path)
    assert part.headers.lengths.tolist() == episodes.headers.lengths.tolist()
    assert Episodes.join(read_episodes(tmp_path)).rows == store.rows


def test_other_games_and_other_writers_are_refused(tmp_path: Path) -> None:
    with EpisodeStore(tmp_path, played(50).spec) as store:
        store.append(played(50))
        with pytest.raises(InputError, match=r"another process writes episodes there"):
            EpisodeStore(tmp_path, store.spec)
    with pytest.raises(RunError, match="the store is closed"):
        store.append(played(50))
    with pytest.raises(InputError, match=r"holds episodes of hex .*'size': 4.* not of hex .*'size': 5"):
        EpisodeStore(tmp_path, played(50, size=5).spec)
    EpisodeStore(tmp_path, store.spec).close()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    with EpisodeStore(tmp_path, played(50).spec) as store:
        path = store.append(played(50))
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=str(path)):
        EpisodeStore(tmp_path, played(50).spec)
    path.write_bytes(b"not arrow")
    with pytest.raises(InputError, match="not an Arrow file"):
        read_shard(path)


def _write_for_ever(path: Path) -> None:
    episodes = played(100)
    store = EpisodeStore(path, episodes.spec)
    while True:
        store.append(episodes)


def test_a_killed_writer_leaves_only_whole_shards(tmp_path: Path) -> None:
    writer = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(tmp_path,))
    writer.start()
    deadline = time.monotonic() + 60
    while len(shards(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    store = EpisodeStore(tmp_path, played(50).spec)
    assert len(shards(tmp_path)) >= 3
    assert not list(tmp_path.glob(".*"))
    assert [len(np.unique(part.headers.serial)) for part in store] == [store.matches // len(shards(tmp_path))] * len(
        shards(tmp_path)
    )


def resealed(content: bytes) -> bytes:
    """A shard whose checksum is right, whatever is in it."""
    digest = hashlib.sha256(store_module._SEAL.sub(store_module._BLANK, content)).hexdigest().encode()
    return store_module._SEAL.sub(store_module._BLANK[:-64] + digest, content)


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    with EpisodeStore(tmp_path, played(50).spec) as store:
        path = store.append(played(50))
    whole = path.read_bytes()
    for at in range(6, len(whole), len(whole) // 40):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        for read in (read_shard, shard_info):
            with pytest.raises(InputError, match="damaged|no checksum"):
                read(path)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b'"rows": ', b'"rows":9'),
        (b'"matches": ', b'"matches":9'),
        (b'"seats": 2', b'"seats": 1'),
        (b'"actions": 16', b'"actions":  3'),
        (b'"dtype": "uint8"', b'"dtype": "int64"'),
        (b'"dtype": "uint8"', b'"dtype": "O"    '),
        (b'"players": ["ann"', b'"players": ["bob"'),
        (b'"format": 3', b'"format": 9'),
    ],
)
def test_metadata_that_does_not_fit_the_data_is_refused(tmp_path: Path, was: bytes, now: bytes) -> None:
    with EpisodeStore(tmp_path, played(50).spec) as store:
        path = store.append(played(50))
    whole = path.read_bytes()
    assert was in whole
    path.write_bytes(resealed(whole.replace(was, now)))
    with pytest.raises(InputError, match=str(path)):
        read_shard(path)
