"""`sparring.train` as programs call it: settings as mappings, silence, threads and Ctrl-C."""

import os
import signal
from threading import Thread

import numpy as np
import pytest

import sparring
from sparring.core.code import own

QUICK = {
    "decisions": 600, "settings.size": 3, "evaluation.matches": 4, "evaluation.opponents": ["random"],
    "learner.batch_size": 128, "matches": 16,
}  # fmt: skip


def start(folder, **more):
    return sparring.train("hex-quick", QUICK, run=folder / "run", **more)


def test_settings_are_a_mapping_and_the_outcome_knows_its_folder(tmp_path):
    outcome = start(tmp_path, say=None)
    assert (outcome.finished, outcome.stopped, outcome.run) == (True, "", tmp_path / "run")
    assert outcome.decisions < 1200
    assert outcome.scores["random"].matches == 4
    assert sparring.load_checkpoint(outcome.run).spec.settings["size"] == 3


def test_without_say_nothing_is_shown(tmp_path, capfd):
    start(tmp_path, say=None)
    assert capfd.readouterr() == ("", "")


def test_a_callback_stops_it_with_numpys_true_and_anything_else_is_refused_after_saving(tmp_path):
    outcome = start(tmp_path, say=None, on_update=lambda update: np.mean([1.0]) > 0.5)
    assert (outcome.updates, outcome.finished, outcome.stopped) == (1, False, "the callback")
    with pytest.raises(sparring.InputError, match="on_update returned 'enough': allowed: True to stop here"):
        start(tmp_path, say=None, on_update=lambda update: "enough")
    assert start(tmp_path, say=None, on_update=lambda update: np.False_).finished


def test_it_trains_in_any_thread(tmp_path):
    found = []
    thread = Thread(target=lambda: found.append(start(tmp_path, say=None)))
    thread.start()
    thread.join()
    assert found[0].finished


def test_ctrl_c_saves_and_ends_the_program_that_trains(tmp_path):
    with pytest.raises(KeyboardInterrupt, match="is saved; the same call continues it"):
        start(tmp_path, say=None, on_update=lambda update: os.kill(os.getpid(), signal.SIGINT))
    assert start(tmp_path, say=None).finished


@pytest.mark.parametrize(
    ("preset", "more", "message"),
    [
        (None, {}, "preset = None: allowed: the name of a preset"),
        ("hex-quick", {"say": 3}, "say = 3: allowed: a function of one text, or None"),
        ("hex-quick", {"on_update": 3}, "on_update = 3: allowed: a function"),
        ("hex-quick", {"run": 3}, "run = 3: allowed: the path of a folder"),
    ],
)
def test_arguments_are_checked(preset, more, message):
    with pytest.raises(sparring.InputError, match=message):
        sparring.train(preset, **more)


def test_names_that_are_no_text_and_code_that_is_none_are_refused():
    with pytest.raises(sparring.InputError, match="game = None: allowed: the name of an installed game"):
        sparring.load_game(None)
    with pytest.raises(sparring.InputError, match="path = None: allowed: the folder of a store"):
        next(sparring.read_episodes(None))
    with pytest.raises(sparring.InputError, match=r"own\('hazards'\): allowed: a function or class"):
        own("hazards")


def test_shipped_weights_are_checkpoints_by_name():
    assert sparring.load_checkpoint("hex-7x7").spec.settings["size"] == 7
    with pytest.raises(sparring.InputError, match="not by None"):
        sparring.load_checkpoint(None)


def test_completion_offers_the_public_names_alone():
    assert dir(sparring) == sorted(sparring.__all__)
