"""Search players: the stronger the deeper, with trees carried over, temperature and resignation."""

import numpy as np
import pytest

from sparring.core import Answers, RandomPlayer
from sparring.games.hex import HexSettings
from sparring.inference import Device, InferenceEngine, NetworkPlayer
from sparring.league import evaluate
from sparring.rollout import Collector, everyone
from sparring.search import Evaluator, GumbelSettings, MinimaxSettings, PlaySettings, PuctSettings
from sparring.search.player import false_resigns, make_search
from sparring.search.seating import search_player
from sparring.search.tree import root_lines
from tests import hex as small
from tests.search.reference import NoiseNetwork
from tests.search.support import positions

SEARCHES = [
    PuctSettings(simulations=24),
    PuctSettings(simulations=24, dirichlet_fraction=0.25, reuse_tree=False),
    GumbelSettings(simulations=24, max_num_considered_actions=8),
    MinimaxSettings(widths=(4, 3)),
]


def engine(matches: int, *, loud: bool = False) -> InferenceEngine:
    made = InferenceEngine(small.spec(4), slots=2 * matches, device=Device.pick("cpu"), seed=0)
    made.add("main", small.policy(4, loud=loud))
    return made


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_looking_ahead_beats_the_bare_network(search):
    arena = small.arena(4, matches=40, opening=2)
    player = search_player(engine(40), "main", search, play=PlaySettings(), seed=0)
    score = evaluate(player, NetworkPlayer(engine(40), "main"), arena, matches=120)
    assert score.win_rate > 0.65
    report = player.report()
    assert 0 < report["calls_per_move"] <= 25
    assert report["search_batch"] > 1


@pytest.mark.parametrize("search", [PuctSettings(simulations=60), GumbelSettings(simulations=60)], ids=str)
def test_lines_are_playable_and_their_values_add_up_to_the_roots(search):
    model, states = positions(HexSettings(size=4), 6, plies=4, seed=0)
    trees = np.arange(6, dtype=np.int32)
    tree_search = make_search(Evaluator(model, NoiseNetwork(16), actions=16), search, trees=6)
    found = tree_search.search(trees, states, np.random.default_rng(0), simulate=np.ones(6, np.bool_))
    for tree in trees:
        lines = root_lines(tree_search.forest, tree)
        assert sorted(lines) == np.flatnonzero(found.visits[tree]).tolist()
        total = sum(value * found.visits[tree, action] for action, (value, _, _) in lines.items())
        mean = (total + tree_search.forest.value[tree, 0]) / (found.visits[tree].sum() + 1)
        assert mean == pytest.approx(found.value[tree], abs=1e-5)
        for action, (_, prior, line) in lines.items():
            assert prior == pytest.approx(tree_search.forest.prior[tree, 0, action])
            assert line[0] == action
            here = states[tree : tree + 1]
            for step in line:
                assert model.legal(here)[0, step]
                here = model.apply(here, np.array([step], np.int32))
        assert max(len(line) for _, _, line in lines.values()) > 1


@pytest.mark.parametrize("search", [PuctSettings(simulations=30), GumbelSettings(simulations=30)], ids=str)
def test_a_carried_tree_is_the_subtree_of_the_last_search(search):
    model, states = positions(HexSettings(size=4), 12, plies=3, seed=0)
    trees = np.arange(12, dtype=np.int32)
    everywhere = np.ones(12, np.bool_)
    reused = make_search(Evaluator(model, NoiseNetwork(16), actions=16), search, trees=12)
    found = reused.search(trees, states, np.random.default_rng(0), simulate=everywhere)
    forest = reused.forest
    below = forest.child[trees, 0, found.action]
    visits, totals = forest.visits[trees, below].copy(), forest.total[trees, below].copy()
    after = model.apply(states, found.action)
    assert not model.outcome(after)[0].any()
    reused._plant(forest, trees, after)
    kept = visits.sum(axis=1) > 0
    assert kept.any()
    assert np.array_equal(forest.visits[trees, 0], visits)
    assert np.array_equal(forest.total[trees, 0], totals)
    assert np.array_equal(forest.states[trees, 0], after)
    for tree in trees:
        for node in range(1, forest.used[tree]):
            above = forest.parent[tree, node]
            action = forest.action_from_parent[tree, node]
            assert forest.child[tree, above, action] == node
            assert np.array_equal(
                model.apply(forest.states[tree, above][None], np.array([action], np.int32))[0],
                forest.states[tree, node],
            )
    again = reused.search(trees, after, np.random.default_rng(0), simulate=everywhere)
    assert np.array_equal(again.visits.sum(axis=1), visits.sum(axis=1) + 30)


def test_temperature_varies_the_first_moves_and_nothing_else():
    def moves(**play):
        arena = small.arena(4, matches=30)
        search = GumbelSettings(simulations=8, reuse_tree=False)
        player = search_player(engine(30), "main", search, play=PlaySettings(**play), seed=1)
        collector = Collector(arena, {"a": player}, everyone(0, 2), record=["a"])
        return collector.collect(200).take(np.arange(30))

    plain = moves()
    assert (
        len({tuple(plain.steps.action[s : s + n]) for s, n in zip(plain.starts, plain.headers.lengths, strict=True)})
        <= 2
    )
    heated = moves(temperature=1.0, temperature_moves=1)
    assert len(set(heated.steps.action[heated.starts].tolist())) > 4


def test_resigned_matches_are_played_out_and_checked():
    arena = small.arena(4, matches=40)
    play = PlaySettings(temperature=1.0, temperature_moves=2, resign=0.05, resign_checks=0.0)
    asked = []
    made = engine(40, loud=True)
    player = search_player(made, "main", PuctSettings(simulations=16, reuse_tree=False), play=play, seed=0)
    look = player.look

    def counting(decisions, rng, *, simulate):
        asked.append(simulate.mean())
        return look(decisions, rng, simulate=simulate)

    player.look = counting
    collector = Collector(arena, {"a": player}, everyone(0, 2), record=["a"])
    episodes = collector.collect(600)
    resigned, wrong = false_resigns(episodes, 0.05)
    assert min(asked) < 0.5
    assert 0 < resigned <= len(episodes)
    assert 0 < wrong < resigned, "a threshold this rash must give up matches that were won"
    assert false_resigns(episodes, 1.1) == (0, 0)


def test_a_continued_player_draws_as_an_uninterrupted_one():
    arena, other = small.arena(4, matches=10), small.arena(4, matches=10)
    play = PlaySettings(temperature=1.0, temperature_moves=3)
    search = GumbelSettings(gumbel_scale=1.0, reuse_tree=False)
    one, two = (search_player(engine(10), "main", search, play=play, seed=3) for _ in range(2))
    random = RandomPlayer(0)

    def step(arena, player) -> Answers:
        decisions, _ = arena.wait()
        answers = player.act(decisions)
        arena.act(decisions, answers.action)
        return answers

    for _ in range(4):
        step(arena, one)
        step(other, random)
    two.restore(one.snapshot())
    other.restore(arena.snapshot())
    for _ in range(4):
        assert np.array_equal(step(arena, one).action, step(other, two).action)


@pytest.mark.parametrize("search", [PuctSettings(simulations=30), GumbelSettings(simulations=30)], ids=str)
def test_pondering_is_a_search_that_goes_on(search):
    model, states = positions(HexSettings(size=4), 3, plies=4, seed=0)
    trees, everywhere = np.arange(3, dtype=np.int32), np.ones(3, np.bool_)

    def fresh():
        return make_search(Evaluator(model, NoiseNetwork(16), actions=16), search, trees=3)

    searched, pondering = fresh(), fresh()
    steps = pondering.ponder(trees, states, np.random.default_rng(0))
    for again in range(1, 3):
        found = searched.search(trees, states, np.random.default_rng(0), simulate=everywhere)
        for _ in range(30):
            next(steps)
        so_far = pondering.found(trees)
        for name in ("action", "policy", "value", "visits"):
            assert np.array_equal(getattr(so_far, name), getattr(found, name)), (again, name)
    for _ in range(500):
        next(steps)
    forest = pondering.forest
    assert forest.keys.shape[1] > 61, "it has grown"
    assert (forest.visits[:, 0].sum(axis=1) == 560).all()
    for tree in trees:
        for node in range(1, forest.used[tree]):
            above, action = forest.parent[tree, node], forest.action_from_parent[tree, node]
            assert forest.child[tree, above, action] == node
            below = model.apply(forest.states[tree, above][None], np.array([action], np.int32))[0]
            assert np.array_equal(below, forest.states[tree, node])
            assert forest.visits[tree, above, action] == 1 + forest.visits[tree, node].sum() or forest.over[tree, node]


def test_minimax_says_that_it_cannot_ponder():
    player = search_player(engine(1), "main", MinimaxSettings(), play=PlaySettings(), seed=0)
    rows, _ = small.arena(4, matches=1).wait()
    with pytest.raises(TypeError, match="only gumbel and puct can go on looking"):
        player.ponder(rows, np.random.default_rng(0))
