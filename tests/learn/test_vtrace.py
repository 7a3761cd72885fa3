"""V-trace for two seats: worked by hand, equal to plain returns on-policy, unbiased off-policy on all of Kuhn poker."""

import numpy as np
import pytest

from sparring.core import RandomPlayer, load_game
from sparring.games.poker.tree import CHANCE, OVER
from sparring.learn.vtrace import (
    JointOrder,
    VtraceRows,
    VtraceSettings,
    belief_weights,
    joint_order,
    two_seat_vtrace,
)
from sparring.rollout import Collector, everyone


def in_order(turn, seat, lengths=None):
    """Rows that already stand in the order of play."""
    lengths, turn, seat = (np.array(part, np.int32) for part in (lengths or [len(turn)], turn, seat))
    return JointOrder(lengths, np.arange(len(turn)), turn, seat)


def scan(*, turn, seat, lengths=None, vtrace_lambda=1.0, c_bar=1.0, rho_bar=np.inf, **rows):
    settings = VtraceSettings(vtrace_lambda, c_bar, rho_bar)
    return two_seat_vtrace(in_order(turn, seat, lengths), vtrace_rows(**rows), settings)


def vtrace_rows(**rows):
    return VtraceRows(**{name: np.array(part, np.float32) for name, part in rows.items()})


def test_one_action_each_by_hand():
    """Seat 0 acts, seat 1 answers, seat 0 wins 1.

    Seat 0: the win comes after seat 1's row, so its weighted gain is 0.2 + 0.5 * 1 = 0.7 and its plain one 1.2.
    Target 0.5 + min(inf, 2 * 0.5) * (1.2 - 0.1 - 0.5) = 1.1; TD error over mu 4 * (0.7 - 0.5) = 0.8.
    Seat 1: target -0.25 + 0.5 * (-1 - 0.2 + 0.25) = -0.725; TD error over mu 2 * (-1 + 0.25) = -1.5.
    """
    target, td_error = scan(
        turn=[0, 1],
        seat=[0, 1],
        reward=[1, -1],
        value=[0.5, -0.25],
        ratio=[2, 0.5],
        inv_mu=[4, 2],
        penalty=[0.1, 0.2],
    )
    np.testing.assert_allclose(target, [1.1, -0.725], rtol=1e-6)
    np.testing.assert_allclose(td_error, [0.8, -1.5], rtol=1e-6)


def test_a_seats_next_row_by_hand():
    """Seat 0, seat 1, seat 0 again; seat 0 gains 0.5 on the way and 2 at the end; lambda 0.5, c 1, rho 2.

    Last row: 2 + min(2, 3) * (2 - 0.2 - 2) = 1.6, no TD error. Seat 1's row in between: weighted gain
    0.3 + 0.5 * 0.5 = 0.55, plain 0.8, weight 0.5. First row: 1 + 0.5 * (0.8 - 0.1 + 2 - 1) + 0.25 * (1.6 - 2) = 1.75;
    TD error over mu 2 * (0.55 + 0.5 * 1.6 - 1) = 0.7.
    """
    target, td_error = scan(
        turn=[0, 1, 2],
        seat=[0, 1, 0],
        reward=[0.5, 0, 2],
        value=[1, 0, 2],
        ratio=[1, 0.5, 3],
        inv_mu=[2, 1, 1],
        penalty=[0.1, 0.3, 0.2],
        vtrace_lambda=0.5,
        rho_bar=2.0,
    )
    np.testing.assert_allclose(target[[0, 2]], [1.75, 1.6], rtol=1e-6)
    np.testing.assert_allclose(td_error[[0, 2]], [0.7, 0.0], atol=1e-6)


def test_in_a_simultaneous_move_each_seats_own_row_comes_first():
    """Seat 0 wins 1: weighted gains 0.2 + 0.5 * 1 = 0.7 for seat 0 and 0.1 + 2 * -1 = -1.9 for seat 1."""
    parts = {"reward": [1, -1], "value": [0, 0], "ratio": [2, 0.5], "inv_mu": [1, 1], "penalty": [0.1, 0.2]}
    _, td_error = scan(turn=[0, 0], seat=[0, 1], **parts)
    np.testing.assert_allclose(td_error, [0.7, -1.9], rtol=1e-6)


def test_matches_do_not_touch_each_other():
    rng = np.random.default_rng(0)
    parts = {name: rng.random(7) for name in ("reward", "value", "ratio", "inv_mu", "penalty")}
    turn, seat = [0, 1, 2, 0, 0, 1, 2], [0, 1, 0, 0, 1, 1, 0]
    together = scan(turn=turn, seat=seat, lengths=[3, 4], **parts)
    for rows in (slice(0, 3), slice(3, 7)):
        alone = scan(turn=turn[rows], seat=seat[rows], **{name: part[rows] for name, part in parts.items()})
        np.testing.assert_array_equal(np.array(together)[:, rows], np.array(alone))


def test_a_match_in_which_one_seat_has_no_row():
    target, _ = scan(
        turn=[0, 1], seat=[1, 1], reward=[0.5, 2], value=[0, 0], ratio=[1, 1], inv_mu=[1, 1], penalty=[0, 0]
    )
    np.testing.assert_allclose(target, [2.5, 2.0])


def test_on_policy_the_target_is_the_rest_of_the_seats_rewards():
    episodes = Collector(
        load_game("leduc").arena(load_game("leduc").settings(), matches=32, seed=0),
        {"a": RandomPlayer(0)},
        everyone(0, 2),
        record=["a"],
    ).collect(800)
    episodes.steps.reward[:] = np.random.default_rng(0).normal(size=episodes.rows)
    ones, value = np.ones(episodes.rows, np.float32), np.random.default_rng(1).random(episodes.rows, np.float32)
    target, _ = two_seat_vtrace(
        joint_order(episodes, np.arange(episodes.rows)),
        vtrace_rows(reward=episodes.steps.reward, value=value, ratio=ones, inv_mu=ones, penalty=0 * ones),
        VtraceSettings(1.0, 1.0, np.inf),
    )
    rest = np.concatenate(
        [np.cumsum(part[::-1])[::-1] for part in np.split(episodes.steps.reward, episodes.starts[1:])]
    )
    np.testing.assert_allclose(target, rest, atol=1e-5)


def all_matches_of_kuhn(tree):
    """Every way a match can go: lists of (node, action) and the probability of its chance moves."""
    found, open_paths = [], [([], 0, 1.0)]
    while open_paths:
        path, node, chance = open_paths.pop()
        if tree.seat[node] == OVER:
            found.append((path, node, chance))
            continue
        for move, child in enumerate(tree.child[node]):
            if child >= 0:
                dealt = tree.seat[node] == CHANCE
                step = [] if dealt else [(node, move)]
                open_paths.append(([*path, *step], child, chance * (tree.chance[node, move] if dealt else 1.0)))
    return found


@pytest.mark.parametrize("eta", [0.0, 0.7])
def test_off_policy_action_values_are_unbiased_whatever_the_value_function_says(eta):
    """Seat 0's first decisions in Kuhn: the mean over every match, played with one policy, is another's exact value.

    Unclipped and lambda 1; the value function is noise. The penalty of each row is added to the exact values as
    the transformed reward says: taken from the one who moves, given to the other.
    """
    rng = np.random.default_rng(5)
    tree = load_game("kuhn").tree(load_game("kuhn").settings())
    played, learned = (rng.dirichlet([1, 1], len(tree.legal)) for _ in range(2))
    cost = eta * rng.random(len(tree.legal))  # of each information state
    noise = rng.normal(size=len(tree.legal))
    matches = all_matches_of_kuhn(tree)
    steps = [step for path, _, _ in matches for step in path]
    node, action = np.array(steps).T
    info = tree.info[node]
    lengths = [len(path) for path, _, _ in matches]
    won = np.repeat([tree.payoff[end] for _, end, _ in matches], lengths)
    turn = np.concatenate([np.arange(length) for length in lengths])
    seat = tree.seat[node]
    last = np.array(
        [t >= n - 2 for n in lengths for t in range(n)]
    )  # the seat's last row of the match earns its result
    mu = played[info, action]
    target, td_error = scan(
        turn=turn,
        seat=seat,
        lengths=lengths,
        reward=np.where(last, np.where(seat == 0, won, -won), 0.0),
        value=noise[info],
        ratio=learned[info, action] / mu,
        inv_mu=1 / mu,
        penalty=cost[info],
        c_bar=np.inf,
    )
    likelihood = np.array([c * np.prod([played[tree.info[n], a] for n, a in path]) for path, _, c in matches])
    starts = np.cumsum(lengths) - lengths
    exact = exact_action_values(tree, learned, cost)
    for first in np.unique(info[starts]):
        rows = starts[info[starts] == first]
        weight = likelihood[info[starts] == first]
        q = np.full((len(rows), 2), noise[first])
        q[np.arange(len(rows)), action[rows]] += td_error[rows]
        np.testing.assert_allclose((weight[:, None] * q).sum(0) / weight.sum(), exact[first], atol=1e-5)
        mean = (weight * target[rows]).sum() / weight.sum()
        assert mean == pytest.approx(learned[first] @ exact[first] - cost[first], abs=1e-5)


def exact_action_values(tree, policy, cost):
    """Seat 0's value of each action in its first information states, by going through the tree."""

    def value(node):
        if tree.seat[node] == OVER:
            return tree.payoff[node]
        below = [value(child) for child in tree.child[node] if child >= 0]
        if tree.seat[node] == CHANCE:
            return np.mean(below)
        info = tree.info[node]
        sign = -1 if tree.seat[node] == 0 else 1
        return policy[info] @ below + sign * cost[info]

    values = {}
    for node in tree.child[0]:
        if node >= 0:
            values.setdefault(tree.info[node], []).append([value(child) for child in tree.child[node, :2]])
    return {info: np.mean(found, axis=0) for info, found in values.items()}


def leduc_episodes(rows):
    game = load_game("leduc")
    arena = game.arena(game.settings(), matches=16, seed=0)
    return Collector(arena, {"a": RandomPlayer(0)}, everyone(0, 2), record=["a"]).collect(rows)


def test_the_joint_order_is_the_order_of_play():
    episodes = leduc_episodes(500)
    order = joint_order(episodes, np.arange(episodes.rows))
    assert sorted(order.row) == list(range(episodes.rows))
    acted = episodes.steps.observation["state"][order.row][:, 10:].sum(axis=1)  # actions seen so far
    for number in np.split(acted, np.cumsum(order.lengths)[:-1]):
        np.testing.assert_array_equal(number, np.arange(len(number)))


def test_results_come_in_the_order_of_the_rows_that_were_asked_about():
    episodes, rng = leduc_episodes(300), np.random.default_rng(0)
    parts = {name: rng.random(episodes.rows, np.float32) for name in VtraceRows._fields}

    def results(rows):
        order = joint_order(episodes, rows)
        asked = vtrace_rows(**{name: part[rows] for name, part in parts.items()})
        return [*two_seat_vtrace(order, asked, VtraceSettings(0.9, 1.0, 1.5)), belief_weights(order, asked.ratio, 3.0)]

    shuffled = rng.permutation(episodes.rows)
    for straight, asked in zip(results(np.arange(episodes.rows)), results(shuffled), strict=True):
        np.testing.assert_array_equal(asked, straight[shuffled])


ORDER = in_order([0, 1, 2, 3, 0, 0, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1], [4, 4])
RATIOS = np.array([2.0, 3.0, 5.0, 7.0, 0.5, 0.25, 9.0, 9.0], np.float32)


def test_a_row_weighs_by_the_opponents_past_and_not_by_its_own_or_by_the_present_turn():
    """Two matches: seats in turn 0 1 0 1, then both at once in two turns. The weights' mean is 18.75 / 8."""
    found = belief_weights(ORDER, RATIOS, 100.0)
    np.testing.assert_allclose(found, np.array([1, 2, 3, 10, 1, 1, 0.25, 0.5]) * 8 / 18.75, rtol=1e-6)


def test_belief_weights_are_clipped_on_both_sides_before_they_are_scaled():
    """To [1/2, 2]: their mean is then 10 / 8."""
    found = belief_weights(ORDER, RATIOS, 2.0)
    np.testing.assert_allclose(found, np.array([1, 2, 2, 2, 1, 1, 0.5, 0.5]) * 8 / 10, rtol=1e-6)
    np.testing.assert_array_equal(belief_weights(ORDER, RATIOS, 1.0), np.ones(8))
