"""The batched searches build, for every match, the tree that a plain recursive search builds: node for node."""

import numpy as np
import pytest

from sparring.games.hex import HexSettings
from sparring.search import (
    Evaluator,
    Gumbel,
    GumbelSettings,
    Minimax,
    MinimaxSettings,
    Puct,
    PuctSettings,
    SearchSettings,
    TreeSearch,
)
from sparring.search.player import make_search
from sparring.search.tree import Forest
from tests.search import reference
from tests.search.support import positions


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
        assert forest.parent[tree, children[action]] == node
        assert forest.action_from_parent[tree, children[action]] == action
        count += assert_same(forest, tree, children[action], child)
    return count


VARIANTS = [HexSettings(size=3), HexSettings(size=4, swap=True), HexSettings(size=5), HexSettings(size=7)]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
@pytest.mark.parametrize("search", [PuctSettings(simulations=40), PuctSettings(simulations=17, c_puct=4.0)], ids=str)
def test_puct(settings: HexSettings, search: PuctSettings) -> None:
    model, states = positions(settings, 25, plies=settings.size**2 // 3, seed=1)
    actions = settings.size**2 + settings.swap
    ask = reference.NoiseNetwork(actions)
    batched = TreeSearch(Evaluator(model, ask, actions=actions), Puct(search), trees=40)
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
        GumbelSettings(simulations=32, max_num_considered_actions=16),
        GumbelSettings(simulations=50, max_num_considered_actions=5, gumbel_scale=1.0, value_scale=0.1),
        GumbelSettings(simulations=7, max_num_considered_actions=16, gumbel_scale=1.0),
    ],
    ids=str,
)
def test_gumbel(settings: HexSettings, search: GumbelSettings) -> None:
    model, states = positions(settings, 25, plies=settings.size**2 // 3, seed=2)
    actions = settings.size**2 + settings.swap
    ask = reference.NoiseNetwork(actions)
    batched = TreeSearch(Evaluator(model, ask, actions=actions), Gumbel(search), trees=25)
    trees = np.arange(25, dtype=np.int32)
    found = batched.search(trees, states, np.random.default_rng(3), simulate=np.ones(25, np.bool_))
    noise = np.random.default_rng(3).gumbel(size=(25, actions)) * search.gumbel_scale
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


STRATEGIES = [
    PuctSettings(simulations=12),
    PuctSettings(simulations=12, dirichlet_fraction=0.25),
    GumbelSettings(simulations=12, gumbel_scale=1.0),
]


@pytest.mark.parametrize("search", [*STRATEGIES, MinimaxSettings(widths=(4, 3))], ids=str)
def test_rows_without_simulations_are_answered_by_the_network_alone(search: SearchSettings) -> None:
    model, states = positions(HexSettings(size=4), 10, plies=5, seed=5)
    ask = reference.NoiseNetwork(16)
    made = make_search(Evaluator(model, ask, actions=16), search, trees=10)
    simulate = np.arange(10) % 2 == 0
    found = made.search(np.arange(10, dtype=np.int32), states, np.random.default_rng(0), simulate=simulate)
    log_probs, values = ask(model.encode(states), model.legal(states))
    assert np.array_equal(found.action[~simulate], log_probs[~simulate].argmax(axis=1))
    assert np.array_equal(found.value[~simulate], values[~simulate])
    assert not found.visits[~simulate].any()
    assert found.visits[simulate].any(axis=1).all()
    assert not np.array_equal(found.value[simulate], values[simulate])


@pytest.mark.parametrize("search", STRATEGIES, ids=str)
def test_a_search_may_simulate_nothing_at_all(search: PuctSettings | GumbelSettings) -> None:
    model, states = positions(HexSettings(size=4), 3, plies=5, seed=5)
    ask = reference.NoiseNetwork(16)
    made = make_search(Evaluator(model, ask, actions=16), search, trees=3)
    found = made.search(np.arange(3, dtype=np.int32), states, np.random.default_rng(0), simulate=np.zeros(3, np.bool_))
    assert ask.calls == 1
    assert np.array_equal(found.value, ask(model.encode(states), model.legal(states))[1])


def test_root_noise_is_drawn_anew_for_every_search_and_leaves_no_trace() -> None:
    model, states = positions(HexSettings(size=4), 10, plies=5, seed=5)
    ask = reference.NoiseNetwork(16)
    made = TreeSearch(
        Evaluator(model, ask, actions=16), Puct(PuctSettings(simulations=5, dirichlet_fraction=0.5)), trees=10
    )
    trees, rng = np.arange(10, dtype=np.int32), np.random.default_rng(0)
    legal = model.legal(states)
    clean = np.where(legal, np.exp(ask(model.encode(states), legal)[0]), 0)
    noisy = []
    for _ in range(2):
        made.search(trees, states, rng, simulate=np.ones(10, np.bool_))
        assert made.forest is not None
        noisy.append(made.forest.prior[trees, 0])
        np.testing.assert_allclose(noisy[-1].sum(axis=1), 1, atol=1e-5)
        assert (noisy[-1] >= 0.5 * clean - 1e-6).all(), "half of the prior is the network's own"
        assert not noisy[-1][~legal].any()
    assert not np.allclose(noisy[0], noisy[1], atol=1e-3)
    found = made.search(trees, states, rng, simulate=np.zeros(10, np.bool_))
    np.testing.assert_allclose(found.policy, clean, atol=1e-6)
