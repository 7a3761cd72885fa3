"""What needs no network answers without importing one, or a compiler, or Arrow."""

import resource
import subprocess
import sys

import pytest

from tests.commands import SPARRING, sparring

SLOW = {"torch", "numba", "pyarrow", "zmq"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--help", 0),
        ("--version", 0),
        ("version", 0),
        ("games", 0),
        ("train --help", 0),
        ("evaluate --help", 0),
        ("ladder --help", 0),
        ("watch rocket --help", 0),
        ("train hex-quick --no-such-option", 2),
        ("evaluate path", 2),
        ("gtp chess random", 2),
        ("no-such-command", 2),
    ],
)
def test_no_slow_package_is_imported(words, code):
    done, imported = sparring(*words.split())
    assert done.returncode == code, done.stderr
    assert "typer" in imported
    assert not imported & SLOW


def test_importing_sparring_is_light_and_its_names_are_there():
    code = "import sparring; assert 'train' in dir(sparring)"
    _, imported = sparring(code=code)
    assert not imported & {*SLOW, "numpy", "msgspec", "rich", "typer"}
    code = "import sparring; [getattr(sparring, name) for name in sparring.__all__]; sparring.load_game('hex')"
    done, _ = sparring(code=code)
    assert done.returncode == 0, done.stderr


def test_help_takes_less_than_four_tenths_of_a_cpu_second():
    """CPU time, the best of three: a busy machine makes it slower, never faster."""
    subprocess.run([*SPARRING, "--help"], capture_output=True, timeout=100)
    assert min(_cpu_seconds([*SPARRING, "--help"]) for _ in range(3)) < 0.4


def _cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, timeout=100, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_python_runs_it_as_a_module():
    done = subprocess.run([sys.executable, "-m", "sparring", "version"], capture_output=True, text=True, timeout=100)
    assert done.stdout.startswith("sparring 0.")
