"""NashConv against updates: R-NaD beside plain self-play PPO and PPO with a magnet, on Kuhn and Leduc poker.

Every learner trains its preset's network on its preset's game, on one thread. NashConv is exact: what two perfect
opponents would win off the rated policy together. Seconds are CPU seconds of the process, measuring included.
"""

import time

import torch

import measure
from sparring.training.config import load_config
from sparring.training.self_play import SelfPlay


def curve(preset: str, label: str, *, updates: int, every: int, bar: float | None = None) -> None:
    """Trains and prints NashConv every `every` updates; at the end beside `bar`, what it should come below."""
    config, game = load_config(preset, ["threads=1"])
    training = SelfPlay(config, game, {}, say=lambda text: None)
    began = time.process_time()
    try:
        for update in range(updates + 1):
            if update % every == 0:
                found = training.rater.nash_conv(training.checkpoint())
                assert found is not None
                spent = time.process_time() - began
                at = {"update": update, "decisions": training.decisions, "cpu_seconds": spent}
                measure.figure(f"{label} nash_conv", found, "chips", **at)
            if update < updates:
                training.advance()
        if bar is not None:
            measure.figure(f"{label} last nash_conv", found, "chips", limit=bar, ratio=found / bar)
    finally:
        training.close()


def main() -> None:
    quick = measure.parse(measure.parser(__doc__, quick="Kuhn only, few updates")).quick
    torch.set_num_threads(1)
    scale = 1 if quick else 8
    curve("kuhn-rnad", "kuhn rnad", updates=150 * scale, every=25 * scale, bar=None if quick else 0.05)
    curve("kuhn-ppo", "kuhn ppo", updates=150 * scale, every=25 * scale)
    if not quick:
        curve("leduc-rnad", "leduc rnad", updates=1600, every=100, bar=0.5)
        curve("leduc-ppo", "leduc ppo", updates=1000, every=100)
        curve("leduc-magnet", "leduc magnet", updates=1000, every=100)


if __name__ == "__main__":
    main()
