"""Exact answers on a tree: what policies are worth, and what a best response to them would win.

NashConv is the sum over seats of what the seat would gain by answering the other's policy perfectly. It is 0 exactly
at an equilibrium. A policy here is `float64[s, actions]`, a distribution over legal actions in every information state.
"""

import numpy as np
from numpy.typing import NDArray

from sparring.core import Decisions, Player
from sparring.games.poker.tree import Tree

Floats = NDArray[np.float64]


def uniform_policy(tree: Tree) -> Floats:
    """Every legal action with the same probability."""
    probabilities: Floats = tree.legal / tree.legal.sum(axis=1, keepdims=True)
    return probabilities


def expected_values(tree: Tree, policy: Floats) -> Floats:
    """`float64[2]` what each seat wins on average when both play `policy`."""
    value = tree.payoff.copy()
    moves = _move_probabilities(tree, policy)
    for nodes in _levels(tree)[::-1]:
        inner = nodes[tree.child[nodes].max(axis=1) >= 0]
        value[inner] = (moves[inner] * value[tree.child[inner]]).sum(axis=1)
    return np.array([value[0], -value[0]])


def best_response_value(tree: Tree, policy: Floats, seat: int) -> float:
    """What `seat` wins on average if it answers the other seat's `policy` perfectly."""
    sign = 1.0 if seat == 0 else -1.0
    reach = _reach_without(tree, policy, seat)
    value = sign * tree.payoff
    moves = _move_probabilities(tree, policy)
    for nodes in _levels(tree)[::-1]:
        inner = nodes[tree.child[nodes].max(axis=1) >= 0]
        below = value[tree.child[inner]]
        value[inner] = (moves[inner] * below).sum(axis=1)
        own = tree.seat[inner] == seat
        mine, info = inner[own], tree.info[inner[own]]
        gain = np.zeros((len(tree.legal), tree.actions))
        np.add.at(gain, info, reach[mine, None] * below[own, : tree.actions])
        best = np.where(tree.legal, gain, -np.inf).argmax(axis=1)
        value[mine] = value[tree.child[mine, best[info]]]
    return float(value[0])


def nash_conv(tree: Tree, policy: Floats) -> float:
    """How much the two seats together would gain by answering `policy` perfectly."""
    values = expected_values(tree, policy)
    return sum(best_response_value(tree, policy, seat) - float(values[seat]) for seat in (0, 1))


def player_policy(tree: Tree, player: Player) -> Floats:
    """The whole policy of a `player` that says its distribution, memory or not.

    Every information state gets a match of its own, in which the player is led to it along the seat's own
    information states, so the player needs room for `len(tree.legal)` matches.
    """
    paths = _own_paths(tree)
    policy = np.zeros(tree.legal.shape)
    for step in range(paths.shape[1]):
        match = np.flatnonzero(paths[:, step] >= 0)
        info = paths[match, step]
        answers = player.act(
            Decisions(
                match=match.astype(np.int32),
                seat=tree.info_seat[info],
                observation={"state": tree.observation[info]},
                legal=tree.legal[info],
                reward=np.zeros(len(match), np.float32),
                first=np.full(len(match), step == 0),
            )
        )
        if answers.policy is None:
            raise ValueError("the player does not say its distribution")
        policy[match] = answers.policy
    policy = np.where(tree.legal, policy, 0.0)
    normalised: Floats = policy / policy.sum(axis=1, keepdims=True)
    return normalised


def _own_paths(tree: Tree) -> NDArray[np.int32]:
    """`int32[s, longest]` the seat's information states up to and including each one, -1 after it."""
    paths: list[list[int]] = []
    for info, before in enumerate(tree.info_before):  # a state's predecessor has a smaller number
        paths.append([*(paths[before] if before >= 0 else []), info])
    table = np.full((len(paths), max(map(len, paths))), -1, np.int32)
    for info, path in enumerate(paths):
        table[info, : len(path)] = path
    return table


def _move_probabilities(tree: Tree, policy: Floats) -> Floats:
    """`float64[n, moves]` the probability of each move at each node."""
    moves = tree.chance.copy()
    deciding = tree.seat >= 0
    moves[deciding, : tree.actions] = policy[tree.info[deciding]]
    return moves


def _reach_without(tree: Tree, policy: Floats, seat: int) -> Floats:
    """`float64[n]` the probability that chance and the other seat play towards each node."""
    moves = np.where((tree.seat == seat)[:, None], 1.0, _move_probabilities(tree, policy))
    reach = np.zeros(len(tree.seat))
    reach[0] = 1.0
    for nodes in _levels(tree)[:-1]:
        node, move = np.nonzero(tree.child[nodes] >= 0)
        reach[tree.child[nodes][node, move]] = reach[nodes[node]] * moves[nodes[node], move]
    return reach


def _levels(tree: Tree) -> list[NDArray[np.intp]]:
    """The nodes of each depth, the root first."""
    return [np.flatnonzero(tree.depth == depth) for depth in range(int(tree.depth.max()) + 1)]
