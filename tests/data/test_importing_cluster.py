"""Reading replays on a Ray cluster: the same files as here, though one of those who read is killed."""

import os
import signal
from pathlib import Path

import pytest

from tests.clusters import simulated

from sparring.core import InputError, load_game  # isort: skip
from sparring.data import importing  # isort: skip
from sparring.data.importing import ImportPlan, import_replays  # isort: skip
from tests.data.replays import contents, run  # isort: skip

read = importing._read


def read_or_die(game, replays, filters, options):
    """As `_read`; the first who reads a battle that a file names is killed."""
    names = Path(os.environ["SPARRING_TEST_VICTIM"])
    if names.exists() and any(replay.id == names.read_text() for replay in replays):
        names.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return read(game, replays, filters, options)


def test_workers_and_a_cluster_are_one_too_many(battles, tmp_path):
    with pytest.raises(InputError, match="^--workers: with --cluster its processes read; allowed: 0"):
        run(battles, tmp_path / "out", workers=2, cluster="auto")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_cluster_writes_what_this_process_would_though_one_is_killed(battles, tmp_path, monkeypatch):
    alone = run(battles, tmp_path / "alone")
    victim = tmp_path / "victim"
    victim.write_text(next(iter(load_game("pokemon").find_replays([battles]))).id)
    monkeypatch.setenv("SPARRING_TEST_VICTIM", str(victim))
    monkeypatch.setattr(importing, "_read", read_or_die)
    monkeypatch.setattr(importing, "CHUNK", 16)
    said = []
    with simulated(2, 1) as cluster:
        plan = ImportPlan("pokemon", [battles], tmp_path / "there", workers=0, cluster=cluster.address)
        there = import_replays(plan, say=said.append)
    assert not victim.exists()
    assert [text.partition(" died")[1] for text in said[1:]] == [" died"]
    assert there == alone
    monkeypatch.undo()
    again = run(battles, tmp_path / "there")
    assert (again.already, again.accepted) == (300, 0)
    monkeypatch.setattr(importing, "CHUNK", 16)
    run(battles, tmp_path / "alone16")
    found = [
        {name: text for name, text in contents(tmp_path / at).items() if "/" in name} for at in ("alone16", "there")
    ]
    assert found[0] == found[1]
