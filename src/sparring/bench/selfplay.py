"""The self-play benchmark: the same number of matches four ways, from one model per worker to one batch for all.

baseline       every worker has its own copy of the network and plays one match at a time: batch 1
server         workers ask one policy server, each with its share of the matches in flight
shared memory  workers step the matches, one process reads their rows in shared memory and answers
in process     one process does everything

Each way plays the model against random moves and keeps the episodes, so that win rates and formats can be compared.
"""

import json
import os
import resource
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pyarrow as pa
import torch

from sparring.core import Game, RandomPlayer, RunError, Score, load_game, wilson_interval
from sparring.core.files import write_file
from sparring.core.settings import convert
from sparring.inference import Device, NetworkPlayer
from sparring.league import Seating
from sparring.league.serve import model_source
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.report.settings import in_a_line
from sparring.rollout import WorkerArena
from sparring.rollout.selfplay import MatchesHere, play_into_store
from sparring.rollout.store import EpisodeStore, shards
from sparring.serving import server_status
from sparring.serving.server import PolicyServer, ServerSettings

MODEL, OPPONENT = "model", "random"
WAYS = ("baseline", "server", "shared memory", "in process")


@dataclass(frozen=True)
class Bench:
    """What is played, and how much of it."""

    game: str
    settings: Mapping[str, Any]
    """Laid over those of the model."""
    model: str | None
    """A network by name (see `league.entrants`); None plays an untrained one."""
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
    player: str
    """The model by name, in this process or on the server."""
    folder: Path


def run_bench(bench: Bench, *, say: Callable[[str], None]) -> dict[str, Any]:
    """Plays all ways; the result is JSON-ready. Raises `RunError` if a process fails."""
    ways: dict[str, dict[str, Any]] = {}
    schemas = {}
    with tempfile.TemporaryDirectory(prefix="sparring-bench-") as folder:
        if bench.model is None:
            game = load_game(bench.game)
            bench = replace(bench, model=str(_untrained(game, bench.settings, Path(folder) / "model", bench.seed)))
        seating = _preflight(bench, say)
        bench = replace(bench, settings=msgspec.to_builtins(seating.settings))
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
        "game": bench.game,
        "settings": dict(seating.spec.settings),
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


def save_results(path: Path, result: Mapping[str, Any]) -> None:
    """Writes the result as JSON."""
    write_file(path, (json.dumps(result, indent=2) + "\n").encode())


def raise_failed(result: Mapping[str, Any]) -> None:
    """Raises `RunError` if one of the result's checks failed."""
    failed = [check for check, passed in result["checks"].items() if not passed]
    if failed:
        raise RunError(f"bench: a check failed: {', '.join(failed)}")


def _untrained(game: Game, settings: Mapping[str, Any], folder: Path, seed: int) -> Path:
    """An untrained network, for machines without a trained one."""
    torch.manual_seed(seed)
    spec = game.spec(convert(settings, game.settings, where=f"{game.name} settings"))
    weights = game.policy(spec, game.network()).state_dict()
    save_checkpoint(folder, Checkpoint(spec=spec, network={}, version=0, weights=weights, about={"untrained": True}))
    return folder


def _preflight(bench: Bench, say: Callable[[str], None]) -> Seating:
    """Finds what would stop the benchmark before it has cost minutes."""
    assert bench.model is not None
    seating = Seating.of(bench.model, game=bench.game, settings=bench.settings, networks=True)
    with seating.seated(matches=1, seed=bench.seed) as (_, arena):
        arena.wait()
    about = f"{bench.game} ({in_a_line(seating.spec.settings)})"
    say(f"{about}: arena and model are there; {bench.matches} matches, {len(WAYS)} ways")
    return seating


def _run_way(bench: Bench, way: str, folder: Path) -> dict[str, Any]:
    processes = bench.workers if way in ("baseline", "server") else 1
    context = get_context("spawn")
    address, player, stop_server = "", str(bench.model), None
    if way == "server":
        stop_server, theirs = context.Pipe()
        server = context.Process(target=_serve, args=(bench, theirs), daemon=True)
        server.start()
        address = stop_server.recv()
        player = f"{address}/{MODEL}"
    started = []
    for number in range(processes):
        matches = bench.matches * (number + 1) // processes - bench.matches * number // processes
        parallel = 1 if way == "baseline" else ceil(bench.parallel / processes)
        share = _Share(way, number, matches, min(parallel, max(1, matches)), player, folder / str(number))
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
    score: Score = reduce(Score.__add__, (part["score"] for part in parts))
    result: dict[str, Any] = {
        "matches": score.matches,
        "seconds": seconds,
        "matches_per_hour": 3600 * score.matches / seconds,
        "decisions_per_second": sum(part["decisions"] for part in parts) / seconds,
        "win_rate": score.win_rate,
        "interval": list(score.interval),
        "failed_matches": score.failed,
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
        [model_source(f"{MODEL}={bench.model}", game=bench.game, settings=bench.settings)],
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
    seed = bench.seed + 1_000_003 * share.number
    workers = min(bench.workers, os.cpu_count() or 1) if share.way == "shared memory" else 0
    seating = Seating.of(share.player, game=bench.game, settings=bench.settings)
    with seating.seated(matches=share.parallel, seed=seed, workers=workers) as ((player,), arena):
        if isinstance(arena, WorkerArena):
            arena.start()
        line.send("ready")
        line.recv()
        players = {MODEL: player, OPPONENT: RandomPlayer(seed + 1)}
        played = play_into_store(
            EpisodeStore(share.folder, seating.spec),
            MatchesHere(arena, players, share.matches, keep_policy=False),
            matches=share.matches,
            shard=1000,
            stop=lambda: False,
            progress=lambda done: None,
        )
        counters = player.engine.counters if isinstance(player, NetworkPlayer) else None
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        line.send(
            {
                "score": played.score,
                "decisions": played.counters.decisions,
                "rows": counters.rows if counters else 0,
                "forwards": counters.forwards if counters else 0,
                "cpu_seconds": sum(use.ru_utime + use.ru_stime for use in used),
                "memory_mb": used[0].ru_maxrss / 1024,
            }
        )


def _schemas(folder: Path) -> set[str]:
    """The columns and types of every episode file under `folder`."""
    found = set()
    for store in folder.iterdir():
        for shard in shards(store):
            with pa.memory_map(str(shard)) as file:
                found.add(str(pa.ipc.open_file(file).schema.remove_metadata()))
    return found
