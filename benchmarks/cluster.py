"""What a second collector of a Ray cluster brings, what limits a run then, and what handing episodes over costs.

Two simulated nodes of this machine, with one CPU each; runs with one collector, with two, and with two that ask the
run's own policy server take turns. The learner has no CPU of its own here: collectors, their simulators and it share
the machine. `collect` is the part of the time that the learner waits for episodes, `busy` the part that collectors
play, `cores` how many of the machine's were at work: where all are, they limit the run, whoever waits.

A piece of episodes goes through Ray's object store as the Arrow that it is, and as plain arrays.
"""

import os
from functools import partial
from statistics import median
from time import perf_counter

import psutil
import ray
import torch
from ray.cluster_utils import Cluster

import measure
from sparring.core import Episodes
from sparring.rollout.collector import Counters
from sparring.rollout.fleet import Piece
from sparring.rollout.wire import to_arrow
from sparring.training.config import load_config
from sparring.training.self_play import SelfPlay

PRESET = "pokemon-gen1"
SIDES = {
    "1 collector": ["cluster.collectors=1"],
    "2 collectors": ["cluster.collectors=2"],
    "2 collectors that ask": ["cluster.collectors=2", "cluster.server=tcp://127.0.0.1:0"],
}
STAGES = ("collect", "learn", "publish", "busy")
_STORE = 200 * 2**20


def cores_at_work() -> float:
    """CPU seconds that all processes of the machine have used so far."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def run(
    address: str, side: list[str], seconds: float, overrides: list[str], pieces: list[Episodes]
) -> dict[str, float]:
    """Decisions learned a second, and shares of the time; the last episodes are added to `pieces`."""
    config, game = load_config(PRESET, ["threads=1", "overlap=false", *overrides, *side, f"cluster.address={address}"])
    training = SelfPlay(config, game, {}, say=measure.say)
    try:
        training.start()
        while (metrics := training.advance())["play/collectors"] < config.cluster.collectors:  # until all play
            pass
        done, start, stages = training.decisions, perf_counter(), dict(training.stages.seconds)
        played, used = training.playing.busy_seconds, cores_at_work()
        while perf_counter() - start < seconds:
            metrics = training.advance()
        wall = perf_counter() - start
        cores = (cores_at_work() - used) / wall
        rate = (training.decisions - done) / wall
        spent = {stage: (total - stages.get(stage, 0.0)) / wall for stage, total in training.stages.seconds.items()}
        busy = (training.playing.busy_seconds - played) / wall / config.cluster.collectors
        pieces.append(training.playing.collect(1024))
        return {
            "rate": rate,
            "busy": busy,
            "cores": cores,
            "lag": metrics["play/policy_lag"],
            "players": metrics["play/collector_players"],
            **spent,
        }
    finally:
        training.close()


def hand_over(episodes: Episodes, rounds: int) -> None:
    """What a piece weighs and how long it takes, put and got, both ways in turns."""
    piece = Piece.of(episodes, Counters())
    sides: dict[str, object] = {"plain arrays": dict(piece.columns), "Arrow": piece}
    plain = sum(array.nbytes for array in piece.columns.values())
    weights = {"plain arrays": plain, "Arrow": len(to_arrow(piece.columns))}
    found = measure.in_turns({name: partial(_seconds, what) for name, what in sides.items()}, rounds)
    for name, seconds in found.items():
        of, took = f"{episodes.rows:,} decisions as {name}", median(seconds)
        measure.figure(of, weights[name], "bytes", ratio=weights[name] / plain)
        measure.figure(f"{of}: put and got", 1000 * took, "ms", ratio=took / median(found["plain arrays"]))


def _seconds(what: object) -> float:
    """To hand over `what` through Ray's object store, on this host."""
    start = perf_counter()
    ray.get(ray.put(what))
    return perf_counter() - start


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    torch.set_num_threads(1)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    overrides = ["matches=64", "learner.batch_size=2048"] if quick else []
    node = {"num_cpus": 1, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    pieces: list[Episodes] = []
    try:
        cluster.add_node(**node)
        sides = {
            name: partial(run, cluster.address, side, 10.0 if quick else 30.0, overrides, pieces)
            for name, side in SIDES.items()
        }
        found = measure.in_turns(sides, 2 if quick else 3)
        one = median(each["rate"] for each in found["1 collector"])
        for name, rounds in found.items():
            rate = median(each["rate"] for each in rounds)
            measure.figure(f"{PRESET}, {name}", rate, "decisions/s", peer="1 collector", ratio=rate / one)
            for stage in STAGES:
                measure.figure(
                    f"{PRESET}, {name}: {stage}", median(each[stage] for each in rounds), "share of the time"
                )
            measure.figure(f"{PRESET}, {name}: players", median(each["players"] for each in rounds), "share of playing")
            measure.figure(f"{PRESET}, {name}: cores", median(each["cores"] for each in rounds), "cores at work")
            measure.figure(f"{PRESET}, {name}: policy lag", median(each["lag"] for each in rounds), "updates")
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        hand_over(pieces[-1], 20 if quick else 100)
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
