"""A run whose policy is spread over processes: saved in parts, read again by any number of them."""

import shutil

import pytest
import torch

from sparring.core import InputError, RunError
from sparring.learn import parallel
from sparring.policy.checkpoint import load_checkpoint
from sparring.training import state as states
from sparring.training.config import load_config, validate_config
from sparring.training.run import ResumeState, RunFolder
from sparring.training.settings import CheckpointSettings
from tests.data.stores import hex_store
from tests.runs import lines
from tests.training.support import TINY_STUDY
from tests.warm import group

PRESET = """
game: hex
settings: {size: 3}
network: {channels: 8, blocks: 2}
learner: {kind: imitation, batch_size: 100, minibatch_size: 50, lr_schedule: constant}
validation: {share: 0.2}
threads: 1
checkpoint: {every: 1}
evaluation: {matches: 4, opponents: [random]}
parallel: {scaling: "off"}
report: []
"""


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sharded")
    (folder / "mine.yaml").write_text(PRESET)
    hex_store(folder / "store")
    return folder


@pytest.fixture
def train(where):
    def run(folder, decisions, *, processes=2, sharded=True):
        words = ["train", where / "mine.yaml", f"data={where / 'store'}", f"decisions={decisions}", "--run", folder]
        started = group(*words, f"parallel.sharded={str(sharded).lower()}", processes=processes)
        said = [process.communicate()[1] for process in started]
        assert [process.returncode for process in started] == [0] * processes, said
        return said[0]

    return run


def weights(folder):
    return load_checkpoint(sorted((folder / "checkpoints").iterdir())[-1]).weights


def assert_close(found, expected):
    assert found.keys() == expected.keys()
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, rtol=1e-4, atol=1e-5)


def updates(folder):
    return [line["update"] for line in lines(folder) if "loss/policy_loss" in line]


def test_a_run_is_saved_in_parts_and_goes_on_as_if_it_had_not_been_stopped(train, tmp_path):
    train(tmp_path / "copied", 600, sharded=False)
    train(tmp_path / "spread", 300)
    parts = [tmp_path / "spread/resume" / part for part in (".", "rank-1")]
    newest = max(path.name for path in parts[0].glob("0*"))
    sizes = [(part / newest / "shards.safetensors").stat().st_size for part in parts]
    assert max(sizes) < 1.2 * min(sizes)
    said = train(tmp_path / "spread", 600)
    assert f"at update {int(newest)}" in said
    assert_close(weights(tmp_path / "spread"), weights(tmp_path / "copied"))
    assert updates(tmp_path / "spread") == updates(tmp_path / "copied")


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("processes", "sharded"), [(1, True), pytest.param(3, True, marks=SLOW), pytest.param(2, False, marks=SLOW)]
)
def test_it_goes_on_with_another_number_of_processes_or_with_copies(train, tmp_path, processes, sharded):
    run = tmp_path / "run"
    train(run, 300)
    before = updates(run)
    said = train(run, 500, processes=processes, sharded=sharded)
    assert f"at update {before[-1]}" in said
    said = train(run, 700)
    assert "damaged" not in said
    assert updates(run) == list(range(1, len(updates(run)) + 1))
    assert len(updates(run)) > len(before) + 1


@pytest.mark.parametrize("harm", ["torn", pytest.param("gone", marks=SLOW)])
def test_a_state_with_a_damaged_or_missing_part_is_not_taken(train, tmp_path, harm):
    train(tmp_path, 400)
    newest, before = sorted((path.name for path in (tmp_path / "resume").glob("0*")), reverse=True)
    part = tmp_path / "resume/rank-1" / newest
    if harm == "torn":
        content = (part / "shards.safetensors").read_bytes()
        (part / "shards.safetensors").write_bytes(content[: len(content) // 2])
    else:
        shutil.rmtree(part)
    said = train(tmp_path, 500)
    assert f"rank-1/{newest}" in said
    assert "going back to the one before" in said
    assert f"at update {int(before)}" in said


@pytest.mark.parametrize("spread", [True, False])
def test_a_state_counts_only_when_every_process_has_written_its_part(tmp_path, monkeypatch, spread):
    """Where each has a copy, a part that is missing costs matches in play; where it is spread, all."""
    monkeypatch.setattr(parallel, "size", lambda: 2)
    monkeypatch.setattr(parallel, "wait_for", lambda keys, seconds: False)
    monkeypatch.setattr(states, "_PARTS_SECONDS", 0.01)
    folder = RunFolder(tmp_path)
    monkeypatch.setattr(folder, "save_checkpoint", lambda checkpoint, keep: None)
    saver = states.Saver(None, None, folder, CheckpointSettings())
    weight = {"learner/policy/weight": torch.ones(3)}
    state = ResumeState(1, {"processes": 2}, {} if spread else weight, {}, weight if spread else {})
    if spread:
        with pytest.raises(RunError, match="update 1 is not saved: another process did not write its part"):
            saver._write(None, state)
    else:
        saver._write(None, state)
    assert (tmp_path / "resume" / "00000001").exists() != spread


def test_what_cannot_be_spread_is_one_line():
    spread = {"parallel": {"sharded": True}, "data": ["x"]}
    for changes, line in (
        ({"learner": {"kind": "imitation", "compile": True}}, "learner.compile: not of a policy that is spread"),
        ({"dtype": "float16"}, "dtype: a policy that is spread"),
    ):
        with pytest.raises(InputError, match=line):
            validate_config({**TINY_STUDY, **spread, **changes}, where="test")
    for preset, changes, line in (
        ("kuhn-rnad", [], "parallel.sharded: not for rnad, but for ppo, imitation and offline"),
        ("kuhn-ppo", ["league.every=5"], "parallel.sharded: not with a league or with data_share; allowed: false"),
    ):
        with pytest.raises(InputError, match=line):
            load_config(preset, ["parallel.sharded=true", *changes])


@pytest.mark.parametrize("ends", [[260], pytest.param([300, 600], marks=SLOW)])
def test_a_policy_that_plays_is_whole_wherever_it_does(tmp_path, ends):
    """A run with copies has the same matches, weights and losses, also if this one was saved and went on in between."""
    words = ["kuhn-ppo", "network.width=8", "learner.batch_size=64", "learner.minibatch_size=32", "matches=8"]
    words += ["learner.lr_schedule=constant", "threads=1", "evaluation.every=0", "evaluation.matches=4", "report=[]"]
    for run, sharded, parts in (("copied", "false", ends[-1:]), ("spread", "true", ends)):
        for decisions in parts:
            more = [f"parallel.sharded={sharded}", f"decisions={decisions}", "--run", tmp_path / run]
            started = group("train", *words, *more)
            said = [process.communicate()[1] for process in started]
            assert [process.returncode for process in started] == [0, 0], said
    assert_close(weights(tmp_path / "spread"), weights(tmp_path / "copied"))
    found, expected = (
        [line["loss/policy_loss"] for line in lines(tmp_path / run) if "loss/policy_loss" in line]
        for run in ("spread", "copied")
    )
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-5)
