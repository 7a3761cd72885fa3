"""How much of collecting is the network itself: Hex 7x7 self-play, 512 matches, stage by stage.

The limit is a collector that costs nothing: all wall time inside the network's forward pass.
"""

from time import perf_counter

import torch

import measure
from sparring.core import load_game
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.rollout import Collector, everyone

MATCHES = 512


def run(rows: int) -> dict[str, float]:
    """Shares of wall time and decisions/s of collecting about `rows` rows."""
    game = load_game("hex")
    settings = convert({"size": 7}, game.settings, where="hex")
    spec = game.spec(settings)
    policy = game.policy(spec, convert({"channels": 32, "blocks": 4}, game.network, where="network"))
    seconds = {"network": 0.0}
    step = policy.step

    def timed(*arguments: object) -> object:
        start = perf_counter()
        output = step(*arguments)
        seconds["network"] += perf_counter() - start
        return output

    policy.step = timed
    engine = InferenceEngine(spec, slots=2 * MATCHES, device=Device.pick("cpu"), seed=0)
    engine.add("main", policy)
    arena = game.arena(settings, matches=MATCHES, seed=0)
    collector = Collector(arena, {"main": NetworkPlayer(engine, "main")}, everyone(0, 2), record=["main"])
    collector.collect(MATCHES * 10)
    collector.counters.stages.seconds.clear()
    seconds["network"] = 0.0
    start, before = perf_counter(), collector.counters.decisions
    collector.collect(rows)
    wall = perf_counter() - start
    stages = collector.counters.stages.seconds
    return {
        "decisions_per_second": (collector.counters.decisions - before) / wall,
        "network": seconds["network"] / wall,
        "rest of players": (stages["players"] - seconds["network"]) / wall,
        "arena": stages["arena"] / wall,
        "record": stages["record"] / wall,
    }


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    torch.set_num_threads(1)
    runs = [run(20_000 if quick else 100_000) for _ in range(2 if quick else 4)]
    best = max(runs, key=lambda shares: shares["network"])
    for name, value in best.items():
        unit = "1/s" if name == "decisions_per_second" else "share of wall time"
        beside = {"limit": 1.0, "ratio": value} if name == "network" else {}
        measure.figure(f"hex 7x7 collector, {name}", value, unit, **beside)


if __name__ == "__main__":
    main()
