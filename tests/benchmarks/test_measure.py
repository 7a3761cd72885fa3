"""What the benchmarks share."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks import BENCHMARKS

SCRIPT = """
import measure
parser = measure.parser("A benchmark.")
parser.add_argument("--size", type=int, default=1)
options = measure.parse(parser)
measure.figure("speed", {speed} * options.size, "1/s")
measure.figure("speed", 5.0, "1/s")
measure.figure({own!r}, 1.0, "1/s")
"""


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import measure

    return measure


def checkout(folder, *, speed, own):
    """A project with one benchmark, whose last figure is called `own`."""
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "measure.py").write_text((BENCHMARKS / "measure.py").read_text())
    (folder / "benchmarks" / "tiny.py").write_text(SCRIPT.format(speed=speed, own=own))
    return folder


def test_sides_take_turns(measure):
    calls = []
    found = measure.in_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b") or len(calls)}, 3)
    assert calls == ["a", "b"] * 3
    assert found == {"a": [None] * 3, "b": [2, 4, 6]}


def test_a_figure_is_one_json_line_with_machine_and_versions(measure, capsys):
    measure.figure("speed", 1234567.8, "1/s", limit=0.123456789, matches=123456789, interval=[0.1234567, 1.0])
    printed = capsys.readouterr()
    line = json.loads(printed.out)
    assert {key: line[key] for key in ("figure", "value", "unit", "limit", "matches", "interval")} == {
        "figure": "speed",
        "value": 1234600.0,
        "unit": "1/s",
        "limit": 0.12346,
        "matches": 123456789,
        "interval": [0.12346, 1.0],
    }
    assert "cores" in line["machine"]
    assert {"python", "numpy", "torch"} <= line["versions"].keys()
    assert printed.err.split()[:3] == ["speed", "1,234,568", "1/s"]


def test_two_checkouts_are_compared_by_the_names_of_their_figures(tmp_path):
    here = checkout(tmp_path / "here", speed=30.0, own="new")
    there = checkout(tmp_path / "there", speed=20.0, own="gone")
    script = [sys.executable, str(here / "benchmarks" / "tiny.py")]
    done = subprocess.run(
        [*script, "--size", "2", "--against", str(there), "--rounds", "2"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["value"], first["reference"], first["ratio"]) == (60, 40, 1.5)
    assert first["ratios"] == [1.5, 1.5]
    assert (second["value"], second["reference"], second["ratio"]) == (5, 5, 1)
    assert "new: only here" in done.stderr
    runs = [line for line in done.stderr.splitlines() if line.startswith("running")]
    assert [str(there) in run for run in runs] == [False, True, False, True]
    assert all(run.endswith("tiny.py --size 2") for run in runs)


@pytest.mark.parametrize("script", sorted(path.name for path in BENCHMARKS.glob("*.py") if path.name != "measure.py"))
def test_every_benchmark_takes_the_shared_options(script):
    source = (BENCHMARKS / script).read_text()
    assert "measure.parse(" in source
    assert "measure.figure(" in source
    assert "json.dumps({" not in source, "figures are printed by measure.figure"
