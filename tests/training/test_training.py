"""The training loop: it resumes bit for bit, tells a callback, stops politely, and learns."""

import json
import os
import re
import signal
import time

import pytest

import sparring
from sparring.core import InputError, RunError
from sparring.policy.checkpoint import load_checkpoint
from sparring.training.config import load_config, validate_config
from sparring.training.loop import train
from sparring.training.opponents import find_opponents
from sparring.training.run import RunFolder
from sparring.training.self_play import SelfPlay
from tests.runs import lines, updates
from tests.training.support import TINY, assert_same_weights, run
from tests.warm import Process


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a run from beginning to end."""
    folder = tmp_path_factory.mktemp("training") / "undisturbed"
    run(folder)
    return folder


def test_a_policy_is_rated_at_the_temperature_the_evaluation_asks_for(tmp_path):
    for wanted in (0.0, 1.0):
        config, game = validate_config({**TINY, "evaluation": {"temperature": wanted}}, where="test")
        play = SelfPlay(config, game, find_opponents(config, game, tmp_path), say=lambda text: None)
        assert play.rater.player(play.checkpoint(), matches=1, seed=0).temperature == wanted
        play.close()


@pytest.mark.parametrize("network", [{}, {"memory": "lstm"}])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path, network):
    changes = {"network": {**TINY["network"], **network}, "learner": {**TINY["learner"], "lr_schedule": "constant"}}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(whole, **changes)
    run(parts, **changes, decisions=700)
    assert run(parts, **changes).finished
    ours, theirs = load_checkpoint(parts / "best"), load_checkpoint(whole / "best")
    assert ours.version == theirs.version
    assert_same_weights(ours, theirs)
    assert lines(parts) == lines(whole)


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path, undisturbed):
    run(tmp_path / "again")
    run(tmp_path / "other", seed=1)
    assert lines(tmp_path / "again") == lines(undisturbed)
    assert lines(tmp_path / "other") != lines(undisturbed)


def test_a_run_folder_holds_what_the_docs_say(tmp_path):
    outcome = run(tmp_path / "r")
    names = {path.name for path in (tmp_path / "r").iterdir()}
    folders = {"tensorboard", "checkpoints", "best", "resume"}
    assert names == {"config.yaml", "environment.json", "metrics.jsonl", "ending.json"} | folders
    assert len(list((tmp_path / "r" / "checkpoints").iterdir())) == 2
    assert outcome.scores["random"].matches == 20


def test_every_metric_is_in_a_group(undisturbed):
    for line in lines(undisturbed, timed=True):
        assert {name.partition("/")[0] for name in line if "/" in name} <= {"play", "loss", "time", "rating", "gpu"}
        assert {name for name in line if "/" not in name} == {"update", "decisions", "time"}
        assert abs(line["time"] - time.time()) < 3600
    first = updates(undisturbed, timed=True)[0]
    play = ("decisions_per_second", "matches_per_second", "mean_batch", "episode_length", "mean_return")
    play += ("failed_matches", "policy_lag", "dropped")
    loss = ("policy_loss", "entropy", "approx_kl", "clip_fraction", "explained_variance", "value_bias", "learning_rate")
    stages = ("collect", "forward", "learn", "publish")
    wanted = {
        f"{group}/{name}" for group, names in (("play", play), ("loss", loss), ("time", stages)) for name in names
    }
    assert wanted <= first.keys()


def test_a_run_ends_with_the_update_that_reaches_its_decisions(tmp_path):
    outcome = run(tmp_path / "r", decisions=300)
    decisions = [line["decisions"] for line in updates(tmp_path / "r")]
    assert outcome.updates == len(decisions) == 2
    assert decisions[0] < 300 <= decisions[1] == outcome.decisions


def test_the_final_rating_is_in_the_metrics_once_and_a_longer_run_drops_it(tmp_path):
    """TINY rates after every third update: not after the last one of 300 decisions, but after that of 700."""
    outcome = run(tmp_path / "r", decisions=300)
    final = lines(tmp_path / "r")[-1]
    assert final["rating/update"] == final["update"] == outcome.updates == 2
    assert final["rating/win_rate/random"] == outcome.scores["random"].win_rate
    assert [line["update"] for line in lines(tmp_path / "r")] == [1, 2, 2]
    outcome = run(tmp_path / "r", decisions=700)
    assert [line["update"] for line in lines(tmp_path / "r")] == [1, 2, 3]
    assert lines(tmp_path / "r")[-1]["rating/win_rate/random"] == outcome.scores["random"].win_rate


def test_the_final_rating_of_a_solvable_game_says_its_nash_conv(tmp_path):
    run(tmp_path / "r", game="kuhn", settings={}, network={"width": 8}, decisions=300)
    assert lines(tmp_path / "r")[-1]["rating/nash_conv"] > 0


def test_metrics_written_after_the_last_checkpoint_are_not_doubled(tmp_path):
    run(tmp_path / "r", decisions=700)
    path = tmp_path / "r" / "metrics.jsonl"
    path.write_text(path.read_text() + '{"update": 99}\n{"upda')
    run(tmp_path / "r", decisions=1000)
    numbers = [line["update"] for line in updates(tmp_path / "r")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_callback_that_cannot_be_called_is_refused_before_the_run(tmp_path):
    with pytest.raises(InputError, match="on_update = 5: allowed: a function"):
        sparring.train("hex-quick", run=tmp_path / "r", on_update=5)
    assert not (tmp_path / "r").exists()


def test_a_file_is_no_run_folder(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes.txt is a file, not a run folder"):
        sparring.train("hex-quick", run=tmp_path / "notes.txt")


def test_a_callback_is_told_of_every_update(tmp_path):
    told = []
    outcome = run(tmp_path / "r", on_update=told.append)
    assert [update.update for update in told] == list(range(1, outcome.updates + 1))
    assert told[-1].decisions == outcome.decisions
    for update, line in zip(told, updates(tmp_path / "r"), strict=True):
        assert update.metrics["loss/entropy"] == pytest.approx(line["loss/entropy"])
    assert_same_weights(told[-1].checkpoint, load_checkpoint(tmp_path / "r" / "checkpoints" / f"{outcome.updates:08d}"))


def test_a_run_of_another_vocabulary_is_refused_and_told_how_its_weights_can_go_on(tmp_path):
    run(tmp_path, decisions=700)
    state = max(tmp_path.glob("resume/*/state.json"))
    saved = json.loads(state.read_text())
    assert "vocabulary" not in saved["values"], "Hex numbers no names"
    saved["values"]["vocabulary"] = "of another version"
    state.write_text(json.dumps(saved))
    (state.parent / "SHA256SUMS").unlink()
    with pytest.raises(InputError, match=f"another version of hex, .* can begin a new run: init={tmp_path}, .* --run"):
        run(tmp_path)


def test_what_a_callback_raises_stops_the_run_and_a_resumed_one_goes_on_from_there(tmp_path, undisturbed):
    def stop(update):
        if update.update == 3:
            raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        run(tmp_path / "parts", on_update=stop)
    assert (tmp_path / "parts" / "resume" / "00000003").is_dir()
    run(tmp_path / "parts")
    assert_same_weights(load_checkpoint(tmp_path / "parts" / "best"), load_checkpoint(undisturbed / "best"))
    assert lines(tmp_path / "parts") == lines(undisturbed)


@pytest.mark.parametrize("stage", ["collect", "learn", "rate"])
def test_a_second_interrupt_leaves_the_policy_of_the_last_complete_update(tmp_path, undisturbed, monkeypatch, stage):
    """Wherever the third update is broken off, the second one's policy is saved, and the run can be resumed."""
    config, game = validate_config({**TINY, "checkpoint": {"every": 100}}, where="test")
    seen, said = {}, []

    def breaks_off(real):
        def call(owner, *arguments, **named):
            result = real(owner, *arguments, **named)
            if len(seen) == 2:
                raise KeyboardInterrupt
            return result

        return call

    def note(update):
        seen[update.update] = update.checkpoint

    place = {"collect": (SelfPlay, "_collect"), "learn": (SelfPlay, "_learn"), "rate": (SelfPlay, "adapt")}[stage]
    with monkeypatch.context() as patch:
        patch.setattr(*place, breaks_off(getattr(*place)))
        with pytest.raises(KeyboardInterrupt):
            train(config, game, RunFolder(tmp_path / "r"), on_update=note, say=said.append)
    assert said[-1] == "stopped at once; the same command begins anew"
    assert json.loads((tmp_path / "r" / "ending.json").read_text())["how"] == "stopped"
    saved = load_checkpoint(tmp_path / "r" / "checkpoints" / "00000002")
    assert saved.version == 2
    assert_same_weights(saved, seen[2])
    assert [path.name for path in (tmp_path / "r" / "checkpoints").iterdir()] == ["00000002"]
    assert train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None).finished
    assert_same_weights(load_checkpoint(tmp_path / "r" / "best"), load_checkpoint(undisturbed / "best"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 5}, "seed: 0 there, 5 here"),
        ({"settings": {"size": 4}}, "settings.size: 3 there, 4 here"),
        ({"learner": {**TINY["learner"], "learning_rate": 0.5}}, "learner.learning_rate: 0.001 there, 0.5 here"),
        ({"learner": {"kind": "rnad"}}, "learner.kind: ppo there, rnad here"),
    ],
)
def test_a_folder_of_another_run_is_refused_with_the_key_and_both_values(tmp_path, changes, said):
    config, _ = validate_config(TINY, where="test")
    folder = RunFolder(tmp_path / "r")
    folder.open(config)
    folder.close()
    with pytest.raises(InputError, match=re.escape(f"holds another run ({said})")):
        run(tmp_path / "r", **changes)


def test_settings_that_only_workers_find_unusable_leave_no_folder(tmp_path, monkeypatch):
    def refuse(arena):
        raise InputError("the simulator is not installed")

    monkeypatch.setattr("sparring.rollout.workers.WorkerArena.start", refuse)
    with pytest.raises(InputError, match="the simulator"):
        run(tmp_path / "run", workers=1)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_run_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        run(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_folder_in_which_another_process_trains_is_refused(tmp_path):
    config, _ = load_config("hex-quick", [])
    first, second = RunFolder(tmp_path / "r"), RunFolder(tmp_path / "r")
    first.open(config)
    with pytest.raises(InputError, match="another process is training there"):
        second.open(config)
    first.close()
    second.open(config)
    second.close()


def test_a_nan_stops_the_run_and_leaves_the_batch(tmp_path, monkeypatch):
    from sparring.learn import ppo

    real = ppo.generalised_advantages

    def poisoned(*arguments):
        advantage, target = real(*arguments)
        target[0] = float("nan")
        return advantage, target

    monkeypatch.setattr(ppo, "generalised_advantages", poisoned)
    with pytest.raises(RunError, match=r"value target is not finite at update 1; the batch is in .*not-finite"):
        run(tmp_path / "r")
    assert (tmp_path / "r" / "not-finite.safetensors").stat().st_size > 1000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_exits_with_0(tmp_path, number):
    words = ["learner.batch_size=512", "matches=32", "decisions=100_000_000", "threads=1", "evaluation.every=0"]
    process = Process("train", "hex-quick", "--run", tmp_path / "r", *words)
    metrics = tmp_path / "r" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "stopping after this update; again to stop now" in errors
    assert "the same command continues" in errors
    saved = load_checkpoint(tmp_path / "r")
    assert saved.version == lines(tmp_path / "r")[-1]["update"]


def test_hex_quick_shortened_beats_random(tmp_path):
    """A small part of the preset already beats random far beyond chance (60% of 200 matches would be 3 sigma)."""
    overrides = ["decisions=50_000", "threads=1", "evaluation.every=0", "evaluation.matches=200", "settings.size=3"]
    overrides += ["network.channels=16", "network.blocks=1", "learner.batch_size=4096", "learner.learning_rate=3e-3"]
    config, game = load_config("hex-quick", overrides)
    outcome = train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None)
    assert outcome.scores["random"].win_rate > 0.75


@pytest.mark.slow
def test_hex_quick_beats_random_and_the_heuristic(tmp_path):
    config, game = load_config("hex-quick", ["evaluation.opponents=[random, path]"])
    outcome = train(config, game, RunFolder(tmp_path / "r"), say=lambda text: None)
    assert outcome.scores["random"].win_rate >= 0.99
    assert outcome.scores["path"].win_rate >= 0.70
