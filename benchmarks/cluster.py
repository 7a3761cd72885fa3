"""What a second collector of a Ray cluster brings, what limits a run then, and what handing episodes over costs.

Two simulated nodes of this machine, with one CPU each; runs with one collector, with two, and with two that ask the
run's own policy server take turns. The learner has no CPU of its own here: collectors, their simulators and it share
the machine. `collect` is the part of the time that the learner waits for episodes, `busy` the part that collectors
play, `cores` how many of the machine's were at work: where all are, they limit the run, whoever waits.

A piece of episodes goes through Ray's object store as the plain arrays that it is, and as an Arrow stream.
"""

import os
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np
import psutil
import pyarrow as pa
import ray
import torch
from ray.cluster_utils import Cluster

import measure
from sparring.core import Episodes
from sparring.core.rows import flatten, nested
from sparring.rollout.collector import Counters
from sparring.rollout.fleet import Piece
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


def to_arrow(episodes: Episodes) -> pa.Buffer:
    """Headers and steps as two Arrow streams, a column an array; rows of an array are fixed-size lists."""
    sink = pa.BufferOutputStream()
    for group in nested(episodes.columns()).values():
        columns = {}
        for name, array in flatten(group).items():
            values = np.ascontiguousarray(array)
            column = pa.array(values.reshape(-1).view(np.uint8) if values.dtype == np.bool_ else values.reshape(-1))
            columns[name] = column if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(column, array[0].size)
        batch = pa.RecordBatch.from_pydict(columns)
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
    return sink.getvalue()


def from_arrow(buffer: pa.Buffer) -> list[np.ndarray]:
    """Its columns, without a copy where Arrow needs none."""
    source, found = pa.BufferReader(buffer), []
    for _ in range(2):
        for column in pa.ipc.open_stream(source).read_next_batch().columns:
            flat = column.flatten() if pa.types.is_fixed_size_list(column.type) else column
            found.append(flat.to_numpy(zero_copy_only=True))
    return found


def hand_over(episodes: Episodes, rounds: int) -> None:
    """What a piece weighs and how long it takes, written and read, both ways in turns."""
    piece = Piece.of(episodes, Counters())

    def plain() -> None:
        found = ray.get(ray.put(piece)).episodes(episodes.spec)
        assert found is not None

    def arrow() -> None:
        from_arrow(ray.get(ray.put(to_arrow(episodes))))

    sides: dict[str, Callable[[], None]] = {"plain arrays": plain, "Arrow": arrow}
    weights = {"plain arrays": sum(array.nbytes for array in piece.columns.values()), "Arrow": to_arrow(episodes).size}
    found = measure.in_turns({name: partial(_seconds, call) for name, call in sides.items()}, rounds)
    reference = median(found["plain arrays"])
    for name, seconds in found.items():
        took, weight = median(seconds), weights[name]
        of = f"{episodes.rows:,} decisions"
        measure.figure(f"{of} as {name}", weight, "bytes", ratio=weight / weights["plain arrays"])
        measure.figure(f"{of} as {name}: put and got", 1000 * took, "ms", ratio=took / reference)


def _seconds(call: Callable[[], None]) -> float:
    start = perf_counter()
    call()
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
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        hand_over(pieces[-1], 20 if quick else 100)
    finally:
        ray.shutdown()
        cluster.shutdown()
    one = median(each["rate"] for each in found["1 collector"])
    for name, rounds in found.items():
        rate = median(each["rate"] for each in rounds)
        measure.figure(f"{PRESET}, {name}", rate, "decisions/s", peer="1 collector", ratio=rate / one)
        for stage in STAGES:
            measure.figure(f"{PRESET}, {name}: {stage}", median(each[stage] for each in rounds), "share of the time")
        measure.figure(f"{PRESET}, {name}: players", median(each["players"] for each in rounds), "share of playing")
        measure.figure(f"{PRESET}, {name}: cores", median(each["cores"] for each in rounds), "cores at work")
        measure.figure(f"{PRESET}, {name}: policy lag", median(each["lag"] for each in rounds), "updates")


if __name__ == "__main__":
    main()
