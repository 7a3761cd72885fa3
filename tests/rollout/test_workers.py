"""An arena played by other processes is an arena like any other, and outlives them."""

import os
import pickle
import signal
from multiprocessing import get_context
from time import monotonic

import numpy as np
import pytest

from sparring.core import IllegalAction, InputError, MissingPackage, RandomPlayer, RunError, check_arena, load_game
from sparring.core.game import game_names
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.inference.engine import Asked
from sparring.rollout import Collector, everyone, workers
from sparring.rollout.slabs import make_groups
from sparring.rollout.workers import WorkerArena
from tests import hex

SPEC = hex.spec()


@pytest.fixture(scope="module", autouse=True)
def forked():
    """Workers are forked from a process that has imported this module: as workers they are the same, only sooner."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "get_context", lambda method: context)
        yield


@pytest.fixture
def spawned(monkeypatch):
    """Workers are new processes, as outside of tests."""
    monkeypatch.setattr(workers, "get_context", get_context)


@pytest.fixture
def arena():
    said = []
    made = WorkerArena(hex.GAME, hex.settings(), matches=10, seed=0, workers=2, say=said.append)
    made.said = said
    yield made
    made.close()


def test_matches_are_dealt_evenly_to_two_groups_a_worker():
    groups = make_groups(matches=10, seats=2, workers=2, each=2)
    assert [(g.worker, g.size) for g in groups] == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert [g.rows for g in groups] == [slice(0, 4), slice(4, 10), slice(10, 14), slice(14, 20)]
    assert [(g.worker, g.size) for g in make_groups(matches=1, seats=2, workers=2, each=2)] == [(1, 1)]


@pytest.mark.parametrize("name", game_names())
def test_every_game_can_be_handed_to_another_process(name):
    assert pickle.dumps(load_game(name))


@pytest.mark.usefixtures("spawned")
def test_it_keeps_the_rules_of_an_arena_with_new_processes(arena):
    assert check_arena(arena, matches=20).failed == 0


def test_it_keeps_the_rules_of_an_arena(arena):
    arena.start()  # else one worker may play all of it before the other is there
    report = check_arena(arena, matches=200)
    assert report.failed == 0


def test_rows_of_one_wait_may_be_answered_in_parts(arena):
    player = RandomPlayer(0)
    ended, stones = 0, np.zeros(10, np.int64)
    while ended < 20:
        decisions, results = arena.wait()
        assert not results.failed.any()
        ended += len(results)
        stones[results.match] = 0
        shown = decisions.observation["planes"].sum(axis=(1, 2, 3))
        np.testing.assert_array_equal(shown, stones[decisions.match])  # every part was played, and only once
        for rows in np.array_split(np.arange(len(decisions)), 3):
            part = decisions.take(rows)
            arena.act(part, player.act(part).action)
        stones[decisions.match] += 1


def test_an_illegal_action_is_refused_and_nothing_is_played(arena):
    decisions, _ = arena.wait()
    right = RandomPlayer(0).act(decisions).action
    wrong = right.copy()
    wrong[0] = 999
    with pytest.raises(IllegalAction, match="match 0, seat 0: action 999 is not legal; legal: 0, 1, 2, "):
        arena.act(decisions, wrong)
    arena.act(decisions, right)
    with pytest.raises(InputError, match="no row waits for this action"):
        arena.act(decisions, right)


def test_waiting_for_nothing_is_an_error_and_not_a_hang(arena):
    seen = 0
    while seen < 10:
        seen += len(arena.wait()[0])
    with pytest.raises(InputError, match="answer them with `act` first"):
        arena.wait()


def test_a_killed_worker_is_replaced_soon_and_its_matches_fail(arena):
    player = RandomPlayer(0)
    running = set()
    while running < set(range(10)):
        decisions, _ = arena.wait()
        running |= set(decisions.match.tolist())
        arena.act(decisions, player.act(decisions).action)
    victim = arena.processes[0]
    os.kill(victim, signal.SIGKILL)
    killed = monotonic()
    failed = []
    while not failed:
        decisions, results = arena.wait()
        failed = results.match[results.failed].tolist()
        arena.act(decisions, player.act(decisions).action)
    assert monotonic() - killed < 20  # a fraction of a second where nothing else runs
    assert failed == [0, 1, 2, 3, 4]
    assert victim not in arena.processes
    assert [line for line in arena.said if "signal 9" in line]
    new = set()
    while new < set(range(5)):
        decisions, results = arena.wait()
        assert not results.failed.any()
        new |= set(decisions.match[decisions.first].tolist())
        arena.act(decisions, player.act(decisions).action)


def test_rows_out_when_their_worker_died_may_still_be_answered(arena):
    player = RandomPlayer(0)
    held, _ = arena.wait()
    held = held.take(np.arange(len(held)))
    for pid in arena.processes:
        os.kill(pid, signal.SIGKILL)
    failed = np.empty(0, np.int32)
    while not set(held.match.tolist()) <= set(failed.tolist()):
        decisions, results = arena.wait()
        failed = np.concatenate([failed, results.match[results.failed]])
        arena.act(decisions, player.act(decisions).action)
    arena.act(held, player.act(held).action)
    ended = set()
    while not set(held.match.tolist()) <= ended:  # the matches that replaced them are played to their ends
        decisions, results = arena.wait()
        assert not results.failed.any()
        ended |= set(results.match.tolist())
        arena.act(decisions, player.act(decisions).action)
    for _ in range(20):
        decisions, _ = arena.wait()
        arena.act(decisions, player.act(decisions).action)


class Refusing(type(hex.GAME)):
    def arena(self, settings, *, matches, seed):
        raise InputError("the simulator is not installed")


class Lacking(type(hex.GAME)):
    def arena(self, settings, *, matches, seed):
        raise MissingPackage("the simulator is not installed")


@pytest.mark.usefixtures("spawned")
@pytest.mark.parametrize(("game", "call"), [(Refusing, "start"), (Lacking, "wait")])
def test_bad_input_found_by_workers_is_raised_here_and_they_are_quiet(capfd, game, call):
    arena = WorkerArena(game(), hex.settings(), matches=2, seed=0, workers=2, say=print)
    try:
        with pytest.raises(InputError, match="the simulator is not installed"):
            getattr(arena, call)()
    finally:
        arena.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("spawned")
def test_ctrl_c_at_the_terminal_leaves_workers_alone_from_their_first_moment(capfd):
    arena = WorkerArena(hex.GAME, hex.settings(), matches=2, seed=0, workers=1, say=print)
    try:
        os.kill(arena.processes[0], signal.SIGINT)
        assert len(arena.wait()[0])
    finally:
        arena.close()
    assert capfd.readouterr() == ("", "")


def test_rows_that_came_in_while_workers_started_are_shown(arena):
    arena.start()
    assert check_arena(arena, matches=20).failed == 0


class Fragile(type(hex.GAME)):
    """Its arenas break at their third step."""

    def arena(self, settings, *, matches, seed):
        arena = super().arena(settings, matches=matches, seed=seed)
        act, steps = arena.act, iter("12")

        def break_soon(decisions, actions):
            if next(steps, None) is None:
                raise OverflowError("the third step is too much")
            act(decisions, actions)

        arena.act = break_soon
        return arena


def test_the_traceback_of_a_worker_that_fails_is_shown_once_and_play_goes_on():
    said = []
    arena = WorkerArena(Fragile(), hex.settings(), matches=4, seed=0, workers=1, say=said.append)
    player = RandomPlayer(0)
    failed = 0
    try:
        while failed < 8:
            decisions, results = arena.wait()
            failed += int(results.failed.sum())
            arena.act(decisions, player.act(decisions).action)
    finally:
        arena.close()
    shown = [line for line in said if "OverflowError: the third step is too much" in line]
    assert len(shown) == 1
    assert "break_soon" in shown[0]


class Doomed(WorkerArena):
    """Its workers die as soon as they are started."""

    def _start(self, number, **more):
        worker = super()._start(number, **more)
        worker.process.kill()
        return worker


def test_a_worker_that_keeps_dying_ends_the_run():
    arena = Doomed(hex.GAME, hex.settings(), matches=2, seed=0, workers=1, say=lambda text: None)
    try:
        with pytest.raises(RunError, match="died 3 times before its first row"):
            arena.wait()
    finally:
        arena.close()


def test_a_collector_plays_it_with_a_recurrent_network_and_repeats_every_distribution(arena):
    """Episodes out of shared memory hold what the network says when it sees the same rows again in order."""
    engine = InferenceEngine(SPEC, slots=20, device=Device("cpu", "float32"), seed=0)
    engine.add("main", hex.policy(memory="lstm"))
    collector = Collector(
        arena,
        {"main": NetworkPlayer(engine, "main", keep_policy=True)},
        everyone(0, SPEC.seats),
        record=["main"],
        keep_policy=True,
    )
    episodes = collector.collect(600)
    again = InferenceEngine(SPEC, slots=len(episodes), device=Device("cpu", "float32"), seed=0)
    again.add("main", hex.policy(memory="lstm"))
    slots = np.arange(len(episodes))
    for step in range(int(episodes.headers.lengths.max())):
        here = np.flatnonzero(episodes.headers.lengths > step)
        rows = episodes.starts[here] + step
        asked = Asked(
            slot=slots[here],
            first=np.full(len(here), step == 0),
            uniform=np.zeros(len(here), np.float32),
            legal=episodes.unpack_legal(rows),
            observation={name: array[rows] for name, array in episodes.steps.observation.items()},
        )
        answers = again.answer_asked(asked, "main", keep_policy=True)
        np.testing.assert_allclose(answers.policy, episodes.steps.policy[rows], atol=1e-5)


@pytest.mark.parametrize("rows", [20, 1000])
def test_told_to_gather_a_wait_goes_on_until_all_rows_that_can_come_are_there(rows):
    arena = WorkerArena(hex.GAME, hex.settings(), matches=20, seed=0, workers=2, say=print)
    try:
        arena.gather(rows, 60.0)
        for _ in range(4):
            decisions, _ = arena.wait()
            assert len(decisions) == 20
            arena.act(decisions, RandomPlayer(0).act(decisions).action)
    finally:
        arena.close()


def test_gathering_ends_when_its_time_is_up():
    arena = WorkerArena(hex.GAME, hex.settings(), matches=4, seed=0, workers=2, say=print)
    try:
        arena.gather(1000, 0.2)
        arena.start()
        decisions, _ = arena.wait()
        part = decisions.take(np.flatnonzero(decisions.match < 2))
        arena.act(part, RandomPlayer(0).act(part).action)  # the other groups' rows stay out
        started = monotonic()
        assert 0 < len(arena.wait()[0]) <= len(part)
        assert monotonic() - started < 60
    finally:
        arena.close()
