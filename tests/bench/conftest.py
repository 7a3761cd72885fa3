"""`sparring doctor` in a process of its own, on a machine that is made sick first."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.commands import SPARRING

TORCH = """
from types import SimpleNamespace
__version__ = {version!r}
version = SimpleNamespace(cuda={cuda!r})
cuda = SimpleNamespace(is_available=lambda: False)
backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: False))
"""
"""A torch that is imported at once, of any version."""


@pytest.fixture
def packages(tmp_path):
    """A folder of Python packages that go before those installed; has a quick torch in it."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "torch.py").write_text(TORCH.format(version="2.13.0", cuda=None))
    return folder


@pytest.fixture
def doctor(tmp_path, packages):
    """Runs the command in an empty folder and returns its exit code, and the checks by name.

    `before` is a shell command that makes the fault, in mounts that only this process sees; `limit` a function that is
    called in the new process.
    """
    folder = tmp_path / "here"
    folder.mkdir()

    def run(*arguments, before=None, limit=None, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.endswith(("_NUM_THREADS", "CACHE_DIR"))}
        path = os.pathsep.join([str(packages), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [*SPARRING, "doctor", "--json", *arguments]
        if before is not None:
            command = ["unshare", "--mount", "sh", "-c", f'{before} && exec "$@"', "sh", *command]
        done = subprocess.run(
            command,
            cwd=folder,
            env={**kept, "PYTHONPATH": path, **{name: str(value) for name, value in variables.items()}},
            preexec_fn=limit,
            capture_output=True,
            text=True,
            timeout=280,  # a little less than a test may take
        )
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(done.stdout)
        statuses = {check["status"] for check in found["checks"]}
        assert found["worst"] == next(status for status in ("fail", "warn", "ok") if status in statuses)
        assert done.returncode == (1 if "fail" in statuses else 0)
        return done.returncode, {check["name"]: SimpleNamespace(**check) for check in found["checks"]}

    run.folder = folder
    return run


@pytest.fixture
def mounts():
    """Skips the test where nobody may mount anything."""
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True)
    if tried.returncode != 0:
        pytest.skip("only root may mount a small disk")
    return lambda folder, options: f"mount -t tmpfs -o {options} tmpfs {Path(folder)}"
