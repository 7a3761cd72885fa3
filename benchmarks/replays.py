"""Replays a second: gen8ou logs into both players' episodes, beside the bare tracker reading the same lines.

The limit is the tracker alone, which has to read every line once a side; of two workers, twice what one does, with the
time that they take to start and end (`whole`) and without (`steady`). Logs are of the heuristic player against itself,
played at the start, unless `--logs` names a folder or file of others; the same logs are read again and again under
other ids.
"""

import json
import resource
import shutil
import sys
import tempfile
from dataclasses import asdict, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import measure
from sparring.core.replays import Filters, Replay
from sparring.data.importing import ImportPlan, import_replays
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.replays.episodes import read_replays
from sparring.games.pokemon.replays.sources import ReplayFiles
from sparring.games.pokemon.tracker import Tracker
from sparring.league import Seating
from sparring.league.recording import record_matches
from sparring.rollout.store import shard_bytes

FORMAT = "gen8ou"


def logs(source: Path | None, folder: Path, battles: int) -> list[str]:
    """Logs of whole battles."""
    if source is None:
        source = folder / "battles.jsonl"
        seating = Seating.of("heuristic", "heuristic", game="pokemon", settings={"format": FORMAT})
        record_matches(seating, source, matches=battles)
    return [one.log for one in ReplayFiles([source]) if isinstance(one, Replay)]


def track(replays: list[Replay]) -> None:
    """The bare tracker, once a side."""
    tables = find_format(FORMAT).tables
    for replay in replays:
        lines = replay.log.split("\n")
        for side in ("p1", "p2"):
            Tracker(tables, side).lines(lines)


def parse(replays: list[Replay]) -> None:
    """Episodes, as the files that a store holds."""
    for episodes in read_replays(replays, Filters(), {"format": FORMAT}).episodes.values():
        shard_bytes(episodes, about={})


class Run(NamedTuple):
    """A whole run of `import_replays`; rates are replays a second of wall time."""

    whole: float
    """Start and end of the workers included."""
    steady: float
    """From when each worker has read its first chunk to when the last one is written."""
    own_share: float
    """CPU time of this process, which finds and writes, for a CPU second of the workers."""


def run(folder: Path, replays: list[Replay], workers: int) -> Run:
    """Reads `replays` into a store of their own, which is removed."""
    source, output = folder / f"{workers}.jsonl", folder / f"store-{workers}"
    with source.open("w") as file:
        file.writelines(json.dumps(asdict(replace(one, rating=0.0, format=FORMAT))) + "\n" for one in replays)
    written: list[tuple[float, int]] = []
    own, others = _cpu(resource.RUSAGE_SELF), _cpu(resource.RUSAGE_CHILDREN)
    started = perf_counter()
    report = import_replays(
        ImportPlan("pokemon", [source], output, workers=workers),
        on_progress=lambda report: written.append((perf_counter(), report.accepted)),
    )
    seconds = perf_counter() - started
    own, others = _cpu(resource.RUSAGE_SELF) - own, _cpu(resource.RUSAGE_CHILDREN) - others
    assert report.accepted == len(replays), report
    shutil.rmtree(output)
    (begun, before), (ended, after) = written[max(workers, 1) - 1], written[-1]
    return Run(report.accepted / seconds, (after - before) / (ended - begun), own / others if others else 1.0)


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main() -> None:
    options = measure.parser(__doc__)
    options.add_argument("--logs", type=Path, help="files or folder of logs to read instead")
    options.add_argument("--memory", action="store_true", help="also: memory after 2,000 and 20,000 replays")
    given = measure.parse(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = logs(given.logs, folder, 16 if given.quick else 64)
        count = 128 if given.quick else 512
        many = [Replay(f"gen8ou-{at}", text) for at, text in enumerate(islice(cycle(texts), count))]
        track(many[:16])
        parse(many[:16])
        sides = {
            "tracker": lambda: measure.cpu_seconds(lambda: track(many)),
            "parse": lambda: measure.cpu_seconds(lambda: parse(many)),
        }
        found = measure.in_turns(sides, 3 if given.quick else 7)
        rate = {side: count / min(seconds) for side, seconds in found.items()}
        measure.figure("tracker alone, both sides", rate["tracker"], "replays/CPU-s")
        measure.figure(
            "parsed into files, both sides",
            rate["parse"],
            "replays/CPU-s",
            limit="tracker alone",
            ratio=rate["parse"] / rate["tracker"],
        )
        more = [Replay(f"gen8ou-{at}", text) for at, text in enumerate(islice(cycle(texts), 16 * count))]
        runs = measure.in_turns({str(n): partial(run, folder, more, n) for n in (1, 2)}, 1 if given.quick else 2)
        for name in ("steady", "whole"):
            one, two = (median(getattr(found, name) for found in runs[workers]) for workers in ("1", "2"))
            what = f"{name} run of {len(more):,}"
            measure.figure(f"{what}, 1 worker", one, "replays/s")
            measure.figure(f"{what}, 2 workers", two, "replays/s", limit="twice 1 worker", ratio=two / (2 * one))
        share = median(found.own_share for found in runs["2"])
        measure.figure("CPU time of the process that writes, of 2 workers'", share, "CPU-s/CPU-s")
        if given.memory:
            for total in (2_000, 20_000):
                repeated = [Replay(f"gen8ou-{total}{at}", text) for at, text in enumerate(islice(cycle(texts), total))]
                run(folder, repeated, 0)
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                measure.figure(f"peak memory after {total:,} replays", peak, "MB")


if __name__ == "__main__":
    sys.exit(main())
