"""How fast imitation learns: its rows beside a bare forward and backward pass of the same network on the same rows.

The bare pass has the rows packed and on the device already, and takes no optimiser step. The loader is a dataset of
windows in its own process: it must serve rows faster than the learner takes them. All in CPU time, sides in turns.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch

import measure
from dataset import make_store
from sparring.core import Episodes, load_game
from sparring.data import Dataset
from sparring.games.pokemon import PokemonNetwork
from sparring.inference import Device
from sparring.learn.batches import packed_batches, unroll
from sparring.learn.imitation import Imitation, ImitationSettings

LENGTH = 128
"""Decisions of a packed sequence."""


def learner(episodes: Episodes, size: str, minibatch: int, device: Device) -> Callable[[], float]:
    """Rows a second of an imitation update, from episodes to new weights."""
    policy = load_game("pokemon").policy(episodes.spec, PokemonNetwork(kind="transformer", size=size))
    settings = ImitationSettings(minibatch_size=minibatch, segment_length=LENGTH)
    made = Imitation(policy, settings, device=device, seed=0)
    return lambda: episodes.rows / measure.cpu_seconds(lambda: made.update(episodes, progress=0.5))


def bare(episodes: Episodes, size: str, minibatch: int, device: Device) -> Callable[[], float]:
    """Rows a second of forward and backward passes alone."""
    policy = load_game("pokemon").policy(episodes.spec, PokemonNetwork(kind="transformer", size=size))
    rng = np.random.default_rng(0)
    batches = list(packed_batches(episodes, minibatch_size=minibatch, length=LENGTH, device=device, rng=rng))

    def passes() -> None:
        for batch in batches:
            output = unroll(policy, batch, device)
            (output.logits.float().square().mean() + output.value.float().mean()).backward()
            policy.zero_grad(set_to_none=True)

    return lambda: episodes.rows / measure.cpu_seconds(passes)


def loader(folder: Path) -> Callable[[], float]:
    """Rows a second that a dataset serves as windows."""
    data = Dataset(folder, batch_size=16, length=LENGTH)
    return lambda: data.rows / measure.cpu_seconds(lambda: [None for _ in data.epoch()])


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    torch.set_num_threads(1)
    for dtype in ("float32",) if quick else ("float32", "bfloat16"):
        device = Device.pick("cpu", dtype)
        with tempfile.TemporaryDirectory() as folder:
            store = make_store("pokemon", Path(folder), rows=1_000, files=4)
            batch = next(Dataset(store, batch_size=8 if quick else 16, length=LENGTH).batches())
            for size in ("tiny",) if quick else ("tiny", "small"):
                sides = {
                    "learner": learner(batch.episodes, size, 512, device),
                    "bare": bare(batch.episodes, size, 512, device),
                    "loader": loader(store),
                }
                found = {side: median(values) for side, values in measure.in_turns(sides, 3).items()}
                what = f"imitation, {size}, {dtype}"
                ratio = found["learner"] / found["bare"]
                measure.figure(f"{what}, learner", found["learner"], "rows/CPU-s", limit=found["bare"], ratio=ratio)
                ratio = found["loader"] / found["learner"]
                measure.figure(
                    f"{what}, loader beside the learner's need",
                    found["loader"],
                    "rows/CPU-s",
                    limit=found["learner"],
                    ratio=ratio,
                )


if __name__ == "__main__":
    main()
