"""Gumbel AlphaZero: improve the policy with few simulations, by sequential halving at the root.

Danihelka et al., "Policy improvement by planning with Gumbel" (2022). At the root the moves best by policy plus
Gumbel noise share the simulations, and after each round the worse half drops out. Below the root the search
follows the improved policy, softmax(log prior + s(q)), so evenly that visits approach it; moves not yet tried
count with the mixed value of those that were.
"""

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numba import njit
from numpy.typing import NDArray

from sparring.search.tree import Forest

Count = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]

_TINY = 1e-30


class GumbelSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="gumbel"
):
    """Gumbel AlphaZero's search."""

    simulations: Count = 32
    """Positions looked at for each move."""
    considered: Count = 16
    """Root moves among which the simulations are shared; raised, each gets fewer."""
    noise: NotNegative = 0.0
    """The Gumbel noise's scale at the root: 1 in self-play, 0 plays the best move found."""
    visit_offset: NotNegative = 50.0
    value_scale: NotNegative = 1.0
    """How much values count against the policy: (visit_offset + most visits) * value_scale * q, q in 0..1."""
    reuse: bool = True
    """Whether a match's next search starts with what the last one found below the moves played."""


@njit(cache=True, nogil=True)
def completed_scores(forest: Forest, t: int, node: int, offset: float, scale: float, scores: Any) -> None:
    """Writes s(q) of every action into `scores: float64[actions]`, the mixed value standing in where not tried."""
    visits, total, prior = forest.visits[t, node], forest.total[t, node], forest.prior[t, node]
    count, most, tried, weighted = 0, 0, 0.0, 0.0
    for action in range(len(visits)):
        if visits[action]:
            count += visits[action]
            most = max(most, visits[action])
            p = max(np.float64(prior[action]), _TINY)
            tried += p
            weighted += p * (total[action] / visits[action])
    mixed = np.float64(forest.value[t, node])
    if count:
        mixed = (mixed + count * (weighted / tried)) / (1 + count)
    factor = (offset + most) * scale
    for action in range(len(visits)):
        q = total[action] / visits[action] if visits[action] else mixed
        scores[action] = factor * (q + 1) / 2


@njit(cache=True, nogil=True)
def improved_policy(forest: Forest, t: int, node: int, offset: float, scale: float, policy: Any) -> None:
    """Writes softmax(log prior + s(q)) over the legal actions into `policy: float64[actions]`."""
    completed_scores(forest, t, node, offset, scale, policy)
    highest = -np.inf
    for action in range(len(policy)):
        if forest.legal[t, node, action]:
            policy[action] += np.log(max(np.float64(forest.prior[t, node, action]), _TINY))
            highest = max(highest, policy[action])
    whole = 0.0
    for action in range(len(policy)):
        policy[action] = np.exp(policy[action] - highest) if forest.legal[t, node, action] else 0.0
        whole += policy[action]
    for action in range(len(policy)):
        policy[action] /= whole


@njit(cache=True, nogil=True)
def choose_below(forest: Forest, t: int, node: int, offset: float, scale: float, policy: Any) -> int:
    """The action below the root whose visits lag the improved policy most; `policy: float64[actions]` is scratch."""
    improved_policy(forest, t, node, offset, scale, policy)
    visits = forest.visits[t, node]
    count = visits.sum()
    best, best_score = -1, -np.inf
    for action in range(len(policy)):
        if forest.legal[t, node, action]:
            score = policy[action] - visits[action] / (1 + count)
            if score > best_score:
                best, best_score = action, score
    return best


@njit(cache=True, nogil=True)
def choose_root(
    forest: Forest, t: int, offset: float, scale: float, gumbel: Any, carried: Any, turn: int, scores: Any
) -> int:
    """The root action of sequential halving: the best of those with exactly `turn` new visits.

    `gumbel: float64[actions]` is this search's noise, `carried: int32[actions]` the visits it began with.
    """
    completed_scores(forest, t, 0, offset, scale, scores)
    best, best_score = -1, -np.inf
    for action in range(len(scores)):
        if forest.legal[t, 0, action] and forest.visits[t, 0, action] - carried[action] == turn:
            score = scores[action] + np.log(max(np.float64(forest.prior[t, 0, action]), _TINY)) + gumbel[action]
            if score > best_score:
                best, best_score = action, score
    return best


@njit(cache=True, nogil=True)
def descend_gumbel(
    forest: Forest,
    trees: Any,
    offset: float,
    scale: float,
    gumbel: Any,
    carried: Any,
    turns: Any,
    parents: Any,
    actions: Any,
    leaves: Any,
) -> None:
    """One simulation's way down each of `trees: int32[k]`; `gumbel`, `carried` and `turns` have a row for each.

    Writes the node and action where the tree ends (`leaves` is -1 there), or the finished node it came to.
    """
    scratch = np.empty(forest.prior.shape[2], np.float64)
    for row in range(len(trees)):
        t = trees[row]
        node = 0
        while True:
            if forest.over[t, node]:
                parents[row], actions[row], leaves[row] = -1, -1, node
                break
            if node == 0:
                action = choose_root(forest, t, offset, scale, gumbel[row], carried[row], turns[row], scratch)
            else:
                action = choose_below(forest, t, node, offset, scale, scratch)
            below = forest.child[t, node, action]
            if below < 0:
                parents[row], actions[row], leaves[row] = node, action, -1
                break
            node = below


@njit(cache=True, nogil=True)
def decide_gumbel(
    forest: Forest, trees: Any, offset: float, scale: float, gumbel: Any, carried: Any, actions: Any, policy: Any
) -> None:
    """Writes the move sequential halving is left with into `actions: int32[k]`, and the improved policy."""
    scratch = np.empty(forest.prior.shape[2], np.float64)
    for row in range(len(trees)):
        t = trees[row]
        most = (forest.visits[t, 0] - carried[row]).max()
        actions[row] = choose_root(forest, t, offset, scale, gumbel[row], carried[row], most, scratch)
        improved_policy(forest, t, 0, offset, scale, scratch)
        for action in range(len(scratch)):
            policy[row, action] = scratch[action]


def visit_schedule(considered: int, simulations: int) -> NDArray[np.int32]:
    """`int32[simulations]` how often the move to simulate next has been visited, simulation by simulation.

    All `considered` moves get the same number of visits, then the better half of them, and so on until two are
    left, which share the rest; each round has about the same number of simulations.
    """
    turns: list[int] = []
    left, done = considered, 0
    rounds = max(1, int(np.ceil(np.log2(considered)))) if considered > 1 else 1
    while len(turns) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            turns += [done] * left
            done += 1
        left = max(min(2, considered), left // 2)
    return np.array(turns[:simulations], np.int32)
