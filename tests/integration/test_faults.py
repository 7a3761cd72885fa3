"""Real processes killed in mid-run: nothing hangs, nothing finished is lost or doubled."""

import json
import os
import signal
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest

from sparring.games.pokemon import GAME as POKEMON
from sparring.games.pokemon import PokemonNetwork, PokemonSettings, setup_pokemon
from sparring.policy.checkpoint import Checkpoint, save_checkpoint
from sparring.rollout.store import EpisodeStore, shards
from tests import hex as small
from tests.warm import Process
from tests.warm import run as run_command


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Two recurrent networks of the same shape."""
    folder = tmp_path_factory.mktemp("weights")
    network = {"channels": 8, "blocks": 1, "memory": "lstm"}
    for seed, name in enumerate(("a", "b")):
        weights = small.policy(4, seed, memory="lstm").state_dict()
        save_checkpoint(folder / name, Checkpoint(small.spec(4), network, version=seed, weights=weights, about={}))
    return folder


class Serving:
    """`sparring serve` in a process of its own."""

    def __init__(self, checkpoints, port=0):
        models = [word for name in ("a", "b") for word in ("--model", f"{name}={checkpoints / name}")]
        self.process = Process("serve", *models, "--port", port)
        ready = ""
        while not ready.endswith("\n"):
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.01)
            ready += self.process.stdout.read()
        assert ready.startswith("Ready on tcp://127.0.0.1:"), ready
        assert ready.endswith(": a, b\n")
        self.address = ready.split()[2].rstrip(":")
        self.port = int(self.address.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()


def selfplay(folder, games, *options):
    command = f"selfplay hex --save {folder} --matches {games} --parallel 16 --shard 20 --threads 1 --size 4".split()
    return Process(*command, *options)


def until(condition, process, seconds=200):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def assert_whole(folder, games, spec=None):
    """Exactly `games` matches, each there once, each with both seats, alternating actions of two complete episodes."""
    with EpisodeStore(folder, spec or small.spec(4)) as store:
        assert store.matches == games
        parts = list(store)
    assert np.concatenate([np.unique(part.headers.serial) for part in parts]).tolist() == list(range(games))
    for part in parts:
        assert part.headers.complete.all()
        _, seats = np.unique(part.headers.serial, return_counts=True)
        assert (seats == 2).all()
    return parts


def test_self_play_goes_on_when_its_policy_server_is_killed_and_started_again(checkpoints, tmp_path):
    server = Serving(checkpoints)
    folder = tmp_path / "games"
    run = selfplay(folder, 200, "--model", f"{server.address}/a", "--opponent", f"{server.address}/b")
    try:
        until(lambda: len(shards(folder)) >= 2, run)
        server.kill()
        server = Serving(checkpoints, server.port)
        _, said = run.communicate(timeout=200)
    finally:
        run.kill()
        server.kill()
    assert run.returncode == 0, said
    parts = assert_whole(folder, 200)
    assert parts[0].players == (f"{server.address}/a", f"{server.address}/b")
    assert set(np.concatenate([part.headers.version[part.headers.player == 1] for part in parts])) == {1}
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["failed_matches"] == 0
    assert summary["interval"][0] <= summary["win_rate"] <= summary["interval"][1]
    assert summary["latency_ms"]["p50"] > 0


def test_self_play_goes_on_when_a_worker_is_killed(checkpoints, tmp_path):
    folder = tmp_path / "games"
    run = selfplay(folder, 400, "--model", str(checkpoints / "a"), "--simulations", "0", "--workers", "2")
    try:
        until(lambda: len(shards(folder)) >= 2, run)
        workers = [p for p in psutil.Process(run.pid).children() if "spawn_main" in " ".join(p.cmdline())]
        assert len(workers) == 2
        os.kill(workers[0].pid, signal.SIGKILL)
        _, said = run.communicate(timeout=200)
    finally:
        run.kill()
    assert run.returncode == 0, said
    assert said.count("died (signal 9)") == 1
    assert_whole(folder, 400)
    assert json.loads((folder / "summary.json").read_text())["failed_matches"] > 0
    assert not psutil.pid_exists(workers[1].pid)


def test_workers_end_with_a_parent_that_was_killed(checkpoints, tmp_path):
    run = selfplay(
        tmp_path / "games", 100_000, "--model", str(checkpoints / "a"), "--simulations", "0", "--workers", "2"
    )
    until(lambda: len(shards(tmp_path / "games")) >= 1, run)
    children = psutil.Process(run.pid).children(recursive=True)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    _, left = psutil.wait_procs(children, timeout=20)
    assert not left


def is_simulator(process):
    with suppress(psutil.Error):  # the maker of random teams may just have ended
        return "simulator.js" in " ".join(process.cmdline())
    return False


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_self_play_goes_on_when_a_simulator_process_is_killed(tmp_path, workers):
    setup_pokemon(say=lambda line: None)
    spec, network = POKEMON.spec(PokemonSettings()), {"width": 16, "layers": 0}
    weights = POKEMON.policy(spec, PokemonNetwork(**network)).state_dict()
    save_checkpoint(tmp_path / "net", Checkpoint(spec, network, version=0, weights=weights, about={}))
    folder, games = tmp_path / "games", 96
    command = f"selfplay pokemon --save {folder} --matches {games} --parallel 8 --shard 6 --threads 1 --simulators 2"
    options = ["--model", str(tmp_path / "net"), "--workers", str(workers)]
    run = Process(*command.split(), *options)
    try:
        until(lambda: len(shards(folder)) >= 1, run)
        children = psutil.Process(run.pid).children(recursive=True)
        simulators = [process for process in children if is_simulator(process)]
        assert len(simulators) == (2 if workers == 0 else 4)
        os.kill(simulators[0].pid, signal.SIGKILL)
        _, said = run.communicate(timeout=280)
    finally:
        run.kill()
    assert run.returncode == 0, said
    assert_whole(folder, games, spec)
    summary = json.loads((folder / "summary.json").read_text())
    assert 1 <= summary["failed_matches"] <= 8
    _, left = psutil.wait_procs(simulators, timeout=20)
    assert not left


def test_status_of_a_server_and_of_none(checkpoints):
    server = Serving(checkpoints)
    try:
        report = json.loads(run_command("serve", "--status", server.address, "--json").stdout)
        assert report["models"]["b"]["version"] == 1
    finally:
        server.kill()
    done = run_command("serve", "--status", server.address, "--json")
    assert done.returncode == 2
    assert server.address in done.stderr


def test_a_served_model_that_is_not_there_is_one_clear_line(tmp_path):
    done = run_command("serve", "--model", f"a={tmp_path / 'nothing'}")
    assert done.returncode == 2
    assert "no such file or folder" in done.stderr
