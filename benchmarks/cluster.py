"""What a second collector of a Ray cluster brings, and what limits a run then: decisions learned a second.

Two simulated nodes of this machine, with one CPU each; runs with one and with two collectors take turns. The learner
has no CPU of its own here: two collectors, their simulators and it share two cores. `collect` is the part of the time
that the learner waits for episodes, `busy` the part that collectors play; where both are high, playing limits.
"""

import os
from functools import partial
from statistics import median
from time import perf_counter

import torch
from ray.cluster_utils import Cluster

import measure
from sparring.training.config import load_config
from sparring.training.self_play import SelfPlay

PRESET = "pokemon-gen1"
COLLECTORS = (1, 2)
_STORE = 200 * 2**20


def run(address: str, collectors: int, seconds: float, overrides: list[str]) -> dict[str, float]:
    """Decisions learned a second, and shares of the time."""
    cluster = [f"cluster.address={address}", f"cluster.collectors={collectors}"]
    config, game = load_config(PRESET, ["threads=1", "overlap=false", *overrides, *cluster])
    training = SelfPlay(config, game, {}, say=measure.say)
    try:
        training.start()
        while training.advance()["play/collectors"] < collectors:  # until all play
            pass
        done, start, stages = training.decisions, perf_counter(), dict(training.stages.seconds)
        played = training.playing.busy_seconds
        while perf_counter() - start < seconds:
            training.advance()
        wall = perf_counter() - start
        spent = {stage: (total - stages.get(stage, 0.0)) / wall for stage, total in training.stages.seconds.items()}
        busy = (training.playing.busy_seconds - played) / wall / collectors
        return {"rate": (training.decisions - done) / wall, "busy": busy, **spent}
    finally:
        training.close()


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    torch.set_num_threads(1)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    overrides = ["matches=64", "learner.batch_size=2048"] if quick else []
    node = {"num_cpus": 1, "object_store_memory": _STORE}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        sides = {
            f"{count} collectors": partial(run, cluster.address, count, 10.0 if quick else 30.0, overrides)
            for count in COLLECTORS
        }
        found = measure.in_turns(sides, 1 if quick else 3)
    finally:
        cluster.shutdown()
    one = median(each["rate"] for each in found["1 collectors"])
    for name, rounds in found.items():
        rate = median(each["rate"] for each in rounds)
        measure.figure(f"{PRESET}, {name}", rate, "decisions/s", peer="1 collector", ratio=rate / one)
        for stage in ("collect", "learn", "publish", "busy"):
            measure.figure(f"{PRESET}, {name}: {stage}", median(each[stage] for each in rounds), "share of the time")


if __name__ == "__main__":
    main()
