"""What a run does with stores that are damaged, empty, of another game or format, or that change under it."""

import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

from sparring.cli import main
from sparring.core import InputError, RunError
from sparring.core.episodes import pack_mask
from sparring.rollout.store import EpisodeStore, shards
from sparring.training.config import validate_config
from sparring.training.loop import train
from sparring.training.run import RunFolder
from tests.data.stores import hex_store, played
from tests.runs import lines
from tests.training.support import TINY_STUDY


def run(folder, store, **changes):
    """Trains on `store`; what was said."""
    said = []
    config, game = validate_config({**TINY_STUDY, "data": [str(store)], **changes}, where="test")
    assert train(config, game, RunFolder(folder), say=said.append).finished
    return said


def damage(store, number=1):
    path = shards(store)[number]
    path.write_bytes(path.read_bytes()[:-300])
    return path


def test_damaged_files_are_left_out_of_a_run_each_named_once(tmp_path):
    hurt = damage(hex_store(tmp_path / "store"))
    named = [line for line in run(tmp_path / "run", tmp_path / "store") if str(hurt) in line]
    assert len(named) == 1
    assert named[0].startswith("left out: ")


def test_strict_refuses_them_and_leaves_no_run(tmp_path, monkeypatch, capsys):
    hurt = damage(hex_store(tmp_path / "store"))
    with pytest.raises(InputError, match=str(hurt)):
        run(tmp_path / "run", tmp_path / "store", strict=True)
    preset = tmp_path / "mine.yaml"
    preset.write_text("game: hex\nsettings: {size: 3}\nlearner: {kind: imitation}\ndecisions: 100\n")
    arguments = ["train", preset, f"data={tmp_path / 'store'}", "--strict", "--run", tmp_path / "run"]
    monkeypatch.setattr(sys, "argv", ["sparring", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert str(hurt) in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_stores_without_episodes_are_one_line(tmp_path):
    with EpisodeStore(tmp_path / "empty", played(10).spec):
        pass
    with pytest.raises(InputError, match="empty: no episodes here"):
        run(tmp_path / "run", tmp_path / "empty")
    with pytest.raises(InputError, match="nowhere: no such folder of episodes"):
        run(tmp_path / "run", tmp_path / "nowhere")
    hex_store(tmp_path / "store")
    with pytest.raises(InputError, match="none of the .* episodes fits the filter"):
        run(tmp_path / "run", tmp_path / "store", validation={"since": "1990-01-01"})
    assert not (tmp_path / "run").exists()


def test_stores_of_something_else_are_one_line(tmp_path):
    hex_store(tmp_path / "larger", size=4)
    with pytest.raises(InputError, match="data: no planes in the observation"):
        run(tmp_path / "run", tmp_path / "larger")
    with pytest.raises(InputError, match="data: episodes of hex, not of kuhn"):
        run(tmp_path / "run", tmp_path / "larger", game="kuhn", settings={}, network={})
    assert not (tmp_path / "run").exists()


def test_a_file_with_results_that_are_no_numbers_counts_as_damaged(tmp_path):
    episodes = played(60)
    outcome = episodes.headers.outcome.copy()
    outcome[3] = np.nan
    with EpisodeStore(hex_store(tmp_path / "store"), episodes.spec) as store:
        store.append(replace(episodes, headers=replace(episodes.headers, outcome=outcome)))
    hurt = shards(tmp_path / "store")[-1]
    (line,) = [line for line in run(tmp_path / "run", tmp_path / "store") if line.startswith("left out: ")]
    assert str(hurt) in line
    assert "outcome" in line


def test_a_reward_that_is_no_number_stops_the_run_before_a_weight_changes(tmp_path):
    episodes = played(200)
    reward = episodes.steps.reward.copy()
    reward[::7] = np.nan
    with EpisodeStore(tmp_path / "store", episodes.spec) as store:
        store.append(replace(episodes, steps=replace(episodes.steps, reward=reward)))
    with pytest.raises(RunError, match="training stopped: value target is not finite"):
        run(tmp_path / "run", tmp_path / "store", learner={**TINY_STUDY["learner"], "kind": "offline"})


def test_sets_of_actions_that_are_empty_or_forbidden_are_damage(tmp_path):
    episodes = played(60)
    legal = episodes.unpack_legal()
    for name, sets in (("empty", legal & (np.arange(len(legal)) != 5)[:, None]), ("forbidden", ~legal)):
        with EpisodeStore(tmp_path / name, episodes.spec) as store:
            store.append(replace(episodes, steps=replace(episodes.steps, consistent=pack_mask(sets))))
        with pytest.raises(InputError, match="arrow: damaged episode file .consistent: sets of actions that are empty"):
            run(tmp_path / "run", tmp_path / name)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_killed_in_the_middle_of_an_epoch_goes_on_as_if_it_had_not_been(tmp_path, workers):
    store = hex_store(tmp_path / "store")
    config, game = validate_config({**TINY_STUDY, "data": [str(store)], "workers": workers}, where="test")
    child = os.fork()
    if child == 0:
        train(config, game, RunFolder(tmp_path / "killed"), on_update=kill_after(2), say=lambda text: None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    run(tmp_path / "killed", store, workers=workers)
    run(tmp_path / "whole", store, workers=workers)
    killed, whole = ({line["update"]: line for line in lines(tmp_path / name)} for name in ("killed", "whole"))
    assert killed == whole


def kill_after(updates):
    def on_update(update):
        if update.update > updates:
            os.kill(os.getpid(), signal.SIGKILL)

    return on_update


def test_a_store_may_grow_while_a_run_reads_it(tmp_path):
    store = hex_store(tmp_path / "store")

    def more(update):
        with EpisodeStore(store, played(10).spec) as there:
            there.append(played(60, seed=50 + update.update))

    config, game = validate_config({**TINY_STUDY, "data": [str(store)]}, where="test")
    assert train(config, game, RunFolder(tmp_path / "grown"), on_update=more, say=lambda text: None).finished
    still = hex_store(tmp_path / "still" / "store")
    run(tmp_path / "alone", still)
    assert lines(tmp_path / "grown") == lines(tmp_path / "alone")


def test_a_grown_store_is_another_and_a_run_is_not_resumed_on_it_unawares(tmp_path):
    store = hex_store(tmp_path / "store")
    run(tmp_path / "run", store, decisions=300)
    with EpisodeStore(store, played(10).spec) as there:
        there.append(played(60, seed=50))
    with pytest.raises(InputError, match="this position is of other episodes"):
        run(tmp_path / "run", store)


def test_two_runs_read_one_store_and_change_nothing_for_each_other(tmp_path):
    store = hex_store(tmp_path / "store")
    files = {path: path.read_bytes() for path in shards(store)}
    run(tmp_path / "one", store)

    def second(update):
        if update.update == 2:
            run(tmp_path / "inside", store)

    config, game = validate_config({**TINY_STUDY, "data": [str(store)]}, where="test")
    train(config, game, RunFolder(tmp_path / "two"), on_update=second, say=lambda text: None)
    assert lines(tmp_path / "one") == lines(tmp_path / "two") == lines(tmp_path / "inside")
    assert {path: path.read_bytes() for path in shards(store)} == files
