"""What playing in worker processes costs or wins: decisions a second of self-play, in process against workers.

The same matches of Hex 7x7 (and of Pokémon gen 1, where its simulator is installed) with the same network. In process
is the limit that workers are measured against; with a free second core they may exceed it.
"""

import argparse
import json
import os
import sys
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from sparring.core import Arena, Game, InputError, load_game
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.rollout import Collector, WorkerArena, everyone

GAMES = {
    "hex": ({"size": 7}, {"channels": 32, "blocks": 4}, 256),
    "pokemon": ({"format": "gen1randombattle"}, {}, 64),
}


class Side:
    """A collector on an arena, measured in turns with others."""

    def __init__(self, game: Game, network: dict[str, object], arena: Arena) -> None:
        self.arena = arena
        policy = game.policy(arena.spec, convert(network, game.network, where="network"))
        engine = InferenceEngine(arena.spec, slots=arena.matches * 2, device=Device.pick("cpu"), seed=0)
        engine.add("main", policy)
        player = NetworkPlayer(engine, "main")
        self.collector = Collector(arena, {"main": player}, everyone(0, 2), record=["main"])
        self.best = 0.0

    def run(self, seconds: float) -> None:
        counters = self.collector.counters
        start, before = perf_counter(), counters.decisions
        while perf_counter() - start < seconds:
            self.collector.collect(1)
        self.best = max(self.best, (counters.decisions - before) / (perf_counter() - start))


def measure(name: str, workers: list[int], seconds: float, rounds: int) -> list[dict[str, object]]:
    settings_data, network, matches = GAMES[name]
    game = load_game(name)
    settings = convert(settings_data, game.settings, where=name)
    sides = {0: Side(game, network, game.arena(settings, matches=matches, seed=0))}
    for count in workers:
        arena = WorkerArena(game, settings, matches=matches, seed=0, workers=count)
        sides[count] = Side(game, network, arena)
    try:
        for turn in range(rounds + 1):
            for side in sides.values():
                side.run(seconds if turn else 2 * seconds)
                if turn == 0:
                    side.best = 0.0  # the first turn warms up
    finally:
        for side in sides.values():
            side.arena.close()
    limit = sides[0].best
    figures: list[dict[str, object]] = [{"figure": f"{name}: in process", "value": limit}]
    for count in workers:
        value = sides[count].best
        figure = f"{name}: {count} worker{'s' * (count > 1)}, shared memory"
        figures.append({"figure": figure, "value": value, "limit": limit, "ratio": value / limit})
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    for name in GAMES:
        try:
            figures = measure(name, [1, 2], seconds=1.5 if quick else 5.0, rounds=2 if quick else 5)
        except InputError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        for figure in figures:
            print(json.dumps({**figure, "unit": "decisions/s"}), flush=True)
            ratio = f"{figure['ratio']:8.2f}" if "ratio" in figure else ""
            print(f"{figure['figure']:<40}{figure['value']:>12,.0f}{ratio}", file=sys.stderr)


if __name__ == "__main__":
    main()
