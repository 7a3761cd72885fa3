"""Search trees as arrays: the trees of all matches side by side, with node 0 as the root of each.

A node's value is from the point of view of the seat to move there. Seats alternate, so values change sign from one
level to the next. A child always has a higher number than its parent.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core import Array


class Forest(NamedTuple):
    """g trees of up to n nodes with a actions each."""

    states: Array
    """`state[g, n]`"""
    keys: NDArray[np.uint64]
    """`uint64[g, n]`"""
    used: NDArray[np.int32]
    """`int32[g]` the number of nodes in each tree."""
    parent: NDArray[np.int32]
    """`int32[g, n]` -1 at the root."""
    action_from_parent: NDArray[np.int32]
    """`int32[g, n]` the action that led from the parent to the node; meaningless at the root."""
    value: NDArray[np.float32]
    """`float32[g, n]` the network's value of the node, or the result if the match is over."""
    over: NDArray[np.bool_]
    """`bool[g, n]` whether the match is over."""
    legal: NDArray[np.bool_]
    """`bool[g, n, a]`"""
    prior: NDArray[np.float32]
    """`float32[g, n, a]` the network's policy; a strategy may mix noise into the root's."""
    child: NDArray[np.int32]
    """`int32[g, n, a]` the node each action leads to, -1 if it has not been expanded."""
    visits: NDArray[np.int32]
    """`int32[g, n, a]` the number of simulations through each action."""
    total: NDArray[np.float64]
    """`float64[g, n, a]` the sum of their values, for the seat to move at the node."""

    @classmethod
    def empty(cls, trees: int, nodes: int, actions: int, states: Array) -> "Forest":
        """Space for `trees` trees whose states have the shape and dtype of the rows of `states`."""
        edges = (trees, nodes, actions)
        return cls(
            states=np.zeros((trees, nodes, *states.shape[1:]), states.dtype),
            keys=np.zeros((trees, nodes), np.uint64),
            used=np.zeros(trees, np.int32),
            parent=np.full((trees, nodes), -1, np.int32),
            action_from_parent=np.full((trees, nodes), -1, np.int32),
            value=np.zeros((trees, nodes), np.float32),
            over=np.zeros((trees, nodes), np.bool_),
            legal=np.zeros(edges, np.bool_),
            prior=np.zeros(edges, np.float32),
            child=np.full(edges, -1, np.int32),
            visits=np.zeros(edges, np.int32),
            total=np.zeros(edges, np.float64),
        )

    def larger(self, nodes: int) -> "Forest":
        """The same trees with space for `nodes` nodes each."""
        trees, held = self.keys.shape
        made = Forest.empty(trees, nodes, self.prior.shape[2], self.states[0])
        arrays: dict[str, Array] = self._asdict()
        for name, array in arrays.items():
            room: Array = getattr(made, name)
            room[(slice(None), slice(held))[: array.ndim]] = array
        return made


class Leaves(NamedTuple):
    """Where one simulation in each of k trees ended."""

    node: NDArray[np.int32]
    """`int32[k]` the node reached at the end of the match, or -1 if the simulation left the tree."""
    parent: NDArray[np.int32]
    """`int32[k]` the last node before it left the tree."""
    action: NDArray[np.int32]
    """`int32[k]` the action with which it left."""

    @classmethod
    def empty(cls, trees: int) -> "Leaves":
        """One row for each of `trees` trees, to be written by a descent."""
        return cls(np.empty(trees, np.int32), np.empty(trees, np.int32), np.empty(trees, np.int32))


class Positions(NamedTuple):
    """k positions to be added to trees, and what the rules and the network say of them."""

    states: Array
    """`state[k]`"""
    keys: NDArray[np.uint64]
    """`uint64[k]`"""
    over: NDArray[np.bool_]
    """`bool[k]`"""
    legal: NDArray[np.bool_]
    """`bool[k, a]`"""
    log_probs: NDArray[np.float32]
    """`float32[k, a]`"""
    values: NDArray[np.float32]
    """`float32[k]`"""


@njit(cache=True, nogil=True)
def find_roots(forest: Forest, trees: Any, keys: Any, room: int, found: Any) -> None:
    """Writes into `found: int32[k]` the node of each of `trees: int32[k]` that has the key in `keys: uint64[k]`, or -1.

    If several nodes hold the same position, the most visited one is taken. A subtree that would leave fewer than
    `room` nodes free is not used: the result is then -1 as well.
    """
    for row in range(len(trees)):
        t = trees[row]
        found[row] = -1
        best = -1
        for node in range(forest.used[t]):
            if forest.keys[t, node] == keys[row] and not forest.over[t, node]:
                visited = forest.visits[t, node].sum()
                if visited > best:
                    best, found[row] = visited, node
        if found[row] >= 0 and best + 1 + room > forest.keys.shape[1]:
            found[row] = -1


@njit(cache=True, nogil=True)
def carry(forest: Forest, trees: Any, roots: Any) -> None:
    """Makes node `roots[row]` the root of `trees[row]`: moves its subtree to the front and drops all other nodes."""
    number = np.empty(forest.keys.shape[1], np.int32)
    for row in range(len(trees)):
        t, root = trees[row], roots[row]
        kept = 0
        for node in range(forest.used[t]):
            above = forest.parent[t, node]
            if node == root or (node > root and above >= root and number[above] >= 0):
                number[node] = kept
                kept += 1
            else:
                number[node] = -1
        for node in range(root, forest.used[t]):
            to = number[node]
            if to < 0:
                continue
            forest.states[t, to] = forest.states[t, node]
            forest.keys[t, to] = forest.keys[t, node]
            forest.parent[t, to] = -1 if to == 0 else number[forest.parent[t, node]]
            forest.action_from_parent[t, to] = forest.action_from_parent[t, node]
            forest.value[t, to] = forest.value[t, node]
            forest.over[t, to] = forest.over[t, node]
            for action in range(forest.prior.shape[2]):
                forest.legal[t, to, action] = forest.legal[t, node, action]
                forest.prior[t, to, action] = forest.prior[t, node, action]
                below = forest.child[t, node, action]
                forest.child[t, to, action] = -1 if below < 0 else number[below]
                forest.visits[t, to, action] = forest.visits[t, node, action]
                forest.total[t, to, action] = forest.total[t, node, action]
        forest.used[t] = kept


@njit(cache=True, nogil=True)
def follow(forest: Forest, t: int, node: int, action: int, leaves: Leaves, row: int) -> int:
    """The node that `action` leads to; where the tree ends, -1, and the edge is written into row `row` of `leaves`."""
    below: int = forest.child[t, node, action]
    if below < 0:
        leaves.parent[row], leaves.action[row] = node, action
    return below


@njit(cache=True, nogil=True)
def add_nodes(forest: Forest, trees: Any, parents: Any, actions: Any, positions: Positions) -> Any:
    """Appends one of k `positions` to each of `trees: int32[k]`; returns the new nodes' numbers, `int32[k]`.

    The edge to it starts at node `parents: int32[k]` with action `actions: int32[k]`. A parent of -1 empties the tree
    and makes the position its root.
    """
    nodes = np.empty(len(trees), np.int32)
    for row in range(len(trees)):
        t = trees[row]
        if parents[row] < 0:
            forest.used[t] = 0
        node = forest.used[t]
        forest.used[t] += 1
        nodes[row] = node
        forest.states[t, node] = positions.states[row]
        forest.keys[t, node] = positions.keys[row]
        forest.parent[t, node] = parents[row]
        forest.action_from_parent[t, node] = actions[row]
        forest.value[t, node] = positions.values[row]
        forest.over[t, node] = positions.over[row]
        for action in range(forest.prior.shape[2]):
            legal = positions.legal[row, action]
            forest.legal[t, node, action] = legal
            forest.prior[t, node, action] = np.exp(positions.log_probs[row, action]) if legal else 0.0
            forest.child[t, node, action] = -1
            forest.visits[t, node, action] = 0
            forest.total[t, node, action] = 0.0
        if parents[row] >= 0:
            forest.child[t, parents[row], actions[row]] = node
    return nodes


@njit(cache=True, nogil=True)
def back_up(forest: Forest, trees: Any, leaves: Any) -> None:
    """Adds a visit and the value of node `leaves[row]` of `trees[row]` to every edge from the root to that node."""
    for row in range(len(trees)):
        t, node = trees[row], leaves[row]
        value = np.float64(forest.value[t, node])
        while node > 0:
            action = forest.action_from_parent[t, node]
            node = forest.parent[t, node]
            value = -value
            forest.visits[t, node, action] += 1
            forest.total[t, node, action] += value


@njit(cache=True, nogil=True)
def mean_value(forest: Forest, t: int, node: int) -> float:
    """The mean of a node's own value and the values of all simulations through it."""
    total, count = np.float64(forest.value[t, node]), 1
    for action in range(forest.visits.shape[2]):
        if forest.visits[t, node, action]:
            total += forest.total[t, node, action]
            count += forest.visits[t, node, action]
    return total / count


class Line(NamedTuple):
    """What a search knows of an action of its root."""

    value: float
    """The mean value for the seat to move there."""
    prior: float
    """The network's own policy."""
    actions: list[int]
    """The principal variation: the action, then the most visited action of each node."""


def root_lines(forest: Forest, t: int) -> dict[int, Line]:
    """What tree `t` holds of each visited action of its root."""
    lines: dict[int, Line] = {}
    for action in np.flatnonzero(forest.visits[t, 0]).tolist():
        line, node = [action], int(forest.child[t, 0, action])
        while node >= 0 and forest.visits[t, node].any():
            line.append(int(forest.visits[t, node].argmax()))
            node = int(forest.child[t, node, line[-1]])
        value = float(forest.total[t, 0, action] / forest.visits[t, 0, action])
        lines[action] = Line(value, float(forest.prior[t, 0, action]), line)
    return lines


@njit(cache=True, nogil=True)
def root_values(forest: Forest, trees: Any) -> Any:
    """`float32[k]` the mean value of the root of each of `trees: int32[k]`."""
    values = np.empty(len(trees), np.float32)
    for row in range(len(trees)):
        values[row] = mean_value(forest, trees[row], 0)
    return values
