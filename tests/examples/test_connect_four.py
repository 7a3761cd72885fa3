"""The Connect Four example: a plug-in like any other, and rules that agree with a naive reference."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from sparring.cli import app
from sparring.core import (
    ForwardModel,
    IllegalAction,
    InputError,
    RandomPlayer,
    Resumable,
    check_arena,
    load_game,
)
from sparring.league.evaluation import evaluate
from sparring.search import Symmetric
from sparring.training.config import load_config
from tests.examples.reference import Match

pytestmark = pytest.mark.usefixtures("installed")

SIZES = [(6, 7), (4, 4), (5, 9)]
WINS = {
    "across": [0, 0, 1, 1, 2, 2, 3],
    "across at the right edge": [6, 6, 5, 5, 4, 4, 3],
    "upright": [3, 0, 3, 0, 3, 0, 3],
    "upright, by the second seat": [0, 6, 1, 6, 0, 6, 1, 6],
    "rising": [0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3],
    "falling": [6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3],
}
DRAW = [3, 2, 1, 0, 2, 0, 0, 0, 3, 3, 1, 2, 3, 1, 2, 1]
"""On a board of 4x4."""


def game():
    return load_game("connect-four")


def settings(rows=6, columns=7):
    return game().settings(rows=rows, columns=columns)


def arena(rows=6, columns=7, matches=1):
    return game().arena(settings(rows, columns), matches=matches, seed=0)


def play(moves, rows=6, columns=7):
    """The decision and the results after `moves` of one match."""
    one = arena(rows, columns)
    decisions, results = one.wait()
    for move in moves:
        one.act(decisions, np.int32([move]))
        decisions, results = one.wait()
    return decisions, results


def test_is_listed_with_its_players_and_presets():
    output = CliRunner().invoke(app, ["games"], catch_exceptions=False).stdout
    for word in ("connect-four", "tactical"):
        assert word in output
    assert "connect-four-az" in CliRunner().invoke(app, ["games", "connect-four"], catch_exceptions=False).stdout


@pytest.mark.parametrize(
    ("preset", "learner"), [("connect-four", "PpoSettings"), ("connect-four-az", "AlphaZeroSettings")]
)
def test_presets_are_valid(preset, learner):
    config, plugin = load_config(preset, [])
    assert plugin.name == "connect-four"
    assert type(config.learner).__name__ == learner


def test_finding_the_game_imports_neither_torch_nor_a_compiler(example_path):
    code = (
        "import sys; from sparring.core import load_game; load_game('connect-four');"
        "print([name for name in ('torch', 'numba', 'connect_four.net', 'connect_four.arena') if name in sys.modules])"
    )
    path = os.pathsep.join([*example_path, *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_bad_settings_are_refused():
    result = CliRunner().invoke(app, ["play", "connect-four", "random", "--rows", "3"])
    assert isinstance(result.exception, InputError)
    assert "rows = 3" in str(result.exception)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_the_arena_keeps_the_protocol(rows, columns):
    checked = arena(rows, columns, matches=50)
    report = check_arena(checked, matches=400)
    assert report.failed == 0
    assert isinstance(checked, Resumable)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_arena_and_forward_model_agree_with_the_reference(rows, columns):
    shared = arena(rows, columns, matches=20)
    model: ForwardModel = game().model(shared.spec)
    player = RandomPlayer(1)
    references = [Match(rows, columns) for _ in range(20)]
    decisions, results = shared.wait()
    ends = {-1: 0, 0: 0, 1: 0}
    for _ in range(200):
        states = model.states(decisions.observation, decisions.legal)
        assert decisions.match.tolist() == list(range(20))
        assert decisions.seat.tolist() == [match.seat for match in references]
        assert decisions.legal.tolist() == [match.legal for match in references]
        assert np.array_equal(decisions.observation["planes"], [match.planes() for match in references])
        assert decisions.first.tolist() == [match.moves < 2 for match in references]
        assert np.array_equal(model.encode(states)["planes"], decisions.observation["planes"])
        assert np.array_equal(model.legal(states), decisions.legal)
        actions, before = player.act(decisions).action, states.copy()
        after = model.apply(states, actions)
        assert np.array_equal(states, before)
        shared.act(decisions, actions)
        decisions, results = shared.wait()
        over, value = model.outcome(after)
        for number, action in enumerate(actions.tolist()):
            match = references[number].play(action)
            assert over[number] == match.over
            assert value[number] == (match.outcome(match.seat) if match.over else 0)
            assert model.legal(after)[number].tolist() == match.legal
            if match.over:
                row = results.match.tolist().index(number)
                assert results.outcome[row].tolist() == [match.outcome(0), match.outcome(1)]
                assert results.reward[row].tolist() == results.outcome[row].tolist()
                ends[match.outcome(0)] += 1
                references[number] = Match(rows, columns)
        assert len(results) == over.sum()
    assert min(ends[-1], ends[1]) > 10
    assert ends[0] > 10 or rows > 4


@pytest.mark.parametrize("moves", WINS.values(), ids=WINS)
def test_four_in_a_row_wins_in_every_direction(moves):
    _, before = play(moves[:-1])
    assert len(before) == 0
    decisions, results = play(moves)
    winner = (len(moves) - 1) % 2
    assert results.outcome.tolist() == [[1, -1] if winner == 0 else [-1, 1]]
    assert decisions.first.all()
    assert not decisions.observation["planes"].any(), "the next match has begun"


def test_a_full_board_is_a_draw():
    _, results = play(DRAW, 4, 4)
    assert results.outcome.tolist() == [[0, 0]]
    assert len(play(DRAW[:-1], 4, 4)[1]) == 0


def test_lines_do_not_go_around_the_edge():
    _, results = play([4, 4, 5, 5, 6, 6, 0])
    assert len(results) == 0


def test_keys_depend_on_the_position_and_not_on_the_way_there():
    model = game().model(game().spec(settings()))

    def key(moves):
        decisions, _ = play(moves)
        return model.keys(model.states(decisions.observation, decisions.legal))[0]

    assert key([0, 1, 2, 3]) == key([2, 1, 0, 3])
    assert len({int(key(moves)) for moves in ([], [0], [1], [0, 1], [1, 0], [0, 0])}) == 6


def test_the_mirror_image_plays_the_same():
    model = game().model(game().spec(settings()))
    assert isinstance(model, Symmetric)
    decisions, _ = play([0, 0, 1, 5])
    image, permutation = model.symmetry(decisions.observation)
    mirrored, _ = play([6, 6, 5, 1])
    assert np.array_equal(image["planes"], mirrored.observation["planes"])
    assert permutation.tolist() == [6, 5, 4, 3, 2, 1, 0]


def test_what_the_rules_forbid_is_refused_and_nothing_is_played():
    shared = arena(matches=2)
    for _ in range(6):
        decisions, _ = shared.wait()
        shared.act(decisions, np.int32([0, 1]))
    decisions, _ = shared.wait()
    before = shared.snapshot()
    for wrong in ([3, 1], [3, 7], [3, -1]):
        with pytest.raises(IllegalAction):
            shared.act(decisions, np.int32(wrong))
    with pytest.raises(InputError, match="once"):
        shared.act(decisions.take(np.array([0, 0])), np.int32([2, 3]))
    assert all(np.array_equal(shared.snapshot()[name], array) for name, array in before.items())
    shared.act(decisions, np.int32([3, 3]))
    with pytest.raises(InputError, match="once"):
        shared.act(decisions, np.int32([3, 3]))


def test_openings_are_random_stones_in_turns_that_decide_nothing():
    with_opening = game().settings(rows=4, columns=4, opening=4)
    first, second = (game().arena(with_opening, matches=200, seed=seed) for seed in (1, 2))
    decisions, _ = first.wait()
    shown = decisions.observation["planes"]
    assert (shown.sum(axis=(2, 3)) == 2).all()
    assert decisions.first.all()
    assert (decisions.seat == 0).all()
    assert len(np.unique(shown.reshape(200, -1), axis=0)) > 50
    assert not np.array_equal(second.wait()[0].observation["planes"], shown)
    assert check_arena(game().arena(with_opening, matches=50, seed=1), matches=300).failed == 0
    assert game().spec(with_opening) == first.spec == game().spec(settings(4, 4))


def test_a_restored_arena_goes_on_with_the_same_openings():
    first, second = (game().arena(game().settings(opening=3), matches=20, seed=1) for _ in range(2))
    player = RandomPlayer(0)
    decisions, _ = first.wait()
    for _ in range(30):
        first.act(decisions, player.act(decisions).action)
        decisions, _ = first.wait()
    second.restore(first.snapshot())
    other = decisions
    for _ in range(30):
        action = player.act(decisions).action
        first.act(decisions, action)
        second.act(other, action)
        (decisions, _), (other, _) = first.wait(), second.wait()
        assert np.array_equal(decisions.observation["planes"], other.observation["planes"])
        assert np.array_equal(decisions.first, other.first)


def test_rows_may_be_answered_apart_and_a_snapshot_brings_them_back():
    shared, again = arena(matches=3), arena(matches=3)
    decisions, _ = shared.wait()
    shared.act(decisions.take(np.array([1])), np.int32([4]))
    again.restore(shared.snapshot())
    for one in (shared, again):
        second, _ = one.wait()
        assert (second.match.tolist(), second.seat.tolist()) == ([1], [1])
        one.act(decisions.take(np.array([0, 2])), np.int32([0, 0]))
        assert one.wait()[0].match.tolist() == [0, 2]
        with pytest.raises(InputError, match="answer them with `act` first"):
            one.wait()


@pytest.mark.parametrize(
    ("moves", "answer"),
    [([3, 0, 3, 0, 3, 0], 3), ([3, 0, 3, 0, 3], 3), ([0, 3, 0, 3, 0, 3], 0)],
    ids=["wins", "blocks", "rather wins than blocks"],
)
def test_the_tactical_player_wins_and_blocks(moves, answer):
    decisions, _ = play(moves)
    player = game().players["tactical"](settings(), 0)
    assert player.act(decisions).action.tolist() == [answer]


def test_the_tactical_player_beats_random():
    score = evaluate(game().players["tactical"](settings(), 0), RandomPlayer(1), arena(matches=64), matches=200)
    assert score.win_rate > 0.9


def test_a_person_can_play_it():
    typed = "nonsense\n9\n1\n2\n3\n4\n"
    result = CliRunner().invoke(app, ["play", "connect-four", "random", "--seed", "3"], input=typed * 20)
    assert result.exit_code == 0, result.output
    assert "'9' is no column with room; type one of 1, 2, 3, 4, 5, 6, 7." in result.stdout
    assert result.stdout.endswith(("You won.\n", "You lost.\n", "A draw.\n"))
    stones = result.stdout.split("You are X.")[-1]
    assert stones.count("X") - stones.count("O") in (0, 1), "the last position is shown, as seat 0 sees it"
    assert stones.count("X") > 3
    left = CliRunner().invoke(app, ["play", "connect-four", "tactical", "--seat", "1"], input="4\n")
    assert left.exit_code == 0
    first, second = left.stdout.split("You are X.")[:2]
    assert (first.count("X"), first.count("O")) == (0, 1), "the other seat has moved"
    assert (second.count("X"), second.count("O")) == (1, 2)


def test_the_network_answers_alike_in_step_and_unroll():
    spec = game().spec(settings())
    torch.manual_seed(0)
    policy = game().policy(spec, game().network(channels=8, width=16))
    planes = torch.randint(0, 2, (3, 4, *spec.observation["planes"].shape), dtype=torch.uint8)
    legal = torch.ones(3, 4, spec.actions, dtype=torch.bool)
    whole = policy.unroll({"planes": planes}, legal, {})
    for time in range(3):
        output = policy.step({"planes": planes[time]}, legal[time], {})
        torch.testing.assert_close(output.logits, whole.logits[time])
        torch.testing.assert_close(output.value, whole.value[time])
    assert whole.logits.shape == (3, 4, 7)


def test_weights_fit_one_board_size():
    spec = game().spec(settings())
    assert game().fits(spec, spec) is None
    assert "trained for {'rows': 6" in game().fits(spec, game().spec(settings(5, 7)))


@pytest.mark.slow
@pytest.mark.timeout(2000)
@pytest.mark.parametrize(("preset", "bar"), [("connect-four", 0.95), ("connect-four-az", 0.85)])
def test_an_installed_copy_learns_to_beat_random_within_three_minutes(fresh, preset, bar):
    before = os.times()
    fresh("train", preset, "threads=1", "backend=torch", "--run", preset)
    after = os.times()
    score = json.loads(fresh("evaluate", preset, "random", "--matches", "1000", "--temperature", "0", "--json"))
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(
        f"{preset}: {score['win_rate']:.1%} in {spent:.0f} CPU s, {after.elapsed - before.elapsed:.0f} s by the clock"
    )
    assert score["win_rate"] >= bar
    assert spent < 180, "CPU seconds, since the clock is not ours alone"
