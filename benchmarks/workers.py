"""What playing in worker processes costs or wins: decisions a second of self-play, in process against workers.

The same matches of Hex 7x7 (and of Pokémon gen 1, where its simulator is installed) with the same network. In process
is the limit that workers are measured against; with a free second core they may exceed it.
"""

from functools import partial
from time import perf_counter

import torch

import measure
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

    def run(self, seconds: float) -> float:
        """Decisions a second."""
        counters = self.collector.counters
        start, before = perf_counter(), counters.decisions
        while perf_counter() - start < seconds:
            self.collector.collect(1)
        return (counters.decisions - before) / (perf_counter() - start)


def compare(name: str, workers: list[int], seconds: float, rounds: int) -> None:
    settings_data, network, matches = GAMES[name]
    game = load_game(name)
    settings = convert(settings_data, game.settings, where=name)
    sides = {f"{name}: in process": Side(game, network, game.arena(settings, matches=matches, seed=0))}
    for count in workers:
        arena = WorkerArena(game, settings, matches=matches, seed=0, workers=count)
        sides[f"{name}: {count} worker{'s' * (count > 1)}, shared memory"] = Side(game, network, arena)
    try:
        for side in sides.values():
            side.run(2 * seconds)  # warms up
        rates = measure.in_turns({label: partial(side.run, seconds) for label, side in sides.items()}, rounds)
    finally:
        for side in sides.values():
            side.arena.close()
    limit = max(rates[f"{name}: in process"])
    for number, (label, found) in enumerate(rates.items()):
        beside = {"limit": limit, "ratio": max(found) / limit} if number else {}
        measure.figure(label, max(found), "decisions/s", **beside)


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    torch.set_num_threads(1)
    for name in GAMES:
        try:
            compare(name, [1, 2], seconds=1.5 if quick else 5.0, rounds=2 if quick else 5)
        except InputError as error:
            measure.say(f"{name}: left out: {error}")


if __name__ == "__main__":
    main()
