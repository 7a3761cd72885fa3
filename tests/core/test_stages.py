"""Arenas say where their time goes, each second once, and how busy their helpers are."""

import os
from time import perf_counter, process_time

import pytest

from sparring.core import Helped, Installable, RandomPlayer, Staged, Ticking, game_names, load_game
from sparring.core.machine import cpu_seconds
from sparring.core.settings import convert
from sparring.rollout import WorkerArena

KINDS = {"env", "encode", "mask", "reward"}
SETTINGS = {"rocket": {"seconds": 5}, "hex": {"size": 7}}


@pytest.fixture(scope="module", autouse=True)
def installed():
    for name in game_names():
        game = load_game(name)
        if isinstance(game, Installable):
            game.install(game.settings(), lambda text: None)


def play(arena, seconds):
    """Plays on for a while; the seconds spent in `wait` and `act`, and the decisions."""
    player, inside, decisions, start = RandomPlayer(0), 0.0, 0, perf_counter()
    while perf_counter() - start < seconds:
        began = perf_counter()
        rows, _ = arena.wait()
        inside += perf_counter() - began
        if len(rows):
            decisions += len(rows)
            action = player.act(rows).action
            began = perf_counter()
            arena.act(rows, action)
            inside += perf_counter() - began
    return inside, decisions


@pytest.fixture(params=["hex", "kuhn", "leduc", "rps", "pokemon", "rocket"])
def arena(request):
    game = load_game(request.param)
    made = game.arena(convert(SETTINGS.get(request.param, {}), game.settings, where="test"), matches=64, seed=0)
    yield made
    made.close()


def test_every_arena_of_ours_says_where_most_of_its_time_goes(arena):
    assert isinstance(arena, Staged)
    play(arena, 1.0)  # kernels are compiled, processes started
    before = dict(arena.stages.seconds)
    inside, _ = play(arena, 0.5)
    spent = {stage: seconds - before.get(stage, 0.0) for stage, seconds in arena.stages.seconds.items()}
    assert {stage.partition("/")[0] for stage in spent} <= KINDS
    assert {"env", "encode"} <= {stage.partition("/")[0] for stage in spent}
    assert min(spent.values()) >= 0
    assert 0.2 * inside < sum(spent.values()) <= inside


def test_rocket_counts_its_ticks_and_its_threads():
    game = load_game("rocket")
    arena = game.arena(convert({"threads": 2}, game.settings, where="test"), matches=8, seed=0)
    try:
        assert isinstance(arena, Ticking)
        _, decisions = play(arena, 0.3)
        helpers = arena.helpers()
        assert (helpers.count, helpers.waits) == (2, "env/threads")
        assert set(arena.stages.seconds) == {"env/threads"}
        assert {"env/physics", "encode", "reward"} <= set(helpers.seconds)
        assert abs(arena.ticks - 8 * decisions / 2) <= 8 * 8 * 2  # eight ticks a step of two cars; some are under way
    finally:
        arena.close()


def test_the_simulators_of_pokemon_are_helpers():
    game = load_game("pokemon")
    arena = game.arena(game.settings(), matches=16, seed=0)
    try:
        assert isinstance(arena, Helped)
        before = arena.helpers().seconds["env/simulator"]
        play(arena, 0.5)
        assert arena.helpers().seconds["env/simulator"] > before + 0.05
        assert arena.helpers().waits in arena.stages.seconds
    finally:
        arena.close()


def test_workers_say_how_long_they_have_played():
    game = load_game("hex")
    arena = WorkerArena(game, convert({"size": 5}, game.settings, where="test"), matches=64, seed=0, workers=2)
    try:
        arena.start()
        before = arena.helpers().seconds["env"]
        start = perf_counter()
        play(arena, 0.5)
        helpers = arena.helpers()
        assert (helpers.count, helpers.waits) == (2, "env/workers")
        assert 0 < helpers.seconds["env"] - before < 2 * (perf_counter() - start)
    finally:
        arena.close()


def test_the_cpu_time_of_a_process_and_of_one_that_is_not_there():
    mine = cpu_seconds(os.getpid())
    assert mine is not None
    assert abs(mine - process_time()) < 0.5
    assert cpu_seconds(2**22 + 1) is None
