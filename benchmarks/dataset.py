"""How fast a dataset serves decisions, beside the bare Arrow read of the same files.

The limit is Arrow alone: every file opened, decompressed and left there, without checksum, filter, order or copy. The
store is made of a few battles of random players, whose files are linked again and again.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import pyarrow as pa

import measure
from sparring.core import RandomPlayer, load_game
from sparring.core.settings import convert
from sparring.data import Dataset
from sparring.rollout import Collector, taking_turns
from sparring.rollout.store import EpisodeStore, shards

GAMES = {"pokemon": {"format": "gen1randombattle"}, "hex": {"size": 9}}


def make_store(name: str, folder: Path, *, rows: int, files: int) -> Path:
    """A store of `files` files, each the same `rows` decisions or a few more."""
    game = load_game(name)
    settings = convert(GAMES[name], game.settings, where=name)
    arena = game.arena(settings, matches=32, seed=0)
    players = {"ann": RandomPlayer(0), "ben": RandomPlayer(1)}
    with EpisodeStore(folder, arena.spec) as store:
        first = store.append(Collector(arena, players, taking_turns([0, 1], 2), record=list(players)).collect(rows))
    if close := getattr(arena, "close", None):
        close()
    for number in range(1, files):
        os.link(first, folder / f"{number:08d}.arrow")
    return folder


def arrow(folder: Path) -> Callable[[], float]:
    """Decisions a second of CPU time that Arrow alone reads."""
    rows = Dataset(folder, batch_size=1).rows

    def read() -> float:
        return rows / measure.cpu_seconds(
            lambda: [pa.ipc.open_file(pa.memory_map(str(file))).read_all() for file in shards(folder)]
        )

    return read


def serial(folder: Path, length: int | None) -> Callable[[], float]:
    """Decisions a second of CPU time that a dataset serves in its own process."""
    data = Dataset(folder, batch_size=64, length=length)
    return lambda: data.rows / measure.cpu_seconds(lambda: [None for _ in data.epoch()])


def loaded(folder: Path, length: int | None, workers: int, clock: Callable[[], float]) -> Callable[[], float]:
    """Decisions a second that a dataset serves with loader processes, once they run.

    Wall time says how fast they come, CPU time what the process that trains pays for them.
    """
    data = Dataset(folder, batch_size=64, length=length, workers=workers)

    def serve() -> float:
        batches = data.batches()
        next(batches)
        start, rows = clock(), 0
        for _ in range(len(data)):
            rows += next(batches).episodes.rows
        return rows / (clock() - start)

    return serve


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    for name in GAMES:
        with tempfile.TemporaryDirectory() as folder:
            made = make_store(name, Path(folder), rows=4_000, files=8 if quick else 32)
            sides = {
                "arrow": arrow(made),
                "episodes, serial": serial(made, None),
                "windows of 16, serial": serial(made, 16),
                "windows of 16, 1 loader, wall": loaded(made, 16, 1, perf_counter),
                "windows of 16, 2 loaders, wall": loaded(made, 16, 2, perf_counter),
                "windows of 16, 1 loader, this process": loaded(made, 16, 1, process_time),
            }
            found = {side: median(values) for side, values in measure.in_turns(sides, 3).items()}
            for side, value in found.items():
                unit = "rows/s" if "wall" in side else "rows/CPU-s"
                beside = {} if side == "arrow" else {"limit": found["arrow"], "ratio": value / found["arrow"]}
                measure.figure(f"dataset, {name}, {side}", value, unit, **beside)


if __name__ == "__main__":
    main()
