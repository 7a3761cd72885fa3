"""The policy server under attack at full size: `python -m tests.torture.server --messages 1000000 --floods 1000`.

A server process, two honest clients that compare every answer with an engine of their own, and beside them fuzzed
messages, flood-and-reset connections, endless messages and requests full of NaN. Prints figures; fails if the server
exits, an answer is wrong, or its memory has grown by 50 MB in the end.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import psutil
import torch

from sparring.core import Decisions, load_game
from sparring.core.settings import convert
from sparring.inference import Device, InferenceEngine
from sparring.serving import RemotePlayer, server_status
from sparring.serving.models import ModelSource
from sparring.serving.server import PolicyServer, ServerSettings
from tests.torture.attacks import FLOODS, Fuzzer, endless_message, flood_and_reset, game_specs, send_fuzzed

CPU = Device("cpu", "float32")
NETWORKS = {
    "hex": {"channels": 8, "blocks": 1, "memory": "lstm"},
    "leduc": {"width": 16, "memory": "lstm"},
    "pokemon": {"width": 32, "layers": 0},
}
HONEST = ("hex", "leduc")
GROWTH = 50 << 20
ONE_SEED = Lock()
"""Torch has one random state for all threads."""


def source(name: str) -> ModelSource:
    """The same network in every process and thread."""
    game = load_game(name)
    spec = game.spec(game.settings())
    with ONE_SEED, torch.no_grad():
        torch.manual_seed(1)
        policy = game.policy(spec, convert(NETWORKS[name], game.network, where=name))
        for parameter in policy.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return ModelSource(name, spec, policy, 1)


def serve() -> None:
    """The server's process."""
    torch.set_num_threads(1)
    server = PolicyServer([source(name) for name in NETWORKS], device=CPU, settings=ServerSettings(), port=0)
    print(server.address, flush=True)
    parent = os.getppid()
    server.run(lambda: os.getppid() != parent)
    server.close()


@dataclass
class Honest:
    """A client that plays one game and knows the right answers."""

    address: str
    game: str
    stop: Event
    rows: int = 0
    wrong: int = 0
    slowest: float = 0.0
    lost: int = 0
    hellos: int = 0
    errors: list[str] = field(default_factory=list)
    pause: float = 0.0
    """Seconds between two requests."""

    def play(self) -> None:
        """Until told to stop."""
        game, matches = load_game(self.game), 8
        arena = game.arena(game.settings(), matches=matches, seed=0)
        engine = InferenceEngine(arena.spec, slots=matches * arena.spec.seats, device=CPU, seed=5)
        engine.add("main", source(self.game).policy)
        player = RemotePlayer(self.address, self.game, arena.spec, matches=matches, seed=5, keep_policy=True)
        try:
            while not self.stop.is_set():
                decisions, results = arena.wait()
                if len(results):
                    player.forget(results.match)
                right = engine.answer(decisions, "main", keep_policy=True)
                start = monotonic()
                got = player.act(decisions)
                self.slowest = max(self.slowest, monotonic() - start)
                same = (got.action == right.action) & (np.abs(got.policy - right.policy) < 1e-4).all(axis=1)
                self.rows += len(decisions)
                self.wrong += int((~same).sum())
                arena.act(decisions, right.action)
                self.lost, self.hellos = player.counters.lost, player.counters.hellos
                sleep(self.pause)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
        player.close()


def poison(address: str, requests: int) -> int:
    """Asks with NaN in the observation; returns how many requests were refused."""
    spec = source("leduc").spec
    refused = 0
    for number in range(requests):
        player = RemotePlayer(address, "leduc", spec, matches=8)
        rows = Decisions(
            match=np.arange(8, dtype=np.int32),
            seat=np.zeros(8, np.int32),
            observation={name: np.full_like(part.zeros(8), np.nan) for name, part in spec.observation.items()},
            legal=np.ones((8, spec.actions), np.bool_),
            reward=np.zeros(8, np.float32),
            first=np.full(8, number % 2 == 0),
        )
        try:
            player.act(rows)
        except Exception as error:
            refused += "not finite" in str(error)
        player.close()
    return refused


def attack(address: str, *, messages: int, floods: int, flood_messages: int, endless: int, seed: int) -> dict[str, int]:
    """Everything at the same time; returns what was sent."""
    fuzzer = Fuzzer(game_specs(), [*NETWORKS, "absent"], seed)
    sent = {"fuzzed": messages, "floods": floods}

    def flood(start: int) -> None:
        for number in range(start, floods, 4):
            flood_and_reset(address, flood_messages, FLOODS[number % len(FLOODS)])

    def rest() -> None:
        sent["nan_refused"] = poison(address, max(10, floods // 10))
        sent["endless_bytes"] = sum(endless_message(address, size, 1 << 30) for size in (200_000, 1000, 1)[:endless])

    threads = [Thread(target=flood, args=(start,)) for start in range(4)] + [Thread(target=rest)]
    for thread in threads:
        thread.start()
    sent["answered"] = send_fuzzed(address, fuzzer, messages)
    for thread in threads:
        thread.join()
    return sent


def drain(address: str, server: subprocess.Popen[str], settled: Callable[[], bool], patience: float = 600.0) -> float:
    """Waits until the server has read all that was sent, and for a while until it has given back what is free.

    Returns the seconds that reading took.
    """
    start = monotonic()
    refused = -1
    while server.poll() is None and monotonic() - start < patience:
        now = server_status(address, timeout=60).refused
        if now == refused:
            break
        refused = now
        sleep(1)
    taken = monotonic() - start
    deadline = monotonic() + 8
    while not settled() and monotonic() < deadline:
        sleep(0.1)
    return taken


def torture(
    *, messages: int, floods: int, flood_messages: int, endless: int, seed: int, pause: float = 0.0
) -> dict[str, object]:
    """The whole attack; the figures. `pause`: seconds that honest clients leave between two requests."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.torture.server", "--serve"]
    server = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    process = psutil.Process(server.pid)
    stop = Event()
    clients = [Honest(address, game, stop, pause=pause) for game in HONEST]
    players = [Thread(target=client.play) for client in clients]
    for player in players:
        player.start()
    peak = 0

    def watch() -> None:
        nonlocal peak
        while not stop.wait(0.1) and process.is_running():
            if server.poll() is None:
                peak = max(peak, process.memory_info().rss)

    while any(client.rows < 100 and not client.errors for client in clients) and server.poll() is None:
        sleep(0.1)
    before = process.memory_info().rss
    watcher = Thread(target=watch)
    watcher.start()
    start = monotonic()
    sent: dict[str, int] = {}
    if server.poll() is None:
        sent = attack(
            address, messages=messages, floods=floods, flood_messages=flood_messages, endless=endless, seed=seed
        )
    seconds = monotonic() - start
    drained = drain(address, server, lambda: process.memory_info().rss - before < GROWTH)
    after = process.memory_info().rss if server.poll() is None else 0
    report = server_status(address) if server.poll() is None else None
    stop.set()
    for player in [*players, watcher]:
        player.join(90)
    exits = int(server.poll() is not None)
    server.kill()
    server.wait()
    return {
        **sent,
        "seconds": round(seconds, 1),
        "drained_seconds": round(drained, 1),
        "exits": exits,
        "honest_rows": sum(client.rows for client in clients),
        "wrong": sum(client.wrong for client in clients),
        "lost": sum(client.lost for client in clients),
        "hellos": [client.hellos for client in clients],
        "slowest_seconds": round(max(client.slowest for client in clients), 2),
        "errors": [error for client in clients for error in client.errors],
        "refused": None if report is None else report.refused,
        "growth_mb": round((after - before) / 2**20, 1),
        "peak_growth_mb": round((peak - before) / 2**20, 1),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--floods", type=int, default=1000)
    parser.add_argument("--flood-messages", type=int, default=20_000)
    parser.add_argument("--endless", type=int, default=3, help="endless messages: 1 to 3")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    torch.set_num_threads(1)
    figures = torture(
        messages=options.messages,
        floods=options.floods,
        flood_messages=options.flood_messages,
        endless=options.endless,
        seed=options.seed,
    )
    print(json.dumps(figures, indent=2))
    good = not (figures["exits"] or figures["wrong"] or figures["errors"] or not figures["honest_rows"])
    sys.exit(0 if good and float(str(figures["growth_mb"])) * 2**20 < GROWTH else 1)


if __name__ == "__main__":
    main()
