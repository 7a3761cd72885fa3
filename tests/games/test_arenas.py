"""What the arenas of all games that come with Sparring have in common, beyond the protocol that `check_arena` tests."""

import numpy as np
import pytest

from sparring.core import Answers, InputError, RandomPlayer, RunError, load_game
from sparring.rollout import WorkerArena

GAMES = ["hex", "kuhn", "rocket", "pokemon"]


def game_of(name):
    """The game; the test is skipped where `sparring setup` has not been run."""
    game = load_game(name)
    try:
        game.arena(game.settings(), matches=1, seed=0).close()
    except InputError as error:
        pytest.skip(str(error))
    return game


@pytest.fixture(params=[*GAMES, "workers"])
def arena(request):
    game = game_of("kuhn" if request.param == "workers" else request.param)
    if request.param == "workers":
        opened = WorkerArena(game, game.settings(), matches=2, seed=0, workers=1)
    else:
        opened = game.arena(game.settings(), matches=2, seed=0)
    yield opened
    opened.close()


def test_actions_are_an_array_of_whole_numbers_one_for_each_row(arena):
    decisions, _ = arena.wait()
    answers, k = RandomPlayer(0).act(decisions), len(decisions)
    for given, told in (
        (answers, "actions: Answers; allowed: their array, answers.action"),
        (answers.action.tolist(), rf"actions: of type list; allowed: an array int32\[{k}\]"),
        (answers.action.astype(np.float32), rf"actions: float32\[{k}\]; allowed: int32\[{k}\]"),
        (np.zeros(k + 1, np.int32), rf"actions: int32\[{k + 1}\]; allowed: int32\[{k}\], one for each row"),
    ):
        with pytest.raises(InputError, match=told):
            arena.act(decisions, given)
    arena.act(decisions, answers.action)


def test_a_closed_arena_says_so(arena):
    decisions, _ = arena.wait()
    answers: Answers = RandomPlayer(0).act(decisions)
    arena.close()
    arena.close()
    with pytest.raises(RunError, match="the arena is closed"):
        arena.act(decisions, answers.action)
    with pytest.raises(RunError, match="the arena is closed"):
        arena.wait()


def test_an_arena_prints_what_is_played(arena):
    assert repr(arena) == f"<{type(arena).__name__}: 2 matches of {arena.spec}>"
    assert str(arena.spec).startswith(arena.spec.game)


@pytest.mark.parametrize("name", GAMES)
def test_settings_that_are_none_of_the_game_and_no_matches_are_refused(name):
    game = game_of(name)
    kind = game.settings.__name__
    for call in (game.spec, lambda settings: game.arena(settings, matches=1, seed=0)):
        with pytest.raises(InputError, match=rf"allowed: a {kind}, such as game.settings\(size=5\)"):
            call({"size": 5})
        with pytest.raises(InputError, match=rf"settings = None: allowed: a {kind}, such as game.settings\(\)"):
            call(None)
    for matches in (0, "4", 1.5):
        with pytest.raises(InputError, match=f"matches = {matches!r}: allowed: a whole number, 1 or more"):
            game.arena(game.settings(), matches=matches, seed=0)
    assert repr(game) == f"<{type(game).__name__}: {name}>"
