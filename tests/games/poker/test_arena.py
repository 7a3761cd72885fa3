"""The tree arena keeps the protocol, deals fairly, pays what the rules say, and asks both seats at once in RPS."""

import numpy as np
import pytest

from sparring.core import Answers, IllegalAction, InputError, RandomPlayer, check_arena, load_game
from sparring.games.poker.exact import expected_values, uniform_policy
from sparring.rollout import Collector, everyone

NAMES = ["kuhn", "leduc", "rps"]


def make(name, *, matches=64, seed=0):
    game = load_game(name)
    return game.arena(game.settings(), matches=matches, seed=seed)


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_arena_protocol(name):
    assert check_arena(make(name), matches=1000).matches >= 1000


@pytest.mark.parametrize("name", NAMES)
def test_random_play_earns_what_the_tree_says(name):
    """The mean of 20,000 matches lies within four standard errors of the exact value."""
    game = load_game(name)
    collector = Collector(make(name, matches=512), {"a": RandomPlayer(1)}, everyone(0, 2), record=["a"])
    episodes = collector.collect(90_000)
    seat = np.repeat(episodes.headers.seat, episodes.headers.lengths)
    match = np.repeat(episodes.headers.serial, episodes.headers.lengths)
    won = np.bincount(match[seat == 0], episodes.steps.reward[seat == 0])
    won = won[np.unique(match)]
    tree = game.tree(game.settings())
    exact = expected_values(tree, uniform_policy(tree))[0]
    assert abs(won.mean() - exact) < 4 * won.std() / np.sqrt(len(won))
    assert len(won) > 15_000


def test_every_deal_of_kuhn_is_equally_likely():
    arena = make("kuhn", matches=6000)
    decisions, _ = arena.wait()
    cards = decisions.observation["state"][:, 2:5].sum(axis=0)
    assert (np.abs(cards - 2000) < 4 * np.sqrt(6000 * 2 / 9)).all()


def test_rock_paper_scissors_asks_both_seats_in_one_wait_and_tells_neither():
    arena = make("rps", matches=3)
    decisions, _ = arena.wait()
    assert decisions.match.tolist() == [0, 0, 1, 1, 2, 2]
    assert decisions.seat.tolist() == [0, 1] * 3
    np.testing.assert_array_equal(decisions.observation["state"], [[1, 0], [0, 1]] * 3)


def test_seats_of_one_move_may_be_answered_apart_and_in_any_order():
    arena = make("rps", matches=1)
    decisions, _ = arena.wait()
    arena.act(decisions.take(np.array([1])), np.array([0], np.int32))
    arena.act(decisions.take(np.array([0])), np.array([1], np.int32))
    _, results = arena.wait()
    np.testing.assert_array_equal(results.reward, [[2, -2]])  # seat 0's paper over seat 1's rock
    np.testing.assert_array_equal(results.outcome, [[1, -1]])


def test_an_illegal_action_is_refused_and_nothing_is_played():
    arena = make("leduc", matches=4)
    decisions, _ = arena.wait()
    with pytest.raises(IllegalAction, match="match 2, seat 0: action 0 is not legal"):
        arena.act(decisions, np.array([1, 1, 0, 1], np.int32))
    with pytest.raises(IllegalAction, match="action 7"):
        arena.act(decisions, np.array([1, 1, 1, 7], np.int32))
    arena.act(decisions, np.ones(4, np.int32))
    assert arena.wait()[0].seat.tolist() == [1] * 4


def test_a_row_is_answered_once():
    arena = make("kuhn", matches=2)
    decisions, _ = arena.wait()
    arena.act(decisions, np.zeros(2, np.int32))
    with pytest.raises(InputError, match="answered once"):
        arena.act(decisions, np.zeros(2, np.int32))


def test_waiting_with_nothing_answered_is_an_error_and_not_a_hang():
    arena = make("kuhn", matches=2)
    arena.wait()
    with pytest.raises(InputError, match="answer them with `act` first"):
        arena.wait()


@pytest.mark.parametrize("name", NAMES)
def test_a_restored_arena_goes_on_as_the_first_did(name):
    arena, other = make(name, matches=16), make(name, matches=16, seed=9)

    def play(arena, waits):
        player, seen = RandomPlayer(4), []
        for _ in range(waits):
            decisions, results = arena.wait()
            seen.append((decisions.match, decisions.observation["state"], decisions.first, results.reward))
            if len(decisions):
                arena.act(decisions, player.act(decisions).action)
        return seen

    play(arena, 7)
    other.restore(arena.snapshot())
    for mine, theirs in zip(play(arena, 20), play(other, 20), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("name", "together"), [("rps", True), ("leduc", False)])
def test_turns_number_the_waits_of_a_match(name, together):
    """Seats that act at once share a turn; in an alternating game every row of a match has a turn of its own."""
    collector = Collector(make(name, matches=32), {"a": RandomPlayer(1)}, everyone(0, 2), record=["a"])
    collector.collect(300)
    episodes = collector.collect(1500)
    match = np.repeat(episodes.headers.serial, episodes.headers.lengths)
    seat = np.repeat(episodes.headers.seat, episodes.headers.lengths)
    for number in np.unique(match):
        turns, seats = episodes.steps.turn[match == number], seat[match == number]
        order = np.argsort(turns, kind="stable")
        if together:
            assert turns.tolist() == [0, 0]
        else:
            np.testing.assert_array_equal(turns[order], np.arange(len(turns)))
            assert seats[order][0] == 0


class Named:
    """Passes or calls, and says nothing else."""

    def act(self, decisions):
        return Answers(np.ones(len(decisions), np.int32))


def test_turns_start_anew_with_every_match():
    collector = Collector(make("kuhn", matches=8), {"a": Named()}, everyone(0, 2), record=["a"])
    episodes = collector.collect(400)
    np.testing.assert_array_equal(episodes.steps.turn, np.repeat(episodes.headers.seat, episodes.headers.lengths))
