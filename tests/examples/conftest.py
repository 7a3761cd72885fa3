"""The Connect Four example, installed: quickly, as files on the path, or truly, into an environment of its own."""

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "connect-four"


@pytest.fixture(scope="session")
def example_path(tmp_path_factory):
    """The folders to put on `sys.path`: the package, and its metadata with the entry points of its pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("installed")
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return [str(folder), str(EXAMPLE)]


@pytest.fixture(scope="module")
def installed(example_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*example_path, *sys.path])
        yield


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Runs `sparring` in a new environment into which Sparring and the example were installed, as a user would.

    Dependencies are the present environment's, by a path file: packages of the new one come first.
    """
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    own = next((folder / "lib").glob("python*/site-packages"))
    (own / "present.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(EXAMPLE.parents[1]), str(EXAMPLE)], check=True, timeout=300, env=environment)

    def run(*arguments):
        command = [str(folder / "bin" / "sparring"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1500, env=environment, cwd=folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "connect-four" in run("games")
    return run
