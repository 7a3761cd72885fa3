"""`sparring doctor`: what each check makes of what it sees, and how it is shown."""

import errno
import json
import os
import re
import socket
import threading
from collections import namedtuple
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner
from websockets.sync.server import serve

from sparring.bench.doctor import checks, device, packages, processor, storage
from sparring.bench.doctor.children import ChildFailed, ask_child
from sparring.bench.doctor.play_child import Played, play
from sparring.bench.doctor.torch_child import TorchFacts
from sparring.cli import app
from sparring.core import load_game, machine
from sparring.core.checkup import Check, Checked, CheckUp
from sparring.games.pokemon import checkup as pokemon
from tests.commands import sparring

CPU = TorchFacts("2.13.0", "cpu", "cpu")


@pytest.fixture
def run(monkeypatch):
    """The command with checks of the test's own; 80 columns."""

    def call(*found, words=()):
        monkeypatch.setattr(checks, "check_machine", lambda asked, needed: iter(found))
        return CliRunner().invoke(app, ["doctor", *words], env={"COLUMNS": "80"}, catch_exceptions=False)

    return call


def test_the_whole_command_without_torch_in_its_own_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done, imported = sparring("doctor")
    assert done.returncode == 0, done.stdout
    assert not imported & {"torch", "numba", "zmq"}
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for name in (
        "python",
        "cores",
        "threads",
        "load",
        "memory",
        "cache disk",
        "runs disk",
        "numba cache",
        "open files",
        "shared memory",
        "server port",
        "extras",
        "pokemon: node",
        "pokemon: simulator",
        "pokemon: port",
        "rocket: meshes",
        "torch",
        "device",
    ):
        assert sum(line.startswith(f"{name}  ") for line in lines) == 1, name
    assert os.listdir(tmp_path) == []


def test_the_table_says_what_to_run_and_the_exit_code_says_the_worst(run):
    good, bad, broken = (
        Check("a", "ok", "fine"),
        Check("b: c", "warn", "small", "make it larger"),
        Check("d", "fail", "gone"),
    )
    result = run(good, bad, broken)
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "check        found",
        "─" * 32,
        "a      ok    fine",
        "b: c   warn  small",
        "             run: make it larger",
        "d      fail  gone",
        "1 ok, 1 to look at, 1 failed",
    ]
    assert result.exit_code == 1
    assert run(good, bad).exit_code == run(good).exit_code == 0


def test_long_paths_are_folded_and_nothing_moves_the_cursor(run):
    path = "/very/long" * 20
    result = run(Check("cache disk", "fail", f"cannot write {path}\x1b[2J", f"export SPARRING_CACHE={path}"))
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stdout.replace("\n", "").replace(" ", "").count(path) == 2
    assert "\x1b" not in result.stdout


def test_json_has_every_check(run):
    result = run(Check("a", "ok", "fine"), Check("b", "warn", "small", "make it larger"), words=["--json"])
    assert json.loads(result.stdout) == {
        "worst": "warn",
        "checks": [
            {"name": "a", "status": "ok", "found": "fine", "mend": ""},
            {"name": "b", "status": "warn", "found": "small", "mend": "make it larger"},
        ],
    }


def test_ports_and_versions_are_those_of_the_rest_of_the_project():
    commands = get_command(app).commands
    ports = {name: next(p.default for p in commands[name].params if p.name == "port") for name in ("serve", "showdown")}
    assert ports == {"serve": checks.SERVE_PORT, "showdown": pokemon.SHOWDOWN_PORT}
    pinned = (Path(__file__).parents[2] / "constraints.txt").read_text().splitlines()
    assert f"torch=={device.TESTED_TORCH}" in pinned


def test_an_old_python(monkeypatch):
    assert packages.check_python().status == "ok"
    monkeypatch.setattr("sys.version_info", (3, 10, 4))
    assert packages.check_python().mend == "make train PYTHON=python3.11"


def test_missing_extras_matter_only_to_a_game_that_is_needed(monkeypatch):
    monkeypatch.setattr("sparring.core.extras._installed", lambda package: package != "rocketsim")
    (extras,) = packages.check_extras([])
    here, absent = extras.found.split("; not installed: ")
    assert (extras.status, absent) == ("ok", "rocket")
    assert "pokemon" in here.split(", ")
    assert "dev" not in here.split(", ")
    lacking, extras = packages.check_extras(["rocket", "hex"])
    assert lacking == Check("extra rocket", "fail", "not installed: rocketsim", "pip install 'sparring[rocket]'")
    assert (extras.status, extras.found) == ("ok", here)


@pytest.mark.parametrize(
    ("limit", "threads", "expected"),
    [
        ("max 100000", "4", ("ok", "ok")),
        ("150000 100000", "2", ("ok", "ok")),
        ("150000 100000", "4", ("ok", "warn")),
        ("50000 100000", "1", ("warn", "ok")),
        ("max 100000", "2,1", ("ok", "ok")),
        ("max 100000", "0", ("ok", "warn")),
    ],
)
def test_the_limit_of_a_container_counts_as_cores(monkeypatch, tmp_path, limit, threads, expected):
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    for name in processor._THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    (tmp_path / "cpu.max").write_text(limit)
    assert (processor.check_cores().status, processor.check_threads().status) == expected


@pytest.mark.parametrize(("load", "status"), [(0.1, "ok"), (4.5, "ok"), (5.5, "warn")])
def test_a_busy_machine(monkeypatch, load, status):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert processor.check_load().status == status


@pytest.mark.parametrize(("gib", "status"), [(8.0, "ok"), (1.0, "warn"), (0.2, "fail")])
@pytest.mark.parametrize("version", [1, 2])
def test_memory_is_what_machine_and_container_leave(monkeypatch, tmp_path, gib, status, version):
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(machine, "_MEMORY", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text(f"MemTotal: 99999999 kB\nMemAvailable: {16 * 2**20} kB\n")
    assert machine.free_memory() == 16 * 2**30
    used, cached = 3 * 2**30, 2**30
    folder = tmp_path if version == 2 else tmp_path / "memory"
    folder.mkdir(exist_ok=True)
    names = {1: ("limit_in_bytes", "usage_in_bytes", "total_inactive_file"), 2: ("max", "current", "inactive_file")}
    most, current, kept = names[version]
    (folder / f"memory.{most}").write_text(f"{used - cached + int(gib * 2**30)}\n")
    (folder / f"memory.{current}").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\n{kept} {cached}\n")
    assert machine.free_memory() == int(gib * 2**30)
    assert processor.check_memory().status == status


def test_a_container_without_a_limit_leaves_what_the_machine_has(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.free_memory() == pytest.approx(machine._free_on_machine(), rel=0.2)
    monkeypatch.setattr(machine, "_MEMORY", tmp_path / "none")
    assert processor.check_memory().status == "ok"


Disk = namedtuple("Disk", "f_frsize f_bavail f_files f_favail")


@pytest.mark.parametrize(
    ("disk", "speed", "status", "words"),
    [
        (Disk(4096, 2**20, 99, 9), 100.0, "ok", "4.0 GiB free, writes 100 MiB/s"),
        (Disk(4096, 2**18, 99, 9), 100.0, "warn", "1.0 GiB free"),
        (Disk(4096, 100, 99, 9), 100.0, "fail", "full: 0 MiB left"),
        (Disk(4096, 2**20, 99, 0), 100.0, "fail", "no file numbers"),
        (Disk(4096, 2**20, 0, 0), 100.0, "ok", "4.0 GiB"),  # a file system that has no such numbers
        (Disk(4096, 2**20, 99, 9), 2.0, "warn", "slow: 4.0 GiB free, writes 2 MiB/s"),
    ],
)
def test_room_and_speed_of_a_disk(monkeypatch, disk, speed, status, words):
    monkeypatch.setattr(os, "statvfs", lambda path: disk)
    monkeypatch.setattr(storage, "_write_speed", lambda folder, seconds: speed)
    found = storage.check_runs(long=False)
    assert (found.status, bool(found.mend)) == (status, status != "ok")
    assert words in found.found


def test_a_disk_that_fills_up_while_it_is_written_to(monkeypatch):
    def write(folder, seconds):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "_write_speed", write)
    assert storage.check_cache(long=False).status == "fail"


def test_the_speed_of_a_disk_is_measured_and_leaves_nothing_behind(tmp_path):
    assert storage._write_speed(tmp_path, 0.1) > 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("mib", "status"), [(64, "warn"), (2048, "ok")])
def test_the_size_of_shared_memory(monkeypatch, mib, status):
    Size = namedtuple("Size", "f_frsize f_blocks")
    monkeypatch.setattr(os, "statvfs", lambda path: Size(4096, mib * 256))
    assert storage.check_shared_memory().status == status


@pytest.mark.parametrize(
    ("facts", "hidden", "status", "mend"),
    [
        (TorchFacts("2.13.0", "CUDA 12.8", "cuda", "RTX 5090"), None, "ok", ""),
        (TorchFacts("2.13.0", "CUDA 12.8", "cuda", "GTX 970", False), None, "fail", "device=cpu"),
        (TorchFacts("2.13.0", "CUDA 12.8", "cpu"), None, "warn", "nvidia-smi"),
        (TorchFacts("2.13.0", "CUDA 12.8", "cpu"), "", "warn", "unset CUDA_VISIBLE_DEVICES"),
        (CPU, None, "warn", "pip install --force-reinstall torch==2.13.0"),
    ],
)
def test_a_gpu_that_torch_does_not_use(monkeypatch, tmp_path, facts, hidden, status, mend):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    monkeypatch.setattr(device, "_GPU", tmp_path)
    found = device.check_device(facts)
    assert found.status == status
    assert mend in found.mend


def test_without_a_gpu_the_cpu_is_well(monkeypatch, tmp_path):
    monkeypatch.setattr(device, "_GPU", tmp_path / "none")
    assert device.check_device(CPU) == Check("device", "ok", "cpu")


def test_the_device_calculates():
    facts = device.ask_torch(comprehensive=True)
    assert isinstance(facts, TorchFacts)
    assert facts.works
    assert device.check_torch(facts).status == "ok"


def test_games_that_need_more_than_packages_can_be_checked():
    assert {name for name in ("hex", "kuhn", "pokemon", "rocket") if isinstance(load_game(name), Checked)} == {
        "pokemon",
        "rocket",
    }
    assert CheckUp(needed=True).lacking("x", "gone", "get it").status == "fail"
    assert CheckUp().lacking("x", "gone", "get it").status == "warn"


def test_a_simulator_of_which_a_part_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    parts = pokemon.places(pokemon.PINNED, node="node")
    parts.modules.mkdir(parents=True)
    parts.teams.mkdir()
    assert pokemon._simulator(CheckUp()).found == f"no tables in {tmp_path}/pokemon"
    parts.tables.mkdir()
    assert pokemon._simulator(CheckUp()).status == "ok"


def test_a_game_is_really_played():
    assert play("kuhn").decisions > 0
    found = checks._play("kuhn", CheckUp(comprehensive=True))
    assert found.status == "ok"
    assert "decisions in" in found.found


def test_a_game_that_cannot_be_played_says_why(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    found = checks._play("pokemon", CheckUp(comprehensive=True, needed=True))
    assert (found.status, found.mend) == ("fail", "sparring setup pokemon")
    assert "is not installed in" in found.found


def test_a_child_that_hangs_or_fails_is_one_line():
    with pytest.raises(ChildFailed, match="no answer within 0 seconds"):
        ask_child("sparring.bench.doctor.play_child", "kuhn", found=Played, seconds=0.01)
    with pytest.raises(ChildFailed, match="unknown game 'chess'"):
        ask_child("sparring.bench.doctor.play_child", "chess", found=Played, seconds=60)


@pytest.fixture
def showdown():
    """A server that greets as Showdown does, or says what `greeting` holds; yields its port."""
    greeting = ["|updateuser| Guest 1|0|1|{}"]
    with serve(lambda client: client.send(greeting[0]), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.socket.getsockname()[1], greeting
        server.shutdown()
        thread.join()


def test_a_port_that_a_showdown_server_has_taken_is_well(showdown, monkeypatch):
    port, greeting = showdown
    monkeypatch.setattr(pokemon, "SHOWDOWN_PORT", port)
    assert pokemon._port() == Check("port", "ok", f"a Showdown server runs on {port}")
    assert pokemon._server(f"ws://127.0.0.1:{port}").status == "ok"
    greeting[0] = "hello"
    assert pokemon._port().mend == "sparring showdown --port 0"
    found = pokemon._server(f"ws://127.0.0.1:{port}")
    assert found.status == "fail"
    assert "not as a Showdown server does" in found.found


def test_a_port_that_something_else_has_taken(monkeypatch):
    monkeypatch.setattr(pokemon, "_LOCAL_SECONDS", 0.1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()  # and never answers
        monkeypatch.setattr(pokemon, "SHOWDOWN_PORT", other.getsockname()[1])
        assert pokemon._port().status == "warn"


def test_without_websockets_a_server_cannot_be_asked():
    code = (
        "from sparring.core.checkup import CheckUp; from sparring.games.pokemon.checkup import pokemon_checks; "
        "print(list(pokemon_checks(CheckUp(servers=('ws://localhost:1',))))[-1])"
    )
    done, _ = sparring(code=code, without=["websockets"])
    assert "status='fail'" in done.stdout
    assert "needs the package websockets, which is not installed" in done.stdout
    assert "pip install 'sparring[pokemon]'" in done.stdout


PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text()


def test_the_page_names_every_check():
    section = PAGE.partition("## What is checked")[2].partition("## Messages")[0]
    named = {name for line in section.splitlines() if line.startswith("| `") for name in quoted(line.split("|")[1])}
    shown = {check.name for check in checks.check_machine(CheckUp())}
    assert named == shown | {"slurm", "ray", "extra NAME", "pokemon: server", "GAME", "GAME: commands", "GAME: play"}


def test_every_message_of_the_page_is_one_that_the_program_has():
    sources = "".join(path.read_text() for path in Path(checks.__file__).parents[2].rglob("*.py"))
    sources = re.sub(r'"\s*\n\s*f?"', "", re.sub(r"\{[^{}]*\}", "…", sources))
    section = PAGE.partition("## Messages")[2]
    pieces = [piece for line in section.splitlines() if line.startswith("| `") for piece in quoted(line.split("|")[1])]
    assert len(pieces) > 10
    assert [piece for piece in pieces if piece not in sources] == [os.strerror(errno.ENOSPC)]


def quoted(text):
    return re.findall(r"`([^`]+)`", text)
