"""Pokémon: decisions a second of the arena against poke-env and the bare simulator, cost of a decision, memory.

    python benchmarks/pokemon_arena.py [--quick] [--battles N]

A decision is one seat's choice, seen, masked and answered at random; both seats play. Sides take turns, the best of
each counts. poke-env's RandomPlayers play on a local Showdown server that this script starts. `--battles` asks for so
many battles in the check that memory stays flat.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure

FORMATS = {"gen1randombattle": (7.0, 1), "gen9randombattle": (6.0, 2), "gen9randomdoublesbattle": (6.5, 2)}
"""Formats, how many times poke-env's speed is wanted, and simulator processes (ours and the limit's)."""
PYTHON_MICROSECONDS = {"gen1randombattle": 70, "gen9randombattle": 85, "gen9randomdoublesbattle": 150}
"""What a decision may cost this process, simulators apart."""
MATCHES = 64
BATCH = 16
"""Rows that are masked at once: about what an arena of so many matches hands out."""
SERVER_PROCESSES = {"network": 1, "simulator": 1, "validator": 1, "verifier": 1}
"""Of the server poke-env plays on, as Showdown's own example config has them."""
EARLIER_TEAM = 2_750
"""Battles an hour of the doubles team we learn from, 8 cores and an RTX 3090."""


def main() -> None:
    parser = measure.parser(__doc__, quick="about a minute, generation 1 only")
    parser.add_argument("--battles", type=int, default=2_000, help="battles of the memory check")
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    options = measure.parse(parser)
    if options.peer:
        print(json.dumps(asyncio.run(poke_env_speed(options.peer[0], int(options.peer[1]), float(options.peer[2])))))
        return
    from sparring.games.pokemon.setup import setup_pokemon

    setup_pokemon(say=measure.say)
    seconds, rounds = (5.0, 1) if options.quick else (15.0, 3)
    for format in list(FORMATS)[: 1 if options.quick else None]:
        speeds(format, seconds=seconds, rounds=rounds)
        costs(format, rows=2_000 if options.quick else 10_000)
    memory(battles=100 if options.quick else options.battles, seconds=3.0 if options.quick else 15.0)
    whole_pipe(seconds=6.0 if options.quick else 60.0)


def speeds(format: str, *, seconds: float, rounds: int) -> None:
    """Ours, the bare simulator and poke-env, in turns."""
    from sparring.games.pokemon import PokemonArena, PokemonSettings
    from sparring.games.pokemon.live import LocalServer

    wanted, processes = FORMATS[format]
    arena = PokemonArena(PokemonSettings(format=format, simulators=processes), matches=MATCHES, seed=0)
    server = LocalServer(config={"subprocesses": SERVER_PROCESSES})
    sides = {
        "ours": lambda: play(arena, seconds=seconds),
        "bare": lambda: bare_speed(format, seconds, processes),
        "faster": lambda: bare_speed(format, seconds, processes, engine=True),
        "peer": lambda: run_peer(format, server.port, seconds),
    }
    try:
        play(arena, seconds=seconds / 2)
        ours, bare, faster, peer = measure.in_turns(sides, rounds).values()
    finally:
        arena.close()
        server.close()
    best = max(rate for rate, _, _ in ours)
    limit = max(sum(run["decisions"] / run["seconds"] for run in runs) for runs in bare)
    other = max(run["decisions"] / run["seconds"] for run in peer)
    name = f"{format}: arena, both seats random, {processes} simulator{'s' * (processes > 1)}"
    measure.figure(name, best, "decisions/s", peer="poke-env", reference=other, ratio=best / other, wanted=wanted)
    measure.figure(name, best, "decisions/s", limit="bare simulator", reference=limit, ratio=best / limit)
    python = 1e6 * min(seconds for _, _, seconds in ours)
    measure.figure(f"{format}: Python, players and all", python, "us/decision", limit=PYTHON_MICROSECONDS[format])
    by_cpu = max(rate for _, rate, _ in ours)
    limit_by_cpu = max(run["decisions"] / run["cpu"] for runs in bare for run in runs)
    faster_by_cpu = max(run["decisions"] / run["cpu"] for runs in faster for run in runs)
    measure.figure(
        f"{format}: our engine alone",
        faster_by_cpu,
        "decisions/CPU-s",
        peer="bare simulator",
        reference=limit_by_cpu,
        ratio=faster_by_cpu / limit_by_cpu,
    )
    measure.figure(
        f"{format}: one simulator process",
        by_cpu,
        "decisions/CPU-s",
        limit="bare simulator",
        reference=limit_by_cpu,
        ratio=by_cpu / limit_by_cpu,
    )


def play(arena, *, seconds: float) -> tuple[float, float, float]:
    """Random play; decisions a wall second and a CPU second of the simulators, and our own CPU seconds a decision."""
    from sparring.core import RandomPlayer

    player, rows = RandomPlayer(0), 0
    start, before, own = time.perf_counter(), children_seconds(arena), time.process_time()
    while time.perf_counter() - start < seconds:
        decisions, _ = arena.wait()
        if len(decisions):
            arena.act(decisions, player.act(decisions).action)
            rows += len(decisions)
    spent = (time.process_time() - own) / rows
    return rows / (time.perf_counter() - start), rows / (children_seconds(arena) - before), spent


def children_seconds(arena) -> float:
    import psutil

    times = [psutil.Process(pid).cpu_times() for pid in arena.simulator.pids]
    return sum(time.user + time.system for time in times)


def bare_speed(format: str, seconds: float, processes: int, *, engine: bool = False) -> list[dict]:
    """What each of so many bare simulator processes did at the same time; with `engine`, ours replaces Showdown's."""
    from sparring.games.pokemon.setup import NODE_FOLDER, installation

    found = installation()
    script = Path(__file__).with_name("pokemon_bare.js")
    pool = found.pools / format / "0.txt"
    command = [found.node, str(script), format, str(pool), str(seconds), str(seconds / 2)]
    command += [str(NODE_FOLDER / "engine")] if engine else []
    runs = [subprocess.Popen(command, env=found.environment(), stdout=subprocess.PIPE) for _ in range(processes)]
    return [json.loads(run.communicate()[0]) for run in runs]


def costs(format: str, *, rows: int) -> None:
    """What tracking, encoding and masking cost, on recorded requests."""
    import numpy as np

    from sparring.core import RandomPlayer
    from sparring.games.pokemon import PokemonArena, PokemonSettings, simulator
    from sparring.games.pokemon.actions import action_space
    from sparring.games.pokemon.damage import DAMAGE_FIELDS, DamageEstimate
    from sparring.games.pokemon.formats import find_format
    from sparring.games.pokemon.observation import ObservationRows
    from sparring.games.pokemon.requests import next_request
    from sparring.games.pokemon.simulator import Asked
    from sparring.games.pokemon.tracker import Tracker

    arena = PokemonArena(PokemonSettings(format=format), matches=16, seed=0)
    recorded: list[Asked] = []
    told: list[str] = []
    heard = arena.simulator.wait

    def tell(text, last):
        told.append(text)
        return next_request(text, last)

    def listen(timeout=None):
        events = heard(timeout)
        recorded.extend(event for event in events if isinstance(event, Asked))
        return events

    arena.simulator.wait, simulator.next_request = listen, tell
    player = RandomPlayer(0)
    while len(recorded) < rows:
        decisions, _ = arena.wait()
        if len(decisions):
            arena.act(decisions, player.act(decisions).action)
    arena.close()
    simulator.next_request = next_request

    known = find_format(format)
    space, memory = action_space(known), ObservationRows(64)
    offers, tracking = [], []
    for _ in range(3):
        offers.clear()
        trackers: dict[tuple[int, int], Tracker] = {}
        last: dict[tuple[int, int], dict] = {}
        start = time.process_time()
        for number, (event, text) in enumerate(zip(recorded, told, strict=True)):
            seat = event.battle, event.side
            tracker = trackers.get(seat)
            if tracker is None:
                tracker = trackers[seat] = Tracker(known.tables, f"p{event.side + 1}")
            tracker.lines(event.lines.split("\n"))
            request = last[seat] = next_request(text, last.get(seat, {}))
            tracker.request(request)
            tracker.write(memory, number % 64)
            offers.append(bytes(tracker.offer))
        tracking.append((time.process_time() - start) / len(recorded))
    measure.figure(f"{format}: track and encode, raw", 1e6 * min(tracking), "us/decision", limit=120)

    rows, masking = np.frombuffer(b"".join(offers), np.uint8).reshape(len(offers), -1), []
    for _ in range(3):
        start = time.process_time()
        for first in range(0, len(rows), BATCH):
            space.mask(rows[first : first + BATCH])
        masking.append((time.process_time() - start) / len(rows))
    measure.figure(f"{format}: legal mask, {BATCH} rows at once", 1e6 * min(masking), "us/decision", limit=10)

    estimate = DamageEstimate(known)
    damage = {name: field.zeros(64) for name, field in DAMAGE_FIELDS.items()}
    estimate.write(memory.fields, damage)
    estimating = []
    for _ in range(5):
        start = time.process_time()
        estimate.write(memory.fields, damage)
        estimating.append((time.process_time() - start) / 64)
    full = min(tracking) + min(estimating)
    measure.figure(f"{format}: track and encode, full", 1e6 * full, "us/decision", limit=400)


def memory(*, battles: int, seconds: float) -> None:
    """Memory of one more concurrent battle, and whether it grows as battles go by."""
    import psutil

    from sparring.core import RandomPlayer
    from sparring.games.pokemon import PokemonArena, PokemonSettings

    few, many = 16, 208
    used = {}
    for matches in (few, many):
        before = psutil.Process().memory_info().rss
        arena = PokemonArena(PokemonSettings(), matches=matches, seed=0)
        play(arena, seconds=seconds)
        node = sum(psutil.Process(pid).memory_info().rss for pid in arena.simulator.pids)
        used[matches] = node + psutil.Process().memory_info().rss - before
        arena.close()
    measure.figure("memory of a concurrent battle", (used[many] - used[few]) / (many - few) / 2**20, "MB", limit=5)

    arena, player = PokemonArena(PokemonSettings(), matches=MATCHES, seed=0), RandomPlayer(0)
    sizes, ended = [], 0
    while ended < battles:
        decisions, results = arena.wait()
        if len(decisions):
            arena.act(decisions, player.act(decisions).action)
        if (ended + len(results)) * 10 // battles > ended * 10 // battles:
            node = sum(psutil.Process(pid).memory_info().rss for pid in arena.simulator.pids)
            sizes.append((node + psutil.Process().memory_info().rss) / 2**20)
        ended += len(results)
    arena.close()
    measure.figure("memory after a fifth of the battles", sizes[1], "MB", battles=battles // 5)
    measure.figure("memory at the end", sizes[-1], "MB", battles=battles, ratio=sizes[-1] / sizes[1])


def whole_pipe(*, seconds: float) -> None:
    """Self-play of a small network on both seats, episodes written to a store."""
    import torch

    from sparring.games.pokemon import GAME, PokemonNetwork, PokemonSettings
    from sparring.inference import Device, InferenceEngine, NetworkPlayer
    from sparring.rollout import Collector, everyone
    from sparring.rollout.store import EpisodeStore

    torch.set_num_threads(1)
    matches = 128
    settings = PokemonSettings()
    spec = GAME.spec(settings)
    engine = InferenceEngine(spec, slots=2 * matches, device=Device.pick("cpu"), seed=0)
    engine.add("main", GAME.policy(spec, PokemonNetwork(width=64, layers=0)))
    arena = GAME.arena(settings, matches=matches, seed=0)
    collector = Collector(arena, {"main": NetworkPlayer(engine, "main")}, everyone(0, 2), record=["main"])
    with tempfile.TemporaryDirectory() as folder:
        store = EpisodeStore(Path(folder) / "episodes", spec)
        collector.collect(2_000)
        start, before, rows = time.perf_counter(), collector.counters.matches, collector.counters.decisions
        while time.perf_counter() - start < seconds:
            store.append(collector.collect(4_096))
        wall = time.perf_counter() - start
    battles = (collector.counters.matches - before) / wall * 3600
    arena.close()
    measure.figure(
        "gen1randombattle self-play, network, episodes saved",
        battles,
        "battles/hour",
        peer="an earlier team",
        reference=EARLIER_TEAM,
        ratio=battles / EARLIER_TEAM,
    )
    measure.figure("the same", (collector.counters.decisions - rows) / wall, "decisions/s")


def run_peer(format: str, port: int, seconds: float) -> dict:
    command = [sys.executable, __file__, "--peer", format, str(port), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180 + 6 * seconds)
    if done.returncode:
        measure.say(done.stderr[-2000:])
        raise SystemExit("poke-env did not run")
    return json.loads(done.stdout.splitlines()[-1])


async def poke_env_speed(format: str, port: int, seconds: float) -> dict:
    """Two of poke-env's RandomPlayers, ten battles at a time."""
    from poke_env import AccountConfiguration, ServerConfiguration
    from poke_env.player import RandomPlayer

    counted = {"decisions": 0}

    class Counting(RandomPlayer):
        def choose_move(self, battle):
            counted["decisions"] += 1
            return super().choose_move(battle)

    server = ServerConfiguration(f"ws://localhost:{port}/showdown/websocket", "https://localhost/action.php?")
    name = random.randrange(10**6)
    players = [
        Counting(
            battle_format=format,
            server_configuration=server,
            account_configuration=AccountConfiguration(f"bench{name}{side}", None),
            max_concurrent_battles=10,
            log_level=50,
        )
        for side in "ab"
    ]
    battles = asyncio.create_task(players[0].battle_against(players[1], n_battles=100_000))
    while counted["decisions"] < 200:
        await asyncio.sleep(0.1)
    counted["decisions"], start = 0, time.perf_counter()
    await asyncio.sleep(seconds)
    rate = {"decisions": counted["decisions"], "seconds": time.perf_counter() - start}
    battles.cancel()
    return rate


if __name__ == "__main__":
    main()
