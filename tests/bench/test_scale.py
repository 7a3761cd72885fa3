"""How the best setting is found: who goes on, what a noisy machine may do, going on from a file."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from multiprocessing import Pipe

import msgspec
import pytest

from sparring.bench.scale import run
from sparring.bench.scale.cell import _play
from sparring.bench.scale.contest import KEEP, Measurement, estimates, pending, recommended, still_to_do
from sparring.bench.scale.grid import Cell, grid, numbers, overrides
from sparring.bench.scale.run import FILE, Contest, scale
from sparring.core import InputError, RandomPlayer, load_game
from sparring.report.scale import save_plots, scale_page, scale_plot, scale_table
from sparring.rollout import Collector, everyone
from tests.commands import shown

CELLS = [Cell(simulators=s, workers=w, matches=m) for s, w in ((1, 0), (2, 0), (1, 1), (1, 2)) for m in (64, 128, 256)]
TRUE_RATE = {cell: 1000 + 90 * number for number, cell in enumerate(CELLS)}


def measure(cell, round, rate, **more):
    return Measurement(cell=cell, round=round, seconds=10.0, decisions=round_up(10 * rate), batches=100, **more)


def round_up(number):
    return max(0, int(number))


def play_out(slow=lambda round, place: 1.0, broken=()):
    """A whole contest on a machine that runs at `slow(round, place)` of its speed."""
    measured = []
    while (step := pending(CELLS, measured)) is not None:
        round, left = step
        for place, cell in enumerate(left):
            rate = 0 if cell in broken else TRUE_RATE[cell] * slow(round, place)
            measured.append(measure(cell, round, rate, memory=10, ended=9, failed=1, error="x" if not rate else ""))
    return measured


def test_fewer_cells_go_on_each_round_and_the_count_is_known_beforehand():
    measured = play_out()
    sizes = [sum(one.round == round for one in measured) for round in range(len(KEEP) + 1)]
    assert sizes == [12, 8, 4, 3, 3]
    assert still_to_do(CELLS, []) == sum(sizes)
    assert still_to_do(CELLS, measured[:20]) == sum(sizes) - 20
    assert still_to_do(CELLS, measured) == 0


def test_the_best_cell_is_found_and_every_rate_is_what_it_was():
    found = estimates(play_out())
    assert [one.cell for one in found] == CELLS[::-1]
    for one in found:
        assert one.rate == pytest.approx(TRUE_RATE[one.cell], rel=1e-3)
    assert recommended(found).cell == CELLS[-1]


def test_a_machine_that_gets_slower_from_round_to_round_changes_no_ratio():
    found = {one.cell: one.rate for one in estimates(play_out(lambda round, place: 0.7**round))}
    for cell in CELLS:
        assert found[cell] / found[CELLS[-1]] == pytest.approx(TRUE_RATE[cell] / TRUE_RATE[CELLS[-1]], rel=1e-2)


def test_with_ten_percent_noise_the_recommendation_is_within_ten_percent_of_the_best():
    rng, best = random.Random(0), max(TRUE_RATE.values())
    for _ in range(50):
        chosen = recommended(estimates(play_out(lambda round, place: rng.uniform(0.9, 1.1))))
        assert TRUE_RATE[chosen.cell] >= 0.9 * best


def test_a_cell_that_fails_is_left_out():
    found = estimates(play_out(broken=CELLS[-2:]))
    assert recommended(found).cell == CELLS[-3]
    assert not {one.cell for one in found} & set(CELLS[-2:])


def test_of_cells_as_fast_the_one_with_less_memory_is_recommended_and_servers_never():
    cells = [Cell(matches=64), Cell(matches=128), Cell(matches=64, servers=1)]
    measured = [
        measure(cell, 0, rate, memory=memory)
        for cell, rate, memory in zip(cells, (99, 100, 500), (5, 9, 1), strict=True)
    ]
    assert recommended(estimates(measured)).cell == cells[0]
    assert recommended(estimates(measured[2:])) is None


def test_linear_is_the_rate_a_lane_over_that_of_the_smallest_cell_alike():
    small, large = Cell(simulators=1, matches=64), Cell(simulators=2, matches=64)
    by_cell = {one.cell: one.linear for one in estimates([measure(small, 0, 100), measure(large, 0, 150)])}
    assert by_cell == pytest.approx({small: 1.0, large: 0.75})


def test_the_default_grid_of_two_cores():
    options = {"matches": [64, 128, 256], "workers": None, "simulators": None, "servers": [0], "cores": 2}
    assert len(grid(load_game("pokemon"), **options)) == 15
    assert {cell.simulators for cell in grid(load_game("hex"), **options)} == {None}
    assert overrides(CELLS[0], load_game("pokemon")) == ["matches=64", "workers=0", "settings.simulators=1"]
    assert overrides(Cell(matches=64), load_game("hex")) == ["matches=64", "workers=0"]


@pytest.mark.parametrize("text", ["", "1,,2", "-1", "1.5", "x", "9" * 30])
def test_a_list_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="--workers"):
        numbers(text, option="--workers", least=0)


def result():
    found = estimates(play_out(broken=CELLS[:1]))
    from sparring.bench.scale.contest import estimate_json

    lines = [estimate_json(one, 80.0) for one in found]
    return {
        "preset": "pokemon-gen1", "overrides": [], "machine": "2 cores", "seconds": 431.0, "decisions_per_match": 80.0,
        "spread": "simulators", "finished": True, "cells": lines, "failed": [{"cell": "a", "error": "<b>"}],
        "recommended": {**lines[0], "overrides": ["matches=256", "workers=2"]},
    }  # fmt: skip


def test_the_table_fits_80_columns_and_the_page_needs_no_network():
    text = shown(scale_table(result()))
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "best here: matches=256 workers=2" in text
    assert text.splitlines()[3].split()[:6] == ["simulators", "1", "2", "256", "89,550", "90%"]
    page = scale_page(result())
    assert "://" not in page
    assert "<svg" in page
    assert "sparring train pokemon-gen1 matches=256 workers=2" in page
    assert scale_plot(result()).startswith(b"\x89PNG")


def test_the_page_is_written_without_matplotlib_too(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = []
    save_plots(tmp_path, result(), said.append)
    assert [path.name for path in tmp_path.iterdir()] == ["scale.html"]
    assert len(said) == 2
    assert "pip install 'sparring[bench]'" in said[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: {**data, "cells": data["cells"][1:]}, "another cell"),
        (lambda data: {**data, "machine": "a toaster"}, "another machine"),
        (lambda data: {**data, "measured": [{"cell": {"matches": 9}, "round": 0}]}, "not of its grid"),
        (lambda data: {**data, "measured": [{"cell": data["cells"][0], "round": 99}]}, "not of its grid"),
        (lambda data: {**data, "surplus": 1}, "not a file of bench scale"),
        (lambda data: [], "not a file of bench scale"),
    ],
)
def test_a_file_of_another_contest_is_refused_and_left_alone(tmp_path, change, words):
    from sparring.core.machine import machine_name

    cells = [Cell(matches=4), Cell(matches=8)]
    stored = Contest(preset="hex-quick", overrides=[], cells=cells, machine=machine_name())
    (tmp_path / FILE).write_text(json.dumps(change(msgspec.to_builtins(stored))))
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(InputError, match=words):
        scale("hex-quick", [], cells, tmp_path, minutes=1, say=print)
    assert (tmp_path / FILE).read_bytes() == before


def command(folder, *more):
    return [
        sys.executable, "-m", "sparring", "bench", "scale", "hex-quick", "settings.size=3", "threads=1",
        "network.channels=8", "network.blocks=1", "--matches", "8,32", "--workers", "0", "--save", str(folder), *more,
    ]  # fmt: skip


@pytest.mark.slow
def test_a_contest_that_is_stopped_goes_on_and_its_override_is_one_that_train_takes(tmp_path):
    running = subprocess.Popen(command(tmp_path, "--minutes", "2"), stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 250
    while time.monotonic() < until and b'"round"' not in _content(tmp_path / FILE):
        time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=100)
    assert running.returncode == 0, said
    kept = json.loads((tmp_path / FILE).read_text())["measured"]
    assert kept
    done = subprocess.run(command(tmp_path, "--minutes", "0.5", "--json"), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert json.loads((tmp_path / FILE).read_text())["measured"][: len(kept)] == kept
    assert [one["cell"]["matches"] for one in found["cells"]] == [32, 8]
    assert found["decisions_per_match"] == pytest.approx(7, abs=1)
    chosen = (tmp_path / "override.txt").read_text().split()
    assert chosen == found["recommended"]["overrides"] == ["matches=32", "workers=0"]
    train = [sys.executable, "-m", "sparring", "train", "hex-quick", *chosen, "decisions=100", "evaluation.matches=4"]
    small = ["learner.batch_size=64", "learner.minibatch_size=64", "threads=1", "--run", str(tmp_path / "run")]
    assert subprocess.run([*train, *small], capture_output=True, timeout=200).returncode == 0
    assert {"scale.png", "scale.html"} <= set(os.listdir(tmp_path))


@pytest.mark.parametrize("recorded", [[], ["random"]])
def test_a_cell_plays_as_long_as_it_should_whether_or_not_its_episodes_are_kept(recorded):
    game = load_game("kuhn")
    arena = game.arena(game.settings(), matches=4, seed=0)
    collector = Collector(arena, {"random": RandomPlayer(0)}, everyone(0, 2), record=recorded)
    ours, theirs = Pipe()
    with ours, theirs, closing(arena):
        assert 0.1 <= _play(collector, 0.1, theirs) < 10
    assert collector.counters.matches > 0
    assert collector.take_ended() is None


@pytest.mark.slow
def test_battles_over_a_local_server_are_played_to_their_ends_and_counted():
    small = ["settings.observation=raw", "network.width=32", "network.heads=2", "backend=torch", "threads=1"]
    cell = Cell(simulators=1, matches=4, servers=1)
    found = run._measured(cell, run._config("pokemon-gen1", small, cell), 0, 15.0, lambda: False)
    assert found.error == ""
    assert found.rate > 0
    assert found.ended > 0
    assert found.seconds < 60
    assert found.failed == 0


def _content(path):
    return path.read_bytes() if path.exists() else b""
