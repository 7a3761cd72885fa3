"""Gumbel AlphaZero: improve the policy with few simulations, by sequential halving at the root.

Danihelka et al., "Policy improvement by planning with Gumbel" (2022). At the root, the actions with the highest log
prior plus Gumbel noise share the simulations, and after each round the worse half drops out. Below the root the search
visits actions in proportion to the improved policy, softmax(log prior + sigma(q)). Unvisited actions are completed with
the mixed value: the network's value of the node averaged with the values of the visited actions.
"""

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core.settings import Count, NonNegative
from sparring.search.tree import Forest, Leaves, follow

_TINY = 1e-30


class GumbelSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="gumbel"
):
    """Gumbel AlphaZero's search."""

    simulations: Count = 32
    """Simulations for each move."""
    max_num_considered_actions: Count = 16
    """The most root actions that share the simulations: raise it to consider more, each with fewer simulations."""
    gumbel_scale: NonNegative = 0.0
    """The scale of the Gumbel noise at the root: 1 in self-play, 0 to play the best move found."""
    maxvisit_init: NonNegative = 50.0
    """Added to the visits of the most visited action in sigma(q)."""
    value_scale: NonNegative = 1.0
    """The weight of values beside the policy: sigma(q) = (maxvisit_init + most visits) * value_scale * q, q in 0..1."""
    reuse_tree: bool = True
    """Whether a match's next search starts with the subtree below the moves played since the last one."""


class Weights(NamedTuple):
    """The settings that the kernels need."""

    maxvisit_init: float
    value_scale: float


class Halving(NamedTuple):
    """What sequential halving knows of the roots of one search, one row for each of k simulated trees."""

    gumbel: NDArray[np.float64]
    """`float64[k, actions]` the noise."""
    carried: NDArray[np.int32]
    """`int32[k, actions]` the visits each action had before the search began."""
    schedule: NDArray[np.int32]
    """`int32[k, simulations]` how many new visits the action must have that a simulation goes to."""


class Gumbel:
    """The strategy of a `TreeSearch` by Gumbel AlphaZero."""

    noisy_priors = False

    def __init__(self, settings: GumbelSettings) -> None:
        self.simulations = settings.simulations
        self.reuse_tree = settings.reuse_tree
        self._settings = settings
        self._weights = Weights(settings.maxvisit_init, settings.value_scale)
        self._schedules: dict[int, NDArray[np.int32]] = {}
        self._halving: Halving

    def begin(
        self, forest: Forest, trees: NDArray[np.int32], simulated: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        """Draws the noise, for all of `trees`, and sets up the halving of those that are simulated."""
        shape = (len(trees), forest.prior.shape[2])
        scale = self._settings.gumbel_scale
        gumbel = rng.gumbel(size=shape) * scale if scale else np.zeros(shape)
        roots = trees[simulated]
        considered = np.minimum(forest.legal[roots, 0].sum(axis=1), self._settings.max_num_considered_actions)
        schedule = np.empty((len(roots), self.simulations), np.int32)
        for row, number in enumerate(considered.tolist()):
            schedule[row] = self._schedule(number)
        self._halving = Halving(gumbel[simulated], forest.visits[roots, 0], schedule)

    def descend(self, forest: Forest, trees: NDArray[np.int32], simulation: int) -> Leaves:
        """Follows the halving's schedule at the roots, and below them the improved policy."""
        leaves = Leaves.empty(len(trees))
        descend_gumbel(forest, trees, self._weights, self._halving, simulation, leaves)
        return leaves

    def decide(self, forest: Forest, trees: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The action that the halving is left with, and the improved policy."""
        action = np.empty(len(trees), np.int32)
        policy = np.empty((len(trees), forest.prior.shape[2]), np.float32)
        decide_gumbel(forest, trees, self._weights, self._halving, action, policy)
        return action, policy

    def _schedule(self, considered: int) -> NDArray[np.int32]:
        if considered not in self._schedules:
            self._schedules[considered] = visit_schedule(considered, self.simulations)
        return self._schedules[considered]


def visit_schedule(considered: int, simulations: int) -> NDArray[np.int32]:
    """`int32[simulations]` how often the action to simulate next has been visited, simulation by simulation.

    All `considered` actions get the same number of visits, then the better half of them, and so on until two are left,
    which share the rest; each round has about the same number of simulations.
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


@njit(cache=True, nogil=True)
def descend_gumbel(
    forest: Forest, trees: Any, weights: Weights, halving: Halving, simulation: int, leaves: Leaves
) -> None:
    """One simulation down each of `trees: int32[k]`."""
    scratch = np.empty(forest.prior.shape[2], np.float64)
    for row in range(len(trees)):
        t, node = trees[row], 0
        while node >= 0 and not forest.over[t, node]:
            if node == 0:
                action = choose_root(forest, t, weights, halving, row, halving.schedule[row, simulation], scratch)
            else:
                action = choose_below(forest, t, node, weights, scratch)
            node = follow(forest, t, node, action, leaves, row)
        leaves.node[row] = node


@njit(cache=True, nogil=True)
def decide_gumbel(forest: Forest, trees: Any, weights: Weights, halving: Halving, actions: Any, policy: Any) -> None:
    """Writes the best of the most visited actions into `actions: int32[k]`, and `policy: float32[k, actions]`."""
    scratch = np.empty(forest.prior.shape[2], np.float64)
    for row in range(len(trees)):
        t = trees[row]
        most = (forest.visits[t, 0] - halving.carried[row]).max()
        actions[row] = choose_root(forest, t, weights, halving, row, most, scratch)
        improved_policy(forest, t, 0, weights, scratch)
        for action in range(len(scratch)):
            policy[row, action] = scratch[action]


@njit(cache=True, nogil=True)
def choose_root(
    forest: Forest, t: int, weights: Weights, halving: Halving, row: int, new_visits: int, scores: Any
) -> int:
    """The best root action among those with exactly `new_visits` visits in this search.

    `row` is the tree's row of `halving`; `scores: float64[actions]` is scratch.
    """
    completed_scores(forest, t, 0, weights, scores)
    gumbel, carried = halving.gumbel[row], halving.carried[row]
    best, best_score = -1, -np.inf
    for action in range(len(scores)):
        if forest.legal[t, 0, action] and forest.visits[t, 0, action] - carried[action] == new_visits:
            score = scores[action] + np.log(max(np.float64(forest.prior[t, 0, action]), _TINY)) + gumbel[action]
            if score > best_score:
                best, best_score = action, score
    return best


@njit(cache=True, nogil=True)
def choose_below(forest: Forest, t: int, node: int, weights: Weights, policy: Any) -> int:
    """The action whose share of visits is furthest below the improved policy; `policy: float64[actions]` is scratch."""
    improved_policy(forest, t, node, weights, policy)
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
def improved_policy(forest: Forest, t: int, node: int, weights: Weights, policy: Any) -> None:
    """Writes softmax(log prior + sigma(q)) over the legal actions into `policy: float64[actions]`."""
    completed_scores(forest, t, node, weights, policy)
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
def completed_scores(forest: Forest, t: int, node: int, weights: Weights, scores: Any) -> None:
    """Writes sigma(q) of every action into `scores: float64[actions]`, with the mixed value for unvisited actions."""
    visits, total, prior = forest.visits[t, node], forest.total[t, node], forest.prior[t, node]
    count, most, visited, weighted = 0, 0, 0.0, 0.0
    for action in range(len(visits)):
        if visits[action]:
            count += visits[action]
            most = max(most, visits[action])
            p = max(np.float64(prior[action]), _TINY)
            visited += p
            weighted += p * (total[action] / visits[action])
    mixed = np.float64(forest.value[t, node])
    if count:
        mixed = (mixed + count * (weighted / visited)) / (1 + count)
    factor = (weights.maxvisit_init + most) * weights.value_scale
    for action in range(len(visits)):
        q = total[action] / visits[action] if visits[action] else mixed
        scores[action] = factor * (q + 1) / 2
