"""The guard against getting slower: each part beside the limit that nothing can beat, and the floor of their ratio.

    python benchmarks/guard.py [--quick]

Ours and the limit take turns in CPU time of one thread, so that a slow or busy machine slows both; the ratio of the two
is the program's own. `floors.json` holds the least that each ratio may be: about two thirds of what it usually is, so
that a part that takes twice as long is found and noise is not. `make test-all` runs this.
"""

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from numba import njit

import measure
from sparring.core import Arena, RandomPlayer, load_game
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.learn.batches import batches
from sparring.learn.ppo import Ppo, PpoSettings
from sparring.rollout import Collector, everyone
from sparring.rollout.store import EpisodeStore

FLOORS = Path(__file__).with_name("floors.json")
MATCHES, BATCH = 512, 512
CPU = Device("cpu", "float32")


def hex_game() -> tuple:
    game = load_game("hex")
    settings = convert({"size": 7}, game.settings, where="hex")
    torch.manual_seed(0)
    policy = game.policy(game.spec(settings), convert({"channels": 16, "blocks": 2}, game.network, where="network"))
    return game, settings, policy


@njit
def plain_rows(boards: np.ndarray, planes: np.ndarray, legal: np.ndarray) -> None:
    """Stones to planes and masks, and nothing else: `int8[k, cells]` to `[k, 2, cells]` and `[k, cells]`."""
    for row in range(len(boards)):
        for cell in range(boards.shape[1]):
            stone = boards[row, cell]
            planes[row, 0, cell] = stone == 1
            planes[row, 1, cell] = stone == 2
            legal[row, cell] = stone == 0


def encoding(arena: Arena, *, waits: int) -> tuple[Callable[[], float], Callable[[], float]]:
    """Showing rows, beside a plain loop over as many boards, compiled alike: a copy's speed is the memory's."""
    player = RandomPlayer(0)

    def ours() -> float:
        spent = 0.0
        for _ in range(waits):
            found = []
            spent += measure.cpu_seconds(lambda: found.append(arena.wait()[0]))  # noqa: B023 - called at once
            arena.act(found[0], player.act(found[0]).action)
        return spent

    rows, _ = arena.wait()
    arena.act(rows, player.act(rows).action)
    k, cells = len(rows), rows.observation["planes"][0, 0].size
    boards = np.random.default_rng(0).integers(3, size=(k, cells), dtype=np.int8)
    planes, legal = np.zeros((k, 2, cells), np.uint8), np.zeros((k, cells), np.bool_)

    def limit() -> float:
        def show() -> None:
            for _ in range(waits):
                plain_rows(boards, planes, legal)

        return measure.cpu_seconds(show)

    return ours, limit


def ratios(*, rounds: int, arena: Arena | None = None) -> dict[str, tuple[float, float, float]]:
    """By part: its rate and the limit's, for each CPU second, and their median ratio. `arena` replaces Hex's."""
    game, settings, policy = hex_game()
    spec = game.spec(settings)
    arena = arena or game.arena(settings, matches=MATCHES, seed=0)
    engine = InferenceEngine(spec, slots=2 * MATCHES, device=CPU, seed=0)
    engine.add("main", policy)
    playing = game.arena(settings, matches=MATCHES, seed=1)
    collector = Collector(playing, {"main": NetworkPlayer(engine, "main")}, everyone(0, 2), record=["main"])
    episodes = collector.collect(4 * BATCH)
    decisions, _ = game.arena(settings, matches=BATCH, seed=2).wait()
    inputs = {name: torch.from_numpy(array) for name, array in decisions.observation.items()}
    legal = torch.from_numpy(decisions.legal)

    def forward() -> None:
        with torch.inference_mode():
            policy.step(inputs, legal, {})

    learner = Ppo(hex_game()[2], PpoSettings(epochs=1, minibatch_size=BATCH, learning_rate=1e-9), device=CPU, seed=0)
    plain = hex_game()[2]
    ready = list(batches(episodes, minibatch_size=BATCH, device=CPU, rng=np.random.default_rng(0)))

    def passes() -> None:
        for batch in ready:
            plain.zero_grad(set_to_none=True)
            output = plain.unroll(batch.observation, batch.legal, batch.memory)
            (output.logits.square().mean() + output.value.square().mean()).backward()

    with tempfile.TemporaryDirectory() as folder, EpisodeStore(Path(folder) / "store", spec) as store:
        flat = np.concatenate([array.reshape(-1).view(np.uint8) for array in episodes.steps.observation.values()])

        def write() -> None:
            store.append(episodes).unlink()

        def bare_write() -> None:
            with (Path(folder) / "bare").open("wb") as file:
                file.write(flat.tobytes())

        waits = 50
        showing, looping = encoding(arena, waits=waits)
        cpu = measure.cpu_seconds
        sides: dict[str, tuple[Callable[[], float], Callable[[], float], int]] = {
            "hex encoding, beside a plain loop": (showing, looping, waits * MATCHES),
            "inference engine, beside the bare forward pass": (
                partial(cpu, partial(engine.answer, decisions, "main")),
                partial(cpu, forward),
                BATCH,
            ),
            "PPO learner, beside plain passes": (
                partial(cpu, partial(learner.update, episodes, progress=0.0)),
                partial(cpu, passes),
                episodes.rows,
            ),
            "episode store, beside a bare file": (partial(cpu, write), partial(cpu, bare_write), episodes.rows),
        }
        for ours, limit, _ in sides.values():
            ours(), limit()
        turns = {f"{name}|{side}": pair[number] for name, pair in sides.items() for number, side in enumerate("ab")}
        found = measure.in_turns(turns, rounds)
    result = {}
    for name, (_, _, rows) in sides.items():
        pairs = list(zip(found[f"{name}|a"], found[f"{name}|b"], strict=True))
        ours, limit = (median(values) for values in zip(*pairs, strict=True))
        result[name] = (rows / ours, rows / limit, median(there / here for here, there in pairs))
    return result


def too_slow(found: dict[str, tuple[float, float, float]]) -> list[str]:
    """A line for each part whose ratio is below its floor, with both figures."""
    floors: dict[str, float] = json.loads(FLOORS.read_text())
    return [
        f"{name}: {ours:,.0f} of {limit:,.0f} rows/CPU-s is {ratio:.3f} of the limit; the floor is {floors[name]}"
        for name, (ours, limit, ratio) in found.items()
        if ratio < floors[name]
    ]


def main() -> None:
    quick = measure.parse(measure.parser(__doc__)).quick
    torch.set_num_threads(1)
    found = ratios(rounds=5 if quick else 25)
    floors: dict[str, float] = json.loads(FLOORS.read_text()) if FLOORS.exists() else {}
    for name, (ours, limit, ratio) in found.items():
        measure.figure(name, ours, "rows/CPU-s", limit=limit, ratio=ratio, floor=floors.get(name))
    for line in too_slow(found) if floors else []:
        raise SystemExit(line)


if __name__ == "__main__":
    main()
