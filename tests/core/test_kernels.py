"""Numba's cache: private, keyed by its sources, and compiled again when damaged."""

import os
import random
import runpy
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO

import pytest

SCRIPT = """
import sys
import sparring
assert "numba" not in sys.modules
import numba

@numba.njit("int64(int64)", cache=True)
def double(x):
    return 2 * x

print(double(21), sum(double.stats.cache_hits.values()))
"""


@pytest.fixture
def run(tmp_path):
    """Runs a kernel of its own file with the cache in `tmp_path / "cache"`."""
    script = tmp_path / "kernel.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "SPARRING_CACHE": str(tmp_path / "cache")}
    environment.pop("NUMBA_CACHE_DIR", None)

    def call():
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=120)
        return done.stdout.split(), done.stderr

    return call


def files(tmp_path, suffix=""):
    return sorted(path for path in (tmp_path / "cache" / "numba").rglob(f"*{suffix}") if path.is_file())


def test_kernels_are_kept_in_a_folder_of_the_users_own(tmp_path, run):
    (tmp_path / "cache" / "numba").mkdir(parents=True, mode=0o777)
    assert run()[0] == ["42", "0"]
    assert run()[0] == ["42", "1"]
    assert {path.suffix for path in files(tmp_path)} == {".nbi", ".nbc"}
    assert not (tmp_path / "__pycache__").exists()
    for folder in (tmp_path / "cache" / "numba", *(tmp_path / "cache" / "numba").iterdir()):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Runs the kernel in this process, each time as a module that is new; what it prints."""
    import sparring  # noqa: F401 - before numba, as always
    import numba  # isort: skip

    script = tmp_path / "kernel.py"
    script.write_text(SCRIPT[SCRIPT.index("import numba") :])
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache" / "numba"))
    monkeypatch.chdir(tmp_path)

    def call():
        printed = StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            runpy.run_path(str(script))
        return printed.getvalue().split()

    return call


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "other"])
def test_a_damaged_cache_is_compiled_again(tmp_path, load, suffix, damage):
    assert load() == ["42", "0"]
    assert load() == ["42", "1"]
    (path,) = files(tmp_path, suffix)
    whole = path.read_bytes()
    at = random.Random(0).randrange(len(whole))
    path.write_bytes(
        {
            "flipped": whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :],
            "cut": whole[: len(whole) // 2],
            "empty": b"",
            "other": b"cos\nsystem\n(S'touch damaged'\ntR.",
        }[damage]
    )
    assert load() == ["42", "0"]
    assert load() == ["42", "1"]
    assert not (tmp_path / "damaged").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_that_belongs_to_somebody_else_is_refused(tmp_path, run):
    (tmp_path / "cache" / "numba").mkdir(parents=True)
    os.chown(tmp_path / "cache" / "numba", 12345, 12345)
    said = run()[1]
    assert "belongs to somebody else" in said


def test_where_nothing_can_be_kept_kernels_still_run(tmp_path, run):
    (tmp_path / "cache").write_text("a file")
    assert run() == (["42", "0"], "")


def test_help_imports_no_compiler():
    code = "import sys; sys.argv = ['sparring', '--help']\n"
    code += "import atexit; atexit.register(lambda: print(sorted({'numba', 'torch'} & set(sys.modules))))\n"
    code += "from sparring.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize(
    ("module", "rank", "told"), [("sparring.games", "0", True), ("sparring.games", "1", False), ("mine", "0", False)]
)
def test_compiling_kernels_of_ours_is_announced_once_by_one_process_of_several(tmp_path, module, rank, told):
    code = (
        "import sparring, numba\n"
        "for by in (2, 3):\n"
        "    kernel = eval(f'lambda x: x + {by}')\n"
        f"    kernel.__module__ = '{module}'\n"
        "    print(numba.njit(kernel)(1))\n"
    )
    environment = {**os.environ, "SPARRING_CACHE": str(tmp_path), "RANK": rank}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["3", "4"], done.stderr
    assert done.stderr == ("compiling kernels, kept for the next time: up to half a minute\n" if told else "")


def test_a_ctrl_c_while_llvm_hands_over_machine_code_comes_when_it_is_there(tmp_path):
    code = (
        "import os, signal, sparring, numba\n"
        "from numba.core.codegen import JITCodeLibrary\n"
        "hand_over = JITCodeLibrary._object_compiled_hook\n"
        "def interrupted(library, code):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    hand_over(library, code)\n"
        "JITCodeLibrary._object_compiled_hook = interrupted\n"
        "kernel = numba.njit(lambda x: x + 1)\n"
        "try:\n"
        "    kernel(1)\n"
        "except KeyboardInterrupt:\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    print('heard', numba.njit(lambda x: x + 2)(1))\n"
    )
    environment = {**os.environ, "SPARRING_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("heard 3\n", "")
