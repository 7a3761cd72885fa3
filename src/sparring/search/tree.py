"""Search trees as arrays: all trees of all matches side by side, node 0 the root of each.

Values are seen from the seat to move at their node; seats alternate, so a child's value changes sign on its way
up. A node's children are numbered later than itself, and so stay when a subtree is carried over.
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
    """`int32[g]` nodes of each tree."""
    parent: NDArray[np.int32]
    """`int32[g, n]` -1 for the root."""
    value: NDArray[np.float32]
    """`float32[g, n]` what the network, or the end of the match, says of the node."""
    over: NDArray[np.bool_]
    """`bool[g, n]` whether the match ends here."""
    legal: NDArray[np.bool_]
    """`bool[g, n, a]`"""
    prior: NDArray[np.float32]
    """`float32[g, n, a]` the policy's probabilities; at a root with noise mixed in."""
    child: NDArray[np.int32]
    """`int32[g, n, a]` node number after each action, -1 where not expanded."""
    visits: NDArray[np.int32]
    """`int32[g, n, a]` simulations that went this way."""
    total: NDArray[np.float64]
    """`float64[g, n, a]` the sum of their values, for the seat that moves at the node."""

    @classmethod
    def empty(cls, trees: int, nodes: int, actions: int, states: Array) -> "Forest":
        """Room for `trees` trees whose states look like the rows of `states`."""
        edges = (trees, nodes, actions)
        return cls(
            states=np.zeros((trees, nodes, *states.shape[1:]), states.dtype),
            keys=np.zeros((trees, nodes), np.uint64),
            used=np.zeros(trees, np.int32),
            parent=np.full((trees, nodes), -1, np.int32),
            value=np.zeros((trees, nodes), np.float32),
            over=np.zeros((trees, nodes), np.bool_),
            legal=np.zeros(edges, np.bool_),
            prior=np.zeros(edges, np.float32),
            child=np.full(edges, -1, np.int32),
            visits=np.zeros(edges, np.int32),
            total=np.zeros(edges, np.float64),
        )


@njit(cache=True, nogil=True)
def find_roots(forest: Forest, trees: Any, keys: Any, room: int, found: Any) -> None:
    """Writes for each of `trees: int32[k]` the node whose key is `keys: uint64[k]`, -1 if there is none.

    Of several nodes with the same position the one with most visits is taken. A tree whose subtree from there
    would leave fewer than `room` nodes free counts as having none.
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
    """Makes node `roots[row]` the root of `trees[row]`: its subtree moves to the front, the rest is dropped."""
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
def add_nodes(
    forest: Forest,
    trees: Any,
    parents: Any,
    actions: Any,
    states: Any,
    keys: Any,
    over: Any,
    legal: Any,
    log_probs: Any,
    values: Any,
    nodes: Any,
) -> None:
    """Appends a node to each of `trees: int32[k]`, below `parents` by `actions` (parent -1: a new root).

    The other arguments are the k positions and what is known of them; writes the nodes' numbers into `nodes`.
    """
    for row in range(len(trees)):
        t = trees[row]
        if parents[row] < 0:
            forest.used[t] = 0
        node = forest.used[t]
        forest.used[t] += 1
        nodes[row] = node
        forest.states[t, node] = states[row]
        forest.keys[t, node] = keys[row]
        forest.parent[t, node] = parents[row]
        forest.value[t, node] = values[row]
        forest.over[t, node] = over[row]
        for action in range(forest.prior.shape[2]):
            forest.legal[t, node, action] = legal[row, action]
            forest.prior[t, node, action] = np.exp(log_probs[row, action]) if legal[row, action] else 0.0
            forest.child[t, node, action] = -1
            forest.visits[t, node, action] = 0
            forest.total[t, node, action] = 0.0
        if parents[row] >= 0:
            forest.child[t, parents[row], actions[row]] = node


@njit(cache=True, nogil=True)
def back_up(forest: Forest, trees: Any, leaves: Any) -> None:
    """Counts one simulation that ended at node `leaves[row]` of `trees[row]` on every edge from the root to it."""
    for row in range(len(trees)):
        t, node = trees[row], leaves[row]
        value = np.float64(forest.value[t, node])
        while node > 0:
            above = forest.parent[t, node]
            value = -value
            for action in range(forest.child.shape[2]):
                if forest.child[t, above, action] == node:
                    forest.visits[t, above, action] += 1
                    forest.total[t, above, action] += value
                    break
            node = above


@njit(cache=True, nogil=True)
def mean_value(forest: Forest, t: int, node: int) -> float:
    """The mean of all a node knows: its own value and those of the simulations through it."""
    total, count = np.float64(forest.value[t, node]), 1
    for action in range(forest.visits.shape[2]):
        if forest.visits[t, node, action]:
            total += forest.total[t, node, action]
            count += forest.visits[t, node, action]
    return total / count


@njit(cache=True, nogil=True)
def root_values(forest: Forest, trees: Any, values: Any) -> None:
    """Writes the mean value of each root into `values: float32[k]`."""
    for row in range(len(trees)):
        values[row] = mean_value(forest, trees[row], 0)
