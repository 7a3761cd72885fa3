"""NashConv against updates: R-NaD beside plain self-play PPO and PPO with a magnet, on Kuhn and Leduc poker.

Every learner trains its preset's network on its preset's game, on one thread. NashConv is exact: what two perfect
opponents would win off the rated policy together. Seconds are CPU seconds of the process, measuring included.
"""

import argparse
import json
import sys
import time

import torch

from sparring.training.config import load_config
from sparring.training.self_play import SelfPlay


def curve(preset: str, label: str, *, updates: int, every: int, bar: float | None = None) -> None:
    """Trains and prints NashConv every `every` updates; at the end beside `bar`, what it should come below."""
    config, game = load_config(preset, ["threads=1"])
    training = SelfPlay(config, game, say=lambda text: None)
    began = time.process_time()
    try:
        for update in range(updates + 1):
            if update % every == 0:
                found = training.rater.nash_conv(training.checkpoint())
                assert found is not None
                line = {"figure": f"{label} nash_conv", "value": round(found, 4), "unit": "chips", "update": update}
                spent = time.process_time() - began
                print(json.dumps(line | {"decisions": training.decisions, "cpu_seconds": round(spent, 1)}), flush=True)
                print(f"{label:14} update {update:6}  {spent:7.1f} s  {found:.4f}", file=sys.stderr)
            if update < updates:
                training.advance()
        if bar is not None:
            last = {"figure": f"{label} last nash_conv", "value": round(found, 4), "unit": "chips", "limit": bar}
            print(json.dumps(last | {"ratio": round(found / bar, 3)}), flush=True)
    finally:
        training.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Kuhn only, few updates")
    quick = parser.parse_args().quick
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
