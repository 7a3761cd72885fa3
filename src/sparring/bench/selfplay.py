"""The self-play benchmark: the same number of matches four ways, from one model per worker to one batch for all.

baseline       every worker has its own copy of the network and plays one match at a time: batch 1
server         workers ask one policy server, each with its share of the matches in flight
shared memory  workers step the matches, one process reads their rows in shared memory and answers
in process     one process does everything

Each way plays the model against random moves and keeps the episodes, so that win rates and formats can be compared.
"""

import os
import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import torch

from sparring.core import Arena, Game, Player, RandomPlayer, RunError, wilson_interval
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.policy.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from sparring.rollout import WorkerArena
from sparring.rollout.selfplay import play_into_store
from sparring.rollout.store import EpisodeStore, shards
from sparring.serving import RemotePlayer, server_status
from sparring.serving.models import ModelSource
from sparring.serving.server import PolicyServer, ServerSettings

MODEL, OPPONENT = "model", "random"
WAYS = ("baseline", "server", "shared memory", "in process")


@dataclass(frozen=True)
class Bench:
    """What is played, and how much of it."""

    game: Game
    settings: Any
    checkpoint: Path
    matches: int
    workers: int
    parallel: int
    """Matches in flight, of all workers together; the baseline has one a worker."""
    batch_size: int
    timeout: float
    seed: int


@dataclass(frozen=True)
class _Share:
    """One process's part of a way."""

    way: str
    number: int
    matches: int
    parallel: int
    server: str
    folder: Path


def fresh_checkpoint(game: Game, settings: Any, folder: Path, *, seed: int) -> Path:
    """An untrained network, for machines without a trained one."""
    torch.manual_seed(seed)
    spec = game.spec(settings)
    policy = game.policy(spec, game.network())
    save_checkpoint(
        folder, Checkpoint(spec=spec, network={}, version=0, weights=policy.state_dict(), about={"untrained": True})
    )
    return folder


def run_bench(bench: Bench, *, say: Callable[[str], None]) -> dict[str, Any]:
    """Plays all ways; the result is JSON-ready. Raises `RunError` if a process fails."""
    _preflight(bench, say)
    ways: dict[str, dict[str, Any]] = {}
    schemas = {}
    with tempfile.TemporaryDirectory(prefix="sparring-bench-") as folder:
        for way in WAYS:
            ways[way] = _run_way(bench, way, Path(folder) / way.replace(" ", "-"))
            schemas[way] = _schemas(Path(folder) / way.replace(" ", "-"))
            one = ways[way]
            say(
                f"{way}: {one['matches']} matches in {one['seconds']:.1f} s, {one['matches_per_hour']:,.0f} an hour, "
                f"win rate {one['win_rate']:.1%}, batch {one['mean_batch']:.1f}"
            )
    base = ways["baseline"]
    for one in ways.values():
        one["speed_up"] = one["matches_per_hour"] / base["matches_per_hour"]
    # of four ways, two 95% intervals miss each other by chance in one run of forty; these in one of five hundred
    wide = [wilson_interval(way["win_rate"], way["matches"], confidence=0.99) for way in ways.values()]
    low, high = max(one[0] for one in wide), min(one[1] for one in wide)
    return {
        "game": bench.game.name,
        "settings": dict(bench.game.spec(bench.settings).settings),
        "matches": bench.matches,
        "workers": bench.workers,
        "cpus": os.cpu_count(),
        "ways": ways,
        "checks": {
            "win rates agree within their 99% intervals": low <= high,
            "episodes have the same format": all(found == schemas["baseline"] for found in schemas.values()),
            "no failed match": all(way["failed_matches"] == 0 for way in ways.values()),
        },
    }


def _preflight(bench: Bench, say: Callable[[str], None]) -> None:
    """Finds what would stop the benchmark before it has cost minutes."""
    spec = bench.game.spec(bench.settings)
    load_checkpoint(bench.checkpoint).policy(spec)
    arena = bench.game.arena(bench.settings, matches=1, seed=bench.seed)
    try:
        arena.wait()
    finally:
        arena.close()
    say(f"{spec.game} {dict(spec.settings)}: arena and model are there; {bench.matches} matches, {len(WAYS)} ways")


def _run_way(bench: Bench, way: str, folder: Path) -> dict[str, Any]:
    processes = bench.workers if way in ("baseline", "server") else 1
    context = get_context("spawn")
    address, stop_server = "", None
    if way == "server":
        stop_server, theirs = context.Pipe()
        server = context.Process(target=_serve, args=(bench, theirs), daemon=True)
        server.start()
        address = stop_server.recv()
    started = []
    for number in range(processes):
        matches = bench.matches * (number + 1) // processes - bench.matches * number // processes
        parallel = 1 if way == "baseline" else ceil(bench.parallel / processes)
        share = _Share(way, number, matches, min(parallel, max(1, matches)), address, folder / str(number))
        line, theirs = context.Pipe()
        process = context.Process(target=_play_share, args=(bench, share, theirs))
        process.start()
        theirs.close()
        started.append((process, line))
    try:
        for _, line in started:
            line.recv()
        begin = monotonic()
        for _, line in started:
            line.send("go")
        parts = [line.recv() for _, line in started]
        seconds = monotonic() - begin
        report = server_status(address).models[MODEL] if way == "server" else None
    except EOFError as error:
        raise RunError(f"bench: a process of {way!r} failed; its traceback is above") from error
    finally:
        if stop_server is not None:
            stop_server.send("stop")
            server.join(10)
        for process, line in started:
            line.close()
            process.join(10)
            process.kill()
    played = sum(part["matches"] for part in parts)
    points = sum(part["points"] for part in parts)
    rate = points / max(1, played)
    result: dict[str, Any] = {
        "matches": played,
        "seconds": seconds,
        "matches_per_hour": 3600 * played / seconds,
        "decisions_per_second": sum(part["decisions"] for part in parts) / seconds,
        "win_rate": rate,
        "interval": list(wilson_interval(rate, played)),
        "failed_matches": sum(part["failed"] for part in parts),
        "mean_batch": sum(p["rows"] for p in parts) / max(1, sum(p["forwards"] for p in parts)),
        "cpu_seconds": sum(part["cpu_seconds"] for part in parts),
        "peak_memory_mb": sum(part["memory_mb"] for part in parts),
    }
    if report is not None:
        late = {f"p{share}": 1000 * getattr(report, f"p{share}") for share in (50, 95, 99)}
        result |= {"mean_batch": report.mean_batch, "latency_ms": late}
    return result


def _serve(bench: Bench, line: Any) -> None:
    torch.set_num_threads(1)
    server = PolicyServer(
        [ModelSource.from_checkpoint(MODEL, bench.checkpoint)],
        device=Device.pick(),
        settings=ServerSettings(batch_size=bench.batch_size, timeout=bench.timeout),
        port=0,
        say=lambda text: None,
    )
    line.send(server.address)
    server.run(line.poll)
    server.close()


def _play_share(bench: Bench, share: _Share, line: Any) -> None:
    """One process of a way: says ready, plays its share when told, tells what came of it."""
    torch.set_num_threads(1)
    spec = bench.game.spec(bench.settings)
    seed = bench.seed + 1_000_003 * share.number
    engine: InferenceEngine | None = None
    player: Player
    if share.way == "server":
        player = RemotePlayer(share.server, MODEL, spec, matches=share.parallel, seed=seed)
    else:
        engine = InferenceEngine(spec, slots=share.parallel * spec.seats, device=Device.pick(), seed=seed)
        engine.add(MODEL, load_checkpoint(bench.checkpoint).policy(spec))
        player = NetworkPlayer(engine, MODEL)
    arena: Arena
    if share.way == "shared memory":
        count = min(bench.workers, os.cpu_count() or 1)
        workers = WorkerArena(bench.game, bench.settings, matches=share.parallel, seed=seed, workers=count)
        workers.start()
        arena = workers
    else:
        arena = bench.game.arena(bench.settings, matches=share.parallel, seed=seed)
    try:
        line.send("ready")
        line.recv()
        played = play_into_store(
            EpisodeStore(share.folder, spec),
            arena,
            {MODEL: player, OPPONENT: RandomPlayer(seed + 1)},
            matches=share.matches,
            shard=1000,
            keep_policy=False,
            stop=lambda: False,
            progress=lambda done: None,
        )
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        line.send(
            {
                "matches": played.matches,
                "points": played.wins + 0.5 * played.draws,
                "decisions": played.counters.decisions,
                "failed": played.counters.failed,
                "rows": engine.counters.rows if engine else 0,
                "forwards": engine.counters.forwards if engine else 0,
                "cpu_seconds": sum(use.ru_utime + use.ru_stime for use in used),
                "memory_mb": used[0].ru_maxrss / 1024,
            }
        )
    finally:
        arena.close()


def _schemas(folder: Path) -> set[str]:
    """The columns and types of every episode file under `folder`."""
    found = set()
    for store in folder.iterdir():
        for shard in shards(store):
            with pa.memory_map(str(shard)) as file:
                found.add(str(pa.ipc.open_file(file).schema.remove_metadata()))
    return found
