"""A run folder: nothing in it is lost by being stopped, and nothing in it is run."""

import json
import os
import signal
import sys
import time

import pytest
import yaml

from sparring.core import InputError
from sparring.training.config import load_config
from sparring.training.run import ResumeState, RunFolder
from tests.warm import Process

SMALL = [
    "settings.size=3",
    "network.channels=8",
    "network.blocks=1",
    "learner.batch_size=256",
    "matches=16",
    "threads=1",
]
SMALL += ["backend=torch", "evaluation.every=0", "checkpoint.every=1000000"]
ENDLESS = [*SMALL, "decisions=100_000_000"]


def saved(update):
    return ResumeState(update=update, values={"decisions": update}, learner={}, playing={})


def test_a_run_killed_before_its_configuration_was_written_can_be_started_again(tmp_path):
    (tmp_path / ".config.yaml.123.new").write_text("game: h")
    folder = RunFolder(tmp_path)
    assert folder.open(load_config("hex-quick", SMALL)[0]) is None
    folder.close()
    assert sorted(os.listdir(tmp_path)) == ["config.yaml", "environment.json"]


def test_a_damaged_resume_state_is_one_clear_line(tmp_path):
    config, _ = load_config("hex-quick", SMALL)
    folder = RunFolder(tmp_path)
    folder.open(config)
    folder.save_resume(saved(4))
    folder.close()
    state = tmp_path / "resume" / "00000004" / "state.json"
    state.write_text(state.read_text().replace("4", "5"))
    with pytest.raises(InputError, match=r"00000004: damaged: state\.json differs from its checksum"):
        folder.open(config)
    folder.close()


def test_what_a_killed_save_left_is_swept_and_the_state_before_it_is_resumed(tmp_path):
    config, _ = load_config("hex-quick", SMALL)
    folder = RunFolder(tmp_path)
    folder.open(config)
    folder.save_resume(saved(4))
    folder.close()
    for left in ("resume/.00000005.77.new", "checkpoints/.00000005.77.new", ".best.77.new", "matches/.a.7.new"):
        (tmp_path / left).mkdir(parents=True)
    assert folder.open(config).update == 4
    folder.close()
    assert not list(tmp_path.rglob(".*"))


TRAP = "open('sprung', 'w').close()\ndef build(spec): raise SystemExit('the trap was sprung')\n"


def test_a_factory_that_a_run_folder_names_counts_only_if_the_user_names_it_too(tmp_path, monkeypatch):
    """Neither resuming a run nor starting from its configuration imports what is written there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_trap.py").write_text(TRAP)
    run = tmp_path / "run"
    folder = RunFolder(run)
    config, _ = load_config("hex-quick", SMALL)
    folder.open(config)
    folder.close()
    stored = yaml.safe_load((run / "config.yaml").read_text())
    stored["network"] = {"factory": "own_trap:build"}
    (run / "config.yaml").write_text(yaml.safe_dump(stored))
    with pytest.raises(InputError, match="network"):
        folder.open(config)
    folder.close()
    (run / "preset.yaml").write_text(yaml.safe_dump(stored))
    for name in ("config.yaml", "preset.yaml"):
        with pytest.raises(InputError, match=r"built by own_trap:build, code of your own: add network\.factory="):
            load_config(str(run / name), ["seed=3"])
    assert "own_trap" not in sys.modules
    assert not (tmp_path / "sprung").exists()
    again, _ = load_config(str(run / "config.yaml"), ["network.factory=own_trap:build"])
    assert again.network == {"factory": "own_trap:build"}
    assert (tmp_path / "sprung").exists(), "what the user types is imported"
    sys.modules.pop("own_trap")


@pytest.mark.parametrize("text", ["{", "- a list", "game: [", "game: \0"])
def test_a_configuration_that_cannot_be_read_is_one_clear_line(tmp_path, text):
    (tmp_path / "config.yaml").write_text(text)
    folder = RunFolder(tmp_path)
    with pytest.raises(InputError, match=r"config\.yaml"):
        folder.open(load_config("hex-quick", SMALL)[0])
    folder.close()


def start(folder, **how):
    """A run without an end, and what reads its progress."""
    reads, writes = os.pipe()
    process = Process("train", "hex-quick", *ENDLESS, "--run", folder, stderr=writes, **how)
    os.close(writes)
    return process, open(reads)


def updates(folder):
    """How many updates the metrics tell of."""
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(condition, process):
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, "it ended"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def saved_update(folder):
    (state,) = (folder / "resume").glob("*/state.json")
    return json.loads(state.read_text())["update"]


def test_a_terminal_that_closes_loses_no_update(tmp_path):
    process, progress = start(tmp_path / "r", start_new_session=True)
    try:
        wait_for(lambda: updates(tmp_path / "r") >= 2, process)
        process.send_signal(signal.SIGHUP)
        progress.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
    assert saved_update(tmp_path / "r") == updates(tmp_path / "r") >= 2


def test_a_reader_of_the_progress_that_goes_away_ends_nothing(tmp_path):
    process, progress = start(tmp_path / "r", constants={"sparring.report.panel._LINE_SECONDS": 0.1})
    try:
        assert progress.readline()
        progress.close()
        wait_for(lambda: updates(tmp_path / "r") >= 2, process)
        time.sleep(0.5)  # some lines that nobody reads
        before = updates(tmp_path / "r")
        wait_for(lambda: updates(tmp_path / "r") > before, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
    assert saved_update(tmp_path / "r") == updates(tmp_path / "r")
