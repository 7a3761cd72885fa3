"""Replays a second: gen8ou logs into both players' episodes, beside the bare tracker reading the same lines.

The limit is the tracker alone, which has to read every line once a side; of two workers, twice what one does. Logs are
of the heuristic player against itself, played at the start, unless `--logs` names a folder or file of others; the same
logs are read again and again under other ids.
"""

import json
import resource
import sys
import tempfile
from dataclasses import asdict, replace
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter

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


def whole(folder: Path, replays: list[Replay], workers: int) -> float:
    """Replays a second of wall time through `import_replays`, worker start and writing included."""
    source, output = folder / f"{workers}.jsonl", folder / f"store-{workers}"
    with source.open("w") as file:
        file.writelines(json.dumps(asdict(replace(one, rating=0.0, format=FORMAT))) + "\n" for one in replays)
    started = perf_counter()
    report = import_replays(ImportPlan("pokemon", [source], output, workers=workers))
    assert report.accepted == len(replays), report
    return report.accepted / (perf_counter() - started)


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
        more = [Replay(f"gen8ou-{at}", text) for at, text in enumerate(islice(cycle(texts), 4 * count))]
        one, two = (whole(folder, more, workers) for workers in (1, 2))
        measure.figure("whole run, 1 worker", one, "replays/s")
        measure.figure("whole run, 2 workers", two, "replays/s", limit="twice 1 worker", ratio=two / (2 * one))
        if given.memory:
            for total in (2_000, 20_000):
                repeated = [Replay(f"gen8ou-{total}{at}", text) for at, text in enumerate(islice(cycle(texts), total))]
                whole(folder, repeated, 0)
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                measure.figure(f"peak memory after {total:,} replays", peak, "MB")


if __name__ == "__main__":
    sys.exit(main())
