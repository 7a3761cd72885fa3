"""Training end to end: decisions learned a second for pokemon-gen1, and the learner beside its own network.

Three questions. How many decisions a second are played and learned from, collecting and learning in turns or
overlapped, and where the time goes. How fast the learner is beside a plain forward and backward pass of the same
network on the same rows, which nothing can beat. What actors gain and lose in lower precision.
"""

from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
import psutil
import torch

import measure
from sparring.core import Episodes, masked_log_softmax
from sparring.core.rows import nested
from sparring.inference import Device
from sparring.inference.quantised import Int8Step
from sparring.learn.batches import batches
from sparring.learn.ppo import Ppo, PpoSettings
from sparring.training.config import load_config
from sparring.training.self_play import SelfPlay

PRESET = "pokemon-gen1"
CPU = Device("cpu", "float32")
BATCH = 1024
ROWS_OF_ACTORS = (64, 256)
SPREAD = 2.0
"""Standard deviation of the logits that actors are compared on."""


def open_training(*, overlap: bool, quick: bool) -> SelfPlay:
    overrides = ["threads=1", f"overlap={str(overlap).lower()}", "evaluation.background=false"]
    if quick:
        overrides += ["matches=64", "learner.batch_size=4096"]
    config, game = load_config(PRESET, overrides)
    return SelfPlay(config, game, {}, say=lambda text: None)


@dataclass(frozen=True)
class Run:
    """Some updates after the first, collecting and learning."""

    rate: float
    """Decisions learned a second."""
    busy: float
    """Cores kept busy, Node's included."""
    shares: dict[str, float]
    """Of wall time, by stage, in the last update."""

    @property
    def cost(self) -> float:
        """CPU microseconds a decision."""
        return 1e6 * self.busy / self.rate


def cpu_so_far() -> float:
    """CPU seconds that this process and its children have spent."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(time.user + time.system for time in times)


def end_to_end(*, overlap: bool, quick: bool) -> tuple[Run, Episodes | None]:
    """A run, and rows to try the learner on if it was synchronous."""
    training = open_training(overlap=overlap, quick=quick)
    try:
        training.advance()
        done, spent, start = training.decisions, cpu_so_far(), perf_counter()
        for _ in range(2 if quick else 6):
            metrics = training.advance()
        seconds = perf_counter() - start
        shares = nested(metrics)["time"]
        run = Run((training.decisions - done) / seconds, (cpu_so_far() - spent) / seconds, shares)
        name = "overlapped" if overlap else "synchronous"
        measure.say(f"{name}: {run.rate:,.0f} decisions/s, {run.busy:.2f} cores busy")
        return run, None if overlap else training.playing.collect(4096)
    finally:
        training.close()


def learner_alone(episodes: Episodes, *, quick: bool) -> None:
    """The learner beside plain passes over the same rows."""
    config, game = load_config(PRESET, [])
    spec = episodes.spec
    network = game.network(**config.network)
    settings = PpoSettings(epochs=1, minibatch_size=BATCH, target_kl=100.0)
    learner = Ppo(game.policy(spec, network), settings, device=CPU, seed=0)
    plain = game.policy(spec, network)
    ready = list(batches(episodes, minibatch_size=BATCH, device=CPU, rng=np.random.default_rng(0)))

    def passes() -> None:
        for batch in ready:
            plain.zero_grad(set_to_none=True)
            output = plain.unroll(batch.observation, batch.legal, batch.memory)
            (output.logits.square().mean() + output.value.square().mean()).backward()

    sides = {"plain": passes, "learner": lambda: learner.update(episodes, progress=0.0)}
    spent = measure.in_turns(
        {name: partial(measure.cpu_seconds, side) for name, side in sides.items()}, 3 if quick else 8
    )
    limit, rate = (episodes.rows / min(seconds) for seconds in spent.values())
    measure.figure("plain forward and backward", limit, "rows/CPU-s")
    measure.figure("PPO learner, one epoch", rate, "rows/CPU-s", limit=limit, ratio=rate / limit)


def actors(episodes: Episodes, *, quick: bool) -> None:
    """Forward passes in float32, bfloat16 and int8: how fast, and how far the distributions lie apart."""
    config, game = load_config(PRESET, [])
    torch.manual_seed(0)
    policy = game.policy(episodes.spec, game.network(**config.network)).eval()
    observation = {
        name: torch.from_numpy(rows[: max(ROWS_OF_ACTORS)]) for name, rows in episodes.steps.observation.items()
    }
    legal = torch.from_numpy(episodes.unpack_legal(slice(max(ROWS_OF_ACTORS))))
    with torch.no_grad():  # logits are linear in the query: as spread as a trained policy's
        spread = float(policy.step(observation, legal, {}).logits[legal].std())
        policy.head.query.weight.mul_(SPREAD / spread)
        policy.head.query.bias.mul_(SPREAD / spread)
    rounded = Int8Step(policy)

    def float32(rows: int) -> torch.Tensor:
        return policy.step({name: field[:rows] for name, field in observation.items()}, legal[:rows], {}).logits

    def bfloat16(rows: int) -> torch.Tensor:
        with Device("cpu", "bfloat16").autocast():
            return float32(rows)

    def int8(rows: int) -> torch.Tensor:
        return rounded({name: field[:rows] for name, field in observation.items()}, legal[:rows], {}).logits

    sides = {"float32": float32, "bfloat16": bfloat16, "int8": int8}
    with torch.inference_mode():
        for rows in ROWS_OF_ACTORS:
            calls = {name: partial(measure.cpu_seconds, partial(side, rows)) for name, side in sides.items()}
            spent = measure.in_turns(calls, 5 if quick else 30)
            for name, seconds in spent.items():
                ratio = min(spent["float32"]) / min(seconds)
                measure.figure(f"actor forward of {rows} rows, {name}", rows / min(seconds), "rows/CPU-s", ratio=ratio)
        exact = masked_log_softmax(float32(len(legal)), legal, xp=torch)
        for name in ("bfloat16", "int8"):
            found = masked_log_softmax(sides[name](len(legal)).float(), legal, xp=torch)
            divergence = torch.where(legal, exact.exp() * (exact - found), 0.0).sum(-1)
            measure.figure(f"actor in {name}: mean KL divergence from float32", float(divergence.mean()), "nats")
            measure.figure(f"actor in {name}: largest KL divergence", float(divergence.max()), "nats")
            same = (exact.argmax(-1) == found.argmax(-1)).float().mean()
            measure.figure(f"actor in {name}: same likeliest action", float(same), "share of rows")


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    torch.set_num_threads(1)
    sides = {
        "synchronous": partial(end_to_end, overlap=False, quick=quick),
        "overlapped": partial(end_to_end, overlap=True, quick=quick),
    }
    runs = measure.in_turns(sides, 1 if quick else 3)
    found = {name: max((run for run, _ in done), key=lambda run: run.rate) for name, done in runs.items()}
    for name, run in found.items():
        ratio = run.rate / found["synchronous"].rate
        beside = {"peer": "synchronous", "ratio": ratio} if name == "overlapped" else {}
        measure.figure(f"{PRESET} decisions learned, {name}", run.rate, "1/s", **beside)
        measure.figure(f"{PRESET} {name}: busy", run.busy, "cores")
        measure.figure(f"{PRESET} {name}: cost", run.cost, "CPU us a decision")
        for stage, share in run.shares.items():
            measure.figure(f"{PRESET} {name}: {stage}", share, "share of wall time")
    _, episodes = runs["synchronous"][-1]
    assert episodes is not None
    learner_alone(episodes, quick=quick)
    actors(episodes, quick=quick)


if __name__ == "__main__":
    main()
