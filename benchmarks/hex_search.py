"""How close self-play by search comes to the pure forward limit of its network, and what it costs in memory.

The limit is the same network, backend, threads and batch 512 fed with nothing but encoded positions, taken in turns
with the search in the same run. With one thread both are timed in CPU seconds, so a busy machine hits neither.
"""

import os
import time

import numpy as np
import torch

import measure
from sparring.core.settings import convert
from sparring.games.hex.game import GAME
from sparring.games.hex.model import HexModel
from sparring.inference import Device, InferenceEngine
from sparring.rollout import Collector, everyone
from sparring.search import GumbelSettings, MinimaxSettings, PlaySettings, PuctSettings
from sparring.search.seating import search_player

EARLIER_GOAL, EARLIER_BASELINE = 5000, 917
"""Boards a second: the goal of the earlier team's plan and where it started, on its own GPU."""
BATCH = 512


def resident() -> float:
    """Resident megabytes of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Table:
    """An arena, an engine and a search player around one network."""

    def __init__(self, size, channels, blocks, search, *, matches, opening, backend, seed=0, play=None):
        settings = convert({"size": size, "opening": opening}, GAME.settings, where="hex")
        spec = GAME.spec(settings)
        torch.manual_seed(seed)
        network = convert({"channels": channels, "blocks": blocks}, GAME.network, where="network")
        self.engine = InferenceEngine(
            spec,
            slots=2 * matches,
            device=Device.pick("cpu"),
            seed=seed,
            backend=backend,
            say=measure.say,
        )
        self.engine.add("main", GAME.policy(spec, network))
        self.player = search_player(
            self.engine, "main", search, play=play or PlaySettings(temperature=1.0, temperature_moves=6), seed=seed
        )
        self.model = HexModel(spec)
        self.collector = Collector(GAME.arena(settings, matches=matches, seed=seed), {"a": self.player}, everyone(0, 2))
        positions = np.random.default_rng(seed).integers(0, 3, (BATCH, size * size))
        planes = np.stack([positions == 1, positions == 2], axis=1).astype(np.uint8).reshape(BATCH, 2, size, size)
        self.rows = {"planes": planes}, np.ones((BATCH, spec.actions), np.bool_)

    def forward(self, clock) -> float:
        """Boards a second of one batch."""
        start = clock()
        self.engine.evaluate("main", *self.rows)
        return BATCH / (clock() - start)

    def move(self, clock) -> float:
        """Network evaluations a second in one move of all matches."""
        counters = self.player.evaluator.counters
        asked, start = counters.asked, clock()
        self.collector.advance()
        return (counters.asked - asked) / (clock() - start)


def compare(name, table: Table, moves: int, clock) -> None:
    table.forward(clock)
    table.move(clock)
    sides = {
        "forward": lambda: table.forward(clock),
        "move": lambda: table.move(clock),
        "forward again": lambda: table.forward(clock),
    }
    found = measure.in_turns(sides, moves)
    report = table.player.report()
    limit, rate = float(np.median(found["forward"] + found["forward again"])), float(np.median(found["move"]))
    measure.figure(f"{name}: pure forward, batch {BATCH}", limit, "boards/s")
    measure.figure(
        f"{name}: evaluations in self-play",
        rate,
        "boards/s",
        limit=limit,
        ratio=rate / limit,
        earlier_goal=EARLIER_GOAL,
        earlier_baseline=EARLIER_BASELINE,
    )
    measure.figure(f"{name}: mean batch", report["search_batch"], "boards")
    measure.figure(f"{name}: network calls a move", report["calls_per_move"], "calls")
    measure.figure(f"{name}: cache hits", report["cache_hits"], "of positions")
    measure.figure(f"{name}: resident memory", resident(), "MB")


def games_per_second(size: int, moves: int, clock, backend: str, simulations: int) -> None:
    """Decisions a second with search, over the decisions a match has when the network alone plays it."""
    search = GumbelSettings(simulations=simulations, gumbel_scale=1.0, reuse_tree=False)
    table = Table(size, 32, 4, search, matches=512, opening=4, backend=backend)
    table.move(clock)
    start = clock()
    before = table.collector.counters.decisions
    for _ in range(moves):
        table.collector.advance()
    rate = (table.collector.counters.decisions - before) / (clock() - start)
    quick = Table(
        size, 32, 4, search, matches=64, opening=0, backend="torch", play=PlaySettings(resign=1e-9, resign_checks=0.0)
    )
    quick.collector.play(64)
    length = quick.collector.counters.decisions / quick.collector.counters.matches
    days = 500_000 * length / rate / 86400
    measure.figure(
        f"{size}x{size} 32x4 net, {simulations} simulations", rate / length, "games/s", decisions_per_game=length
    )
    measure.figure(f"{size}x{size}: 500,000 games on this core", days, "days")


def memory(games: int) -> None:
    """Growth of resident memory over many matches after the first tenth."""
    search = GumbelSettings(simulations=2, gumbel_scale=1.0)
    table = Table(4, 8, 1, search, matches=256, opening=0, backend="torch")
    table.collector = Collector(
        GAME.arena(convert({"size": 4}, GAME.settings, where="hex"), matches=256, seed=0),
        {"a": table.player},
        everyone(0, 2),
        record=["a"],
        keep_policy=True,
    )

    def play(until: int) -> float:
        while table.collector.counters.matches < until:
            table.collector.collect(1)
        return resident()

    first, last = play(games // 10), play(games)
    measure.figure(f"memory growth from {games // 10:,} to {games:,} games", last / first - 1, "share", megabytes=last)


def main() -> None:
    parser = measure.parser(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", choices=["auto", "torch", "openvino"], default="auto")
    parser.add_argument("--games", type=int, default=640, help="concurrent matches")
    parser.add_argument("--only", choices=["gumbel", "puct", "minimax", "games", "memory"], default=None)
    options = measure.parse(parser)
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    simulations, moves = (8, 1) if options.quick else (64, 3)
    board = {"matches": options.games, "opening": 6, "backend": options.backend}

    def wanted(part: str) -> bool:
        return options.only in (None, part) and not (options.quick and options.only is None and part == "puct")

    if wanted("gumbel"):
        search = GumbelSettings(simulations=simulations, gumbel_scale=1.0, reuse_tree=False)
        compare(f"11x11 64x6 gumbel {simulations}", Table(11, 64, 6, search, **board), moves, clock)
    if wanted("puct"):
        search = PuctSettings(simulations=simulations, dirichlet_fraction=0.25)
        compare(f"11x11 64x6 puct {simulations}", Table(11, 64, 6, search, **board), moves, clock)
    if wanted("minimax"):
        table = Table(7, 32, 4, MinimaxSettings(widths=(5, 4)), **board)
        compare("7x7 32x4 minimax [5, 4]", table, 1 if options.quick else 5, clock)
    if wanted("games"):
        for size in (7,) if options.quick else (7, 9, 11):
            games_per_second(size, 1 if options.quick else 4, clock, options.backend, 16)
    if wanted("memory"):
        memory(1_000 if options.quick else 10_000)


if __name__ == "__main__":
    main()
