"""Several policies of one shape: one stacked forward pass against one pass after another, by policies and rows each."""

from functools import partial
from time import perf_counter

import numpy as np
import torch

import measure
from sparring.core import load_game
from sparring.inference import Device
from sparring.inference.stack import stacked
from sparring.policy.network import build_network

GAMES = {"leduc": {"width": 64, "layers": 2}, "rocket": {}, "pokemon": {}}
ROUNDS = 6


def compare(name: str, policies: int, rows: int) -> None:
    """Prints the ratio of the two ways' best times."""
    game, device = load_game(name), Device.pick("cpu")
    spec = game.spec(game.settings())
    modules = [build_network(GAMES[name], game, spec).eval() for _ in range(policies)]
    stack = stacked(modules, spec, device)
    if stack is None:
        measure.say(f"{name}: torch cannot stack it")
        return
    total = policies * rows
    observation = {key: torch.from_numpy(field.zeros(total)) for key, field in spec.observation.items()}
    legal, memory = torch.ones(total, spec.actions, dtype=torch.bool), modules[0].initial_memory(total)
    step = stack.step(np.repeat(np.arange(policies), rows), np.full(policies, rows))

    def one_after_another() -> None:
        for number, module in enumerate(modules):
            part = slice(number * rows, (number + 1) * rows)
            module.step(
                {key: field[part] for key, field in observation.items()},
                legal[part],
                {key: state[part] for key, state in memory.items()},
            )

    def timed(call: object) -> float:
        start = perf_counter()
        call()  # type: ignore[operator]
        return perf_counter() - start

    with torch.inference_mode():
        sides = {"stacked": partial(step, observation, legal, memory), "apart": one_after_another}
        best = {
            side: min(times)
            for side, times in measure.in_turns({k: partial(timed, v) for k, v in sides.items()}, ROUNDS).items()
        }
    figure = f"{name}, {policies} policies of {rows} rows, rows/s stacked"
    apart = total / best["apart"]
    measure.figure(
        figure, total / best["stacked"], "rows/s", peer="apart", reference=apart, ratio=best["apart"] / best["stacked"]
    )


def main() -> None:
    quick = measure.parse(measure.parser(__doc__, quick="Leduc alone")).quick
    torch.set_num_threads(1)
    for name in ("leduc",) if quick else GAMES:
        for policies in (2, 8, 20):
            for rows in (8, 32, 128):
                compare(name, policies, rows)


if __name__ == "__main__":
    main()
