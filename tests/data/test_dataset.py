"""The dataset: every episode once, the same batches however they are loaded, and on from any of them."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from weakref import WeakSet

import numpy as np
import pytest

from sparring.core import InputError, RunError
from sparring.core.episodes import unpack_mask
from sparring.data import Dataset, Filter, reading
from sparring.data import loaders as loaders_module
from sparring.data.plan import STREAMS
from sparring.rollout.store import EpisodeStore, read_episodes, shards
from tests.data.stores import hex_store, people_store, played, rated


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return hex_store(tmp_path_factory.mktemp("data") / "hex")


def episodes_of(batch):
    """(player, serial, seat, start, actions and boards as bytes) of each episode of a batch."""
    episodes = batch.episodes
    for number, (first, length) in enumerate(zip(episodes.starts, episodes.headers.lengths, strict=True)):
        rows = slice(first, first + length)
        columns = [array[rows].tobytes() for array in episodes.steps.columns().values()]
        headers = [array[number].item() for array in episodes.headers.columns().values()]
        headers[3] = episodes.players[headers[3]]
        yield *headers, int(batch.start[number]), int(batch.total[number]), *columns


def content(batches):
    return [list(episodes_of(batch)) for batch in batches]


def stored(store):
    """The same of everything in a store."""
    for part in read_episodes(store):
        zero = np.zeros(len(part), np.int32)
        yield from episodes_of(type("Whole", (), {"episodes": part, "start": zero, "total": part.headers.lengths}))


def test_an_epoch_shows_every_episode_once_as_it_was_stored(store):
    data = Dataset(store, batch_size=8)
    batches = list(data.epoch())
    assert len(batches) == len(data)
    assert {len(batch.episodes) for batch in batches[:-1]} <= {8, len(batches[-1].episodes), data.episodes % 8}
    assert sorted(chain(*content(batches))) == sorted(stored(store))
    assert data.rows == sum(batch.episodes.rows for batch in batches)


def test_windows_cover_every_decision_once(store):
    data = Dataset(store, batch_size=8, length=2)
    seen = {}
    for batch in data.epoch():
        headers = batch.episodes.headers
        assert headers.lengths.max() <= 2
        for number, first in enumerate(batch.episodes.starts):
            length = headers.lengths[number]
            assert length == 2 or batch.start[number] + length == batch.total[number]
            key = headers.serial[number], headers.seat[number]
            for step in range(length):
                seen[*key, batch.start[number] + step] = batch.episodes.steps.action[first + step]
    whole = {}
    for part in read_episodes(store):
        for number, first in enumerate(part.starts):
            for step in range(part.headers.lengths[number]):
                key = part.headers.serial[number], part.headers.seat[number], step
                whole[key] = part.steps.action[first + step]
    assert seen == whole


def test_epochs_and_seeds_differ_and_files_are_mixed(store):
    data = Dataset(store, batch_size=8)
    first = content(data.epoch(0))
    assert first == content(data.epoch(0))
    assert first != content(data.epoch(1))
    assert first != content(Dataset(store, batch_size=8, seed=1).epoch(0))
    per_file = [set(part.headers.serial.tolist()) for part in read_episodes(store)]
    files = [
        {number for number, serials in enumerate(per_file) if serials & set(batch.episodes.headers.serial.tolist())}
        for batch in Dataset(store, batch_size=8, buffer=10_000).epoch()
    ]
    assert max(map(len, files)) > 1
    assert len(per_file) > STREAMS


@pytest.mark.parametrize("length", [None, 2])
def test_any_number_of_loaders_gives_the_same_batches_and_goes_on_from_each(store, length):
    def take(workers, count, position=None):
        data = Dataset(store, batch_size=8, length=length, workers=workers, buffer=80, prefetch=2)
        return [batch for batch, _ in zip(data.batches(position), range(count), strict=False)]

    batches = len(Dataset(store, batch_size=8, length=length))
    whole = take(0, 2 * batches + 3)  # over the ends of two epochs
    expected = content(whole)
    for workers in (1, 3):
        assert content(take(workers, len(whole))) == expected
    for done, workers in ((1, 0), (batches - 1, 2), (batches, 0), (batches + 3, 1)):
        position = json.loads(json.dumps(whole[done - 1].position))
        assert content(take(workers, len(whole) - done, position)) == expected[done:]


def test_batches_of_loaders_can_be_kept_and_written_to(store):
    kept = list(Dataset(store, batch_size=8, workers=1).epoch())
    before = content(kept)
    kept[0].episodes.steps.action[:] = 0
    assert content(kept[1:]) == before[1:]


def test_ranks_share_an_epoch_equally(store):
    datas = [Dataset(store, batch_size=4, rank=rank, world_size=3) for rank in range(3)]
    parts = [content(data.epoch(2)) for data in datas]
    assert len({len(data) for data in datas}) == 1
    assert len({tuple(map(len, part)) for part in parts}) == 1
    shown = [episode for part in parts for batch in part for episode in batch]
    assert len(set(shown)) == len(shown) == datas[0].episodes // 3 * 3
    assert set(shown) <= set(stored(store))


def test_a_position_of_other_data_or_settings_is_refused(store, tmp_path):
    position = next(Dataset(store, batch_size=8).batches()).position
    others = [
        Dataset(store, batch_size=4),
        Dataset(store, batch_size=8, seed=2),
        Dataset(hex_store(tmp_path / "other", shards=2), batch_size=8),
    ]
    for data in others:
        with pytest.raises(InputError, match="other episodes or other settings"):
            data.batches(position)
    for wrong in ({"epoch": 1}, {**position, "epoch": -1}, {**position, "batch": "two"}, [1, 2]):
        with pytest.raises(InputError, match="not a position"):
            Dataset(store, batch_size=8).batches(wrong)


def test_specs_are_never_mixed_in_a_batch_and_take_turns(tmp_path):
    hex_store(tmp_path / "all" / "small", shards=3)
    hex_store(tmp_path / "all" / "large", shards=3, size=4)
    data = Dataset(tmp_path / "all", batch_size=4, workers=2)
    sizes = [batch.episodes.spec.settings["size"] for batch in data.epoch()]
    assert set(sizes) == {3, 4}
    assert sum(one != other for one, other in pairwise(sizes)) > len(sizes) // 5
    expected = [*stored(tmp_path / "all" / "small"), *stored(tmp_path / "all" / "large")]
    assert sorted(chain(*content(data.epoch()))) == sorted(expected)
    only = Dataset(tmp_path / "all", batch_size=4, where=Filter(settings={"size": [3]}))
    assert [spec.settings["size"] for spec in only.specs] == [3]


def test_filters(tmp_path):
    part = rated(played(1000), [1000.0, 1500.0, float("nan")], [0, 100, 200, 300])
    with EpisodeStore(tmp_path, part.spec) as store:
        store.append(part)

    def kept(**where):
        batches = Dataset(tmp_path, batch_size=1000, where=Filter(**where)).epoch()
        (batch,) = batches
        return batch.episodes

    assert set(kept(min_rating=1200).headers.rating) == {1500}
    assert set(kept(max_rating=1200).headers.rating) == {1000}
    assert set(kept(since=200).headers.played_at) == {200, 300}
    assert set(kept(until=200).headers.played_at) == {100}
    assert set(kept(since=0).headers.played_at) == {100, 200, 300}
    assert set(kept(results=["win"]).headers.outcome) == {1}
    assert set(kept(results=["loss"]).headers.outcome) == {-1}
    assert kept(players=["ben", "nobody"]).players == ("ben",)
    assert kept(min_length=5).headers.lengths.min() == 5
    train, test = kept(split=(0, 0.6)).headers.serial, kept(split=(0.6, 1)).headers.serial
    assert not set(train) & set(test)
    assert len(train) + len(test) == len(part)
    assert 0 < len(test) < len(train)
    with pytest.raises(InputError, match=f"none of the {len(part)} episodes fits the filter"):
        kept(min_rating=3000)


def test_what_only_some_files_say_is_filled_in(tmp_path):
    plain = played(40)
    told = rated(played(40, seed=7), [1200.0], [50])
    told = replace(told, steps=replace(told.steps, consistent=told.steps.legal))
    with EpisodeStore(tmp_path, plain.spec) as store:
        store.append(plain)
        store.append(told)
    (batch,) = Dataset(tmp_path, batch_size=1000).epoch()
    headers, steps = batch.episodes.headers, batch.episodes.steps
    assert np.isnan(headers.rating).sum() == (headers.played_at == 0).sum() == len(plain)
    sets = unpack_mask(steps.consistent, plain.spec.actions)
    filled_in = np.repeat(np.isnan(headers.rating), headers.lengths)
    assert (sets[filled_in].sum(axis=1) == 1).all()
    assert (sets[filled_in].argmax(axis=1) == steps.action[filled_in]).all()
    assert (steps.consistent[~filled_in] == steps.legal[~filled_in]).all()


def test_battles_of_people_are_served_with_their_sets(tmp_path):
    (batch,) = Dataset(people_store(tmp_path), batch_size=8).epoch()
    assert set(batch.episodes.players) == {"Ann", "Bob"}
    assert set(batch.episodes.headers.rating) == {1500, 1600}
    assert (batch.episodes.headers.played_at == 1_700_000_000).all()
    sets = unpack_mask(batch.episodes.steps.consistent, batch.episodes.spec.actions)
    assert ((sets.sum(axis=1) > 1) == (batch.episodes.steps.action < 0)).all()


def test_damaged_files_are_left_out_by_name_or_refused(tmp_path):
    path = shards(hex_store(tmp_path / "s"))[1]
    path.write_bytes(path.read_bytes()[:500])
    said = []
    data = Dataset(tmp_path / "s", batch_size=8, say=said.append)
    assert len(said) == len(data.damaged) == 1
    assert str(path) in said[0]
    assert sum(len(batch.episodes) for batch in data.epoch()) == data.episodes
    with pytest.raises(InputError, match=str(path)):
        Dataset(tmp_path / "s", batch_size=8, strict=True)
    for path in shards(tmp_path / "s"):
        path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="all 5 files are damaged"):
        Dataset(tmp_path / "s", batch_size=8, say=said.append)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_file_that_is_damaged_later_is_named(tmp_path, workers):
    data = Dataset(hex_store(tmp_path, shards=2), batch_size=4, workers=workers)
    for path in shards(tmp_path):
        path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="arrow: not an Arrow file"):
        list(data.epoch())


def test_a_loader_that_dies_is_said(store, monkeypatch):
    made = []

    class Watched(loaders_module.Loaders):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr("sparring.data.dataset.Loaders", Watched)
    batches = Dataset(store, batch_size=1, workers=1, prefetch=1).epoch()
    next(batches)
    os.kill(made[0].processes[0], signal.SIGKILL)
    with pytest.raises(RunError, match="a process that loads data has died"):
        list(batches)
    assert not made[0].processes


def test_loaders_end_with_the_loop_over_them(store, monkeypatch):
    ended = []
    close = loaders_module.Loaders.close
    monkeypatch.setattr(loaders_module.Loaders, "close", lambda self: (ended.extend(self.processes), close(self)))
    for _ in Dataset(store, batch_size=4, workers=1).batches():
        break
    assert len(ended) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(ended[0], 0)


_KILLED = """
import os, signal, sys
from sparring.data import Dataset, loaders

class Told(loaders.Loaders):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        print(*self.processes, flush=True)

if __name__ == "__main__":
    from sparring.data import dataset
    dataset.Loaders = Told
    next(Dataset(sys.argv[1], batch_size=1, workers=2).batches())
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_loaders_end_when_the_process_that_trains_is_killed(store, tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    done = subprocess.run([sys.executable, script, store], capture_output=True, text=True, timeout=100)
    processes = list(map(int, done.stdout.split()))
    assert len(processes) == 2, done.stderr
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{process}").exists() for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_memory_holds_a_few_blocks_and_files_are_read_about_once(tmp_path, monkeypatch):
    hex_store(tmp_path, shards=24, rows=20)
    held, read, most = WeakSet(), [], 0

    class Block(reading._Block):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            held.add(self)

    def read_shard(path):
        read.append(path)
        return original(path)

    original = reading.read_shard
    monkeypatch.setattr(reading, "_Block", Block)
    monkeypatch.setattr(reading, "read_shard", read_shard)
    data = Dataset(tmp_path, batch_size=4, buffer=4 * 2 * 30)
    for _ in data.epoch():
        most = max(most, sum(len(block._files) for block in held))
    assert len(set(read)) == 24
    assert len(read) <= 24 + STREAMS - 1
    assert 0 < most <= 2 * STREAMS * 2


def test_bad_input(store, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, words in ((tmp_path / "empty", "no episodes here"), (tmp_path / "none", "no such folder")):
        with pytest.raises(InputError, match=words):
            Dataset(path, batch_size=4)
    for options, words in (
        ({"batch_size": 0}, "batch_size = 0: allowed: a whole number, 1 or more"),
        ({"batch_size": "4"}, "batch_size = '4': allowed: a whole number, 1 or more"),
        ({"batch_size": 4, "length": 0}, "length = 0: allowed: a whole number, 1 or more; or null"),
        ({"batch_size": 4, "where": {"results": ["win"]}}, "where = .*: allowed: a Filter, such as"),
        ({"batch_size": 4, "rank": 2, "world_size": 2}, "rank: 2 is not one of 0..1"),
        ({"batch_size": 4, "world_size": 10_000}, "too few for 10000 ranks"),
        ({"batch_size": 4, "workers": -1}, "workers = -1: allowed: a whole number, 0 or more"),
    ):
        with pytest.raises(InputError, match=words):
            Dataset(store, **options)
    for options, words in (
        ({"results": ["won"]}, r"results = \['won'\]: allowed: a list of some of win, draw, loss"),
        ({"results": "win"}, "results = 'win': allowed: a list of some of win, draw, loss"),
        ({"players": "ada"}, r"players = 'ada': allowed: a list of names, such as \['ada'\]"),
        ({"min_rating": "1500"}, "min_rating = '1500': allowed: a number or null"),
        ({"split": (0.9, 0.1)}, r"split = \(0.9, 0.1\): allowed: where it begins and ends, 0 to 1, such as"),
        ({"split": 0.9}, "split = 0.9: allowed"),
        ({"split": (0, 1, 2)}, "split = .*: allowed"),
        ({"split": (0.5, 1.5)}, "split = .*: allowed"),
    ):
        with pytest.raises(InputError, match=words):
            Filter(**options)
    with pytest.raises(InputError, match="no folder of episodes"):
        Dataset([], batch_size=4)


def test_a_dataset_is_read_by_epoch(store):
    data = Dataset(store, batch_size=4)
    assert repr(data) == f"<Dataset: {data.episodes:,} episodes of {store}, {len(data):,} batches an epoch>"
    with pytest.raises(InputError, match=r"read by epoch: data.epoch\(0\), .*, or data.batches\(\)"):
        iter(data)
    for number in (-1, "0"):
        with pytest.raises(InputError, match=f"epoch = {number!r}: allowed: a whole number, 0 or more"):
            data.epoch(number)
