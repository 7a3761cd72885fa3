"""Mock data: matches that a run plays for itself, so that learning from data can be tried out without any."""

import os
import shutil

import numpy as np
import pytest

from sparring.core import InputError
from sparring.core.files import lock_folder
from sparring.data.dataset import Dataset
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder

TINY = {
    "game": "hex",
    "settings": {"size": 4},
    "network": {"channels": 8, "blocks": 1},
    "learner": {"kind": "imitation", "batch_size": 128, "minibatch_size": 64},
    "mock": {"player": "path", "matches": 20},
    "validation": {"share": 0.3},
    "decisions": 256,
    "threads": 1,
    "evaluation": {"matches": 4, "opponents": ["random"]},
}


def run(folder, **changes):
    """Trains with mock data; what was said."""
    said = []
    config, game = validate_config({**TINY, **changes}, where="test")
    assert train(config, game, RunFolder(folder), mock_data=True, say=said.append).finished
    return "\n".join(said)


def made(folder):
    """The folders of mock data beside a run."""
    return sorted(folder.with_name(f"{folder.name}-mock-data").iterdir())


def test_matches_are_played_once_and_learned_from(tmp_path):
    assert "20 matches" in run(tmp_path / "run")
    (there,) = made(tmp_path / "run")
    data = Dataset(there / "episodes", batch_size=8)
    assert data.episodes == 40
    before = sorted((path, path.stat().st_mtime_ns) for path in there.rglob("*.arrow"))
    assert "holds 20 matches already" in run(tmp_path / "run", decisions=400)
    assert sorted((path, path.stat().st_mtime_ns) for path in there.rglob("*.arrow")) == before


def test_other_settings_are_other_matches(tmp_path):
    run(tmp_path / "run", mock={"matches": 8, "settings": [{}, {}]})
    (two,) = made(tmp_path / "run")
    one, other = (Dataset(store, batch_size=99) for store in sorted((two / "episodes").iterdir()))
    assert one.episodes == other.episodes == 16
    assert not np.array_equal(actions(one), actions(other))
    shutil.rmtree(tmp_path / "run")
    run(tmp_path / "run", mock={"matches": 9})
    assert len(made(tmp_path / "run")) == 2


def actions(data):
    """All that were chosen."""
    (batch,) = data.epoch()
    return batch.episodes.steps.action


def test_two_processes_do_not_play_the_same_matches_at_once(tmp_path):
    run(tmp_path / "run")
    (there,) = made(tmp_path / "run")
    lock = lock_folder(there, busy="busy")
    try:
        with pytest.raises(InputError, match=f"{there}: another process plays mock data there; wait"):
            run(tmp_path / "run", decisions=400)
    finally:
        os.close(lock)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"learner": {"kind": "ppo"}}, "--mock-data: ppo plays what it learns from; allowed: imitation, offline"),
        ({"data": ["there"]}, "--mock-data: there is data already .there.; allowed: one of them"),
        ({"mock": {"player": "pth"}}, "mock.player = 'pth'; allowed: random, path"),
        ({"mock": {"player": "os:system"}}, "mock.player = 'os:system'; allowed: random, path"),
        ({"mock": {"settings": []}}, "mock.settings"),
        ({"mock": {"settings": [{"sise": 4}]}}, "sise"),
    ],
)
def test_what_cannot_be_played_is_one_line(tmp_path, changes, line):
    with pytest.raises(InputError, match=line):
        run(tmp_path / "run", **changes)
    assert not list(tmp_path.iterdir())
