"""The batched searches build, for every match, the tree that a plain recursive search builds: node for node."""

import numpy as np
import pytest

from sparring.core import RandomPlayer
from sparring.games.hex import HexArena, HexModel, HexSettings
from sparring.search import (
    Evaluator,
    GumbelSettings,
    Minimax,
    MinimaxSettings,
    PuctSettings,
    TreeSearch,
)
from sparring.search.tree import Forest
from tests.search import reference


def positions(settings: HexSettings, count: int, *, plies: int, seed: int) -> tuple[HexModel, np.ndarray]:
    """`count` positions after up to `plies` random moves, all different matches."""
    arena = HexArena(settings, matches=count, seed=seed)
    model = HexModel(arena.spec)
    player = RandomPlayer(seed)
    stop = np.random.default_rng(seed).integers(0, plies + 1, count)
    states = np.zeros((count, settings.size**2 + 1), np.uint8)
    for ply in range(plies + 1):
        decisions, _ = arena.wait()
        now = np.flatnonzero(stop == ply)
        states[now] = model.states(decisions.observation, decisions.legal)[now]
        arena.act(decisions, player.act(decisions).action)
    return model, states


def assert_same(forest: Forest, tree: int, node: int, expected: reference.Node) -> int:
    """Compares a subtree; returns how many nodes it has."""
    assert np.array_equal(forest.states[tree, node], expected.state)
    assert forest.over[tree, node] == expected.over
    assert forest.value[tree, node] == pytest.approx(expected.value, abs=1e-6)
    np.testing.assert_allclose(forest.prior[tree, node], expected.prior, atol=1e-6)
    children = {int(a): int(forest.child[tree, node, a]) for a in np.flatnonzero(forest.child[tree, node] >= 0)}
    assert children.keys() == expected.children.keys()
    count = 1
    for action, child in expected.children.items():
        assert forest.visits[tree, node, action] == child.visits
        assert forest.total[tree, node, action] == pytest.approx(child.total, abs=1e-6)
        count += assert_same(forest, tree, children[action], child)
    return count


VARIANTS = [HexSettings(size=3), HexSettings(size=4, swap=True), HexSettings(size=5), HexSettings(size=7)]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
@pytest.mark.parametrize(
    "search", [PuctSettings(simulations=40), PuctSettings(simulations=17, exploration=4.0)], ids=str
)
def test_puct(settings: HexSettings, search: PuctSettings) -> None:
    model, states = positions(settings, 25, plies=settings.size**2 // 3, seed=1)
    actions = settings.size**2 + settings.swap
    ask = reference.NoiseNetwork(actions)
    batched = TreeSearch(Evaluator(model, ask, actions=actions), search, trees=40)
    trees = np.random.default_rng(0).permutation(40)[:25].astype(np.int32)
    found = batched.search(trees, states, np.random.default_rng(0), simulate=np.ones(25, np.bool_))
    assert ask.calls <= search.simulations + 1
    assert batched.forest is not None
    for row, tree in enumerate(trees):
        root = reference.puct(model, ask, states[row], search)
        assert assert_same(batched.forest, tree, 0, root) == batched.forest.used[tree]
        assert found.value[row] == pytest.approx(root.mean, abs=1e-6)
        assert found.visits[row].sum() == search.simulations
        assert found.policy[row].argmax() == max(root.children, key=lambda a: (root.children[a].visits, -a))


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
@pytest.mark.parametrize(
    "search",
    [
        GumbelSettings(simulations=32, considered=16),
        GumbelSettings(simulations=50, considered=5, noise=1.0, value_scale=0.1),
        GumbelSettings(simulations=7, considered=16, noise=1.0),
    ],
    ids=str,
)
def test_gumbel(settings: HexSettings, search: GumbelSettings) -> None:
    model, states = positions(settings, 25, plies=settings.size**2 // 3, seed=2)
    actions = settings.size**2 + settings.swap
    ask = reference.NoiseNetwork(actions)
    batched = TreeSearch(Evaluator(model, ask, actions=actions), search, trees=25)
    trees = np.arange(25, dtype=np.int32)
    found = batched.search(trees, states, np.random.default_rng(3), simulate=np.ones(25, np.bool_))
    noise = np.random.default_rng(3).gumbel(size=(25, actions)) * search.noise
    assert ask.calls <= search.simulations + 1
    assert batched.forest is not None
    for row in range(25):
        root, move = reference.gumbel(model, ask, states[row], search, noise[row])
        assert assert_same(batched.forest, row, 0, root) == batched.forest.used[row]
        assert found.action[row] == move
        assert found.value[row] == pytest.approx(root.mean, abs=1e-6)
        for action, probability in reference.gumbel_policy(root, search).items():
            assert found.policy[row, action] == pytest.approx(probability, abs=1e-5)


def looked(search: Minimax, depth: int, node: int) -> reference.Looked:
    """The subtree of a batched minimax in the reference's form."""
    level = search.levels[depth]
    children = {}
    if depth + 1 < len(search.levels):
        below = search.levels[depth + 1]
        for number in np.flatnonzero(below.parent == node):
            children[int(below.action[number])] = looked(search, depth + 1, int(number))
    return reference.Looked(float(level.value[node]), children)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
@pytest.mark.parametrize("widths", [(1,), (5, 4), (3, 2, 4), (60, 2), (2, 2, 2, 2)], ids=str)
def test_minimax(settings: HexSettings, widths: tuple[int, ...]) -> None:
    model, states = positions(settings, 25, plies=settings.size**2 // 3, seed=3)
    actions = settings.size**2 + settings.swap
    ask = reference.NoiseNetwork(actions)
    search = Minimax(Evaluator(model, ask, actions=actions), MinimaxSettings(widths=widths))
    found = search.search(
        np.arange(25, dtype=np.int32), states, np.random.default_rng(0), simulate=np.ones(25, np.bool_)
    )
    assert ask.calls <= len(widths) + 1
    for row in range(25):
        expected = reference.minimax(model, ask, states[row], MinimaxSettings(widths=widths))
        assert looked(search, 0, row) == expected
        assert found.value[row] == np.float32(expected.value)
        assert -expected.children[int(found.action[row])].value == expected.value
        assert set(np.flatnonzero(found.visits[row]).tolist()) == set(expected.children)


@pytest.mark.parametrize("matches", [1, 7, 300])
def test_minimax_takes_three_calls_a_move_for_two_levels_whatever_the_number_of_matches(matches: int) -> None:
    model, states = positions(HexSettings(size=5), matches, plies=6, seed=4)
    ask = reference.NoiseNetwork(25)
    search = Minimax(Evaluator(model, ask, actions=25), MinimaxSettings(widths=(5, 4)))
    trees = np.arange(matches, dtype=np.int32)
    search.search(trees, states, np.random.default_rng(0), simulate=np.ones(matches, np.bool_))
    assert ask.calls <= 3
