"""How much of a network's speed reaches players in other processes: policy server, shared memory, and peers.

The limit is the bare forward pass at batch 64, one thread, in the same run. Every figure is given twice: rows a second,
and rows a second of CPU time of the process that holds the network, which is what remains when others use the machine.
Two networks: the small MLP, where
everything around the forward weighs most, and a transformer of five million weights. Client sessions live in two
processes, as on a machine with two cores. TorchRL's server runs its own threads in one process; it has an
environment of its own in the cache folder. Ray Serve is measured if ray is installed.
"""

import argparse
import os
import subprocess
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import NamedTuple

import msgspec
import numpy as np
import psutil
import torch
from torch import Tensor, nn

import measure
import sparring
from sparring.core import Decisions, Field, GameSpec, Results
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.policy import Output
from sparring.rollout import Collector, WorkerArena, everyone
from sparring.serving import RemotePlayer, server_status
from sparring.serving.models import ModelSource
from sparring.serving.server import PolicyServer, ServerSettings

WIDTH, ACTIONS, BATCH, CLIENTS = 512, 32, 64, 8
SPEC = GameSpec("standing", {}, 1, ACTIONS, {"features": Field((WIDTH,), "float32")})
CPU = Device("cpu", "float32")
TORCHRL = ("torchrl==0.14.1", "tensordict==0.15.3", "pyvers==0.2.3")


class Mlp(nn.Module):
    """512-512-512-32."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(WIDTH, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, ACTIONS)
        )

    def initial_memory(self, rows: int) -> dict[str, Tensor]:
        return {}

    def step(self, observation: dict[str, Tensor], legal: Tensor, memory: dict[str, Tensor]) -> Output:
        logits = self.body(observation["features"])
        return Output(logits, logits[:, 0], {})


class Transformer(Mlp):
    """Sixteen tokens, six layers of width 256: about 4.8 million weights."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Linear(WIDTH // 16, 256)
        layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.body = nn.Linear(256, ACTIONS)

    def step(self, observation: dict[str, Tensor], legal: Tensor, memory: dict[str, Tensor]) -> Output:
        tokens = self.entry(observation["features"].unflatten(1, (16, -1)))
        logits = self.body(self.layers(tokens).mean(1))
        return Output(logits, logits[:, 0], {})


NETWORKS = {"mlp": Mlp, "transformer": Transformer}


def network(name: str) -> nn.Module:
    torch.manual_seed(0)
    return NETWORKS[name]().eval()


class NoSettings(msgspec.Struct, frozen=True):
    """The standing game has no options."""


class StandingArena:
    """Rows that never change: costs nothing to step, so that only the way to the network is measured."""

    spec = SPEC

    def __init__(self, matches: int, seed: int) -> None:
        self.matches = matches
        self._rows = decisions(matches, seed)

    def wait(self) -> tuple[Decisions, Results]:
        return self._rows, Results.none(1)

    def act(self, rows: Decisions, actions: np.ndarray) -> None:
        self._rows.first[:] = False

    def close(self) -> None:
        pass


class StandingGame:
    """Just enough of a game for workers to play."""

    name = "standing"

    def spec(self, settings: NoSettings) -> GameSpec:
        return SPEC

    def arena(self, settings: NoSettings, *, matches: int, seed: int) -> StandingArena:
        return StandingArena(matches, seed)


def decisions(rows: int, seed: int = 0) -> Decisions:
    rng = np.random.default_rng(seed)
    return Decisions(
        match=np.arange(rows, dtype=np.int32),
        seat=np.zeros(rows, np.int32),
        observation={"features": rng.standard_normal((rows, WIDTH), np.float32)},
        legal=np.ones((rows, ACTIONS), np.bool_),
        reward=np.zeros(rows, np.float32),
        first=np.ones(rows, np.bool_),
    )


class Speed(NamedTuple):
    """Rows a second, and rows a second of the CPU time that the network's own process took."""

    wall: float
    cpu: float


def timed(step: Callable[[], int], seconds: float) -> Speed:
    """The speed of `step`, which returns how many rows it did."""
    step()
    start, cpu = perf_counter(), process_time()
    rows = 0
    while perf_counter() - start < seconds:
        rows += step()
    return Speed(rows / (perf_counter() - start), rows / max(process_time() - cpu, 1e-9))


def forward_limit(name: str, seconds: float, rows: int = BATCH) -> Speed:
    """The bare forward pass."""
    policy, batch = network(name), decisions(rows)
    features, legal = {"features": torch.from_numpy(batch.observation["features"])}, torch.from_numpy(batch.legal)

    def step() -> int:
        with torch.inference_mode():
            policy.step(features, legal, {})
        return rows

    return timed(step, seconds)


def in_process_single(name: str, seconds: float) -> Speed:
    """An engine in the player's own process, asked about one row at a time."""
    engine = InferenceEngine(SPEC, slots=1, device=CPU, seed=0)
    engine.add("main", network(name))
    row = decisions(1)
    return timed(lambda: len(engine.answer(row, "main").action), seconds)


def shared_memory(name: str, seconds: float) -> Speed:
    """Four workers with two groups of eight matches each; the engine reads their rows in shared memory."""
    engine = InferenceEngine(SPEC, slots=BATCH, device=CPU, seed=0)
    engine.add("main", network(name))
    arena = WorkerArena(StandingGame(), NoSettings(), matches=BATCH, seed=0, workers=4)
    collector = Collector(arena, {"main": NetworkPlayer(engine, "main")}, everyone(0, 1))
    try:
        for _ in range(50):
            collector.advance()

        def step() -> int:
            before = collector.counters.decisions
            collector.advance()
            return collector.counters.decisions - before

        return timed(step, seconds)
    finally:
        arena.close()


def serve(name: str, batch_size: int, line: object) -> None:
    """The server's process."""
    torch.set_num_threads(1)
    server = PolicyServer(
        [ModelSource("main", SPEC, network(name), 0)],
        device=CPU,
        settings=ServerSettings(batch_size=batch_size),
        port=0,
        say=lambda text: None,
    )
    line.send(server.address)
    server.run(line.poll)
    server.close()


def ask(address: str, sessions: int, rows: int, in_flight: int, line: object) -> None:
    """A process of `sessions` clients; counts the rows answered between two messages on `line`."""
    batch = decisions(rows)
    halves = [batch] * in_flight
    players = [RemotePlayer(address, "main", SPEC, matches=rows, in_flight=in_flight) for _ in range(sessions)]
    out = [(player, player.submit(half)) for half in halves for player in players]
    batch.first[:] = False
    line.send("ready")
    counting, done, start = False, 0, 0.0
    while True:
        player, number = out.pop(0)
        player.collect(number)
        out.append((player, player.submit(batch)))
        done += rows
        if line.poll():
            line.recv()
            if counting:
                break
            counting, done, start = True, 0, perf_counter()
            for one in players:
                one.counters.waits.clear()
    line.send((done / (perf_counter() - start), [wait for one in players for wait in one.counters.waits]))
    for one in players:
        one.close()


def through_server(name: str, seconds: float, *, rows: int, in_flight: int, batch_size: int) -> dict[str, float]:
    """Rows a second, mean batch and latencies of eight clients."""
    context = get_context("spawn")
    server_line, theirs = context.Pipe()
    server = context.Process(target=serve, args=(name, batch_size, theirs), daemon=True)
    server.start()
    address = server_line.recv()
    clients = []
    for _ in range(2):
        ours, theirs = context.Pipe()
        client = context.Process(target=ask, args=(address, CLIENTS // 2, rows, in_flight, theirs), daemon=True)
        client.start()
        clients.append((client, ours))
    for _, line in clients:
        line.recv()
    sleep(0.3)
    before = server_status(address).models["main"]
    cpu = sum(psutil.Process(server.pid).cpu_times()[:2])
    for _, line in clients:
        line.send("count")
    sleep(seconds)
    for _, line in clients:
        line.send("stop")
    answers = [line.recv() for _, line in clients]
    cpu = sum(psutil.Process(server.pid).cpu_times()[:2]) - cpu
    after = server_status(address).models["main"]
    server_line.send("stop")
    for client, _ in clients:
        client.join(5)
    server.join(5)
    waits = np.concatenate([wait for _, wait in answers])
    return {
        "rows": sum(rate for rate, _ in answers),
        "cpu": (after.rows - before.rows) / max(cpu, 0.01),
        "batch": (after.rows - before.rows) / max(1, after.forwards - before.forwards),
        "p50": float(np.percentile(waits, 50)),
        "p99": float(np.percentile(waits, 99)),
    }


def torchrl_server(name: str, seconds: float, rows: int) -> float | None:
    """TorchRL's InferenceServer with eight client threads of `rows` rows a request; None if it cannot be installed."""
    try:
        python = measure.peer_python("torchrl-0.14.1", (), without_dependencies=TORCHRL)
    except subprocess.CalledProcessError as error:
        measure.say(f"TorchRL's server is left out: {error}")
        return None
    command = [python, __file__, "--torchrl", name, str(seconds), str(rows)]
    environment = {**os.environ, "PYTHONPATH": str(Path(sparring.__file__).parents[1])}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, env=environment)
    if done.returncode:
        measure.say(f"TorchRL's server failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return float(done.stdout.split()[-1])


def run_torchrl(name: str, seconds: float, rows: int) -> None:
    """Runs inside the peer's own folder of packages; prints rows a second."""
    from threading import Event, Thread

    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torchrl.modules.inference_server import InferenceServer

    torch.set_num_threads(1)
    policy = network(name)

    def forward(features: Tensor) -> Tensor:
        flat = features.reshape(-1, WIDTH)
        with torch.inference_mode():
            return policy.step({"features": flat}, flat, {}).logits.reshape(*features.shape[:-1], ACTIONS).clone()

    module = TensorDictModule(forward, in_keys=["obs"], out_keys=["logits"])
    counts, stop = [0] * CLIENTS, Event()
    shape = (rows, WIDTH) if rows > 1 else (WIDTH,)
    with InferenceServer(module, transport="auto", max_batch_size=max(1, BATCH // rows)) as server:

        def play(number: int) -> None:
            client, data = server.client(), TensorDict({"obs": torch.randn(*shape)})
            while not stop.is_set():
                client(data)
                counts[number] += rows

        threads = [Thread(target=play, args=(number,), daemon=True) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        sleep(0.5)
        before, start = sum(counts), perf_counter()
        sleep(seconds)
        while sum(counts) - before < 10 * BATCH and perf_counter() - start < 60:
            sleep(0.1)
        print((sum(counts) - before) / (perf_counter() - start), flush=True)
        stop.set()
        os._exit(0)


def ray_serve(name: str, seconds: float) -> float | None:
    """Ray Serve with batches of 32, eight requests in flight; None without ray."""
    try:
        import ray
        from ray import serve as ray_server
    except ImportError:
        return None

    @ray_server.deployment(ray_actor_options={"num_cpus": 1})
    class Served:
        def __init__(self) -> None:
            torch.set_num_threads(1)
            self.policy = network(name)

        @ray_server.batch(max_batch_size=32, batch_wait_timeout_s=0.005)
        async def __call__(self, rows: list[np.ndarray]) -> list[np.ndarray]:
            features = torch.from_numpy(np.stack(rows))
            with torch.inference_mode():
                return list(self.policy.step({"features": features}, features, {}).logits.numpy())

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    handle = ray_server.run(Served.bind())
    row = np.random.default_rng(0).standard_normal(WIDTH, np.float32)
    rate = timed(lambda: len([one.result() for one in [handle.remote(row) for _ in range(CLIENTS)]]), seconds).wall
    ray_server.shutdown()
    ray.shutdown()
    return rate


def compare(name: str, *, seconds: float, rounds: int) -> None:
    """All figures of one network: sides in turns, the best of `rounds`."""
    ask_server = partial(through_server, name, seconds)
    sides = {
        "forward": lambda: forward_limit(name, seconds),
        "single": lambda: in_process_single(name, seconds / 2),
        "many": lambda: ask_server(rows=8, in_flight=2, batch_size=BATCH),
        "forward again": lambda: forward_limit(name, seconds),
        "one row": lambda: ask_server(rows=1, in_flight=1, batch_size=BATCH),
        "alone": lambda: ask_server(rows=1, in_flight=1, batch_size=1),
        "shared": lambda: shared_memory(name, seconds),
    }
    if name != "transformer":
        del sides["alone"]
    found = measure.in_turns(sides, rounds)
    limits = found["forward"] + found["forward again"]
    limit, cpu_limit = (max(speed[part] for speed in limits) for part in (0, 1))
    best, single = (max(found[side], key=lambda run: run["rows"]) for side in ("many", "one row"))
    measure.figure(f"{name}: forward, batch {BATCH}", limit, "rows/s")
    measure.figure(f"{name}: forward, batch {BATCH}, of CPU time", cpu_limit, "rows/CPU-s")

    def add(figure: str, wall: float, cpu: float, **more: object) -> None:
        measure.figure(f"{name}: {figure}", wall, "rows/s", limit=limit, ratio=wall / limit, **more)
        measure.figure(f"{name}: {figure}, of CPU time", cpu, "rows/CPU-s", limit=cpu_limit, ratio=cpu / cpu_limit)

    def served(figure: str, run: dict[str, float]) -> None:
        late = {"p50_ms": 1000 * run["p50"], "p99_ms": 1000 * run["p99"], "mean_batch": run["batch"]}
        add(figure, run["rows"], run["cpu"], **late)

    add("in process, batch 1", *max(found["single"]))
    served("server, 8 clients x 1 row", single)
    served("server, 8 clients x 8 rows x 2 in flight", best)
    add("shared memory, 4 workers", *max(found["shared"]))
    if "alone" in found:
        slow = max(found["alone"], key=lambda run: run["rows"])
        served("server that answers one row at a time", slow)
        for part, unit in (("rows", "times"), ("cpu", "times, of CPU time")):
            measure.figure(f"{name}: gain of batching", best[part] / slow[part], unit)
    one_row_peer, eight_row_peer = (torchrl_server(name, seconds, rows) for rows in (1, 8))
    for ours, peer, how in (
        (single, one_row_peer, "8 clients x 1 row both"),
        (best, one_row_peer, "8x8x2 against its 8 clients x 1 row"),
        (best, eight_row_peer, "8x8x2 against its 8 clients x 8 rows"),
    ):
        if peer:
            beside = {"peer": "TorchRL", "reference": peer, "ratio": ours["rows"] / peer}
            measure.figure(f"{name}: server and TorchRL's, {how}", ours["rows"], "rows/s", **beside)
    peer = ray_serve(name, seconds)
    if peer is not None:
        beside = {"peer": "Ray Serve", "reference": peer, "ratio": single["rows"] / peer}
        measure.figure(f"{name}: server against Ray Serve", single["rows"], "rows/s", **beside)


def main() -> None:
    parser = measure.parser(__doc__)
    parser.add_argument("--network", choices=list(NETWORKS), default=None)
    parser.add_argument("--torchrl", nargs=3, help=argparse.SUPPRESS)
    options = measure.parse(parser)
    torch.set_num_threads(1)
    if options.torchrl:
        name, seconds, rows = options.torchrl
        return run_torchrl(name, float(seconds), int(rows))
    names = [options.network] if options.network else ["mlp"] if options.quick else list(NETWORKS)
    for name in names:
        compare(name, seconds=1.0 if options.quick else 4.0, rounds=1 if options.quick else 3)


if __name__ == "__main__":
    main()
