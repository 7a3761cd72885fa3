"""PUCT: follow the mean value plus a bonus for actions that are likely under the policy and have few visits."""

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparring.core.settings import Count, Fraction, NonNegative, Positive
from sparring.search.tree import Forest, Leaves, follow, mean_value


class PuctSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="puct"):
    """AlphaZero's search."""

    simulations: Count = 64
    """Simulations for each move."""
    c_puct: NonNegative = 1.5
    """The weight of the exploration bonus: raise it to follow the policy longer before trusting values."""
    fpu_reduction: NonNegative = 0.2
    """First-play urgency: how far below its parent's value an unvisited action is valued, times the square root of the
    policy's probability of all visited actions."""
    dirichlet_fraction: Fraction = 0.0
    """The fraction of the root's policy that is replaced by Dirichlet noise; 0.25 in AlphaZero's self-play."""
    dirichlet_concentration: Positive = 10.0
    """The sum of the Dirichlet's alphas, which the legal actions share equally: raise it for more even noise."""
    reuse_tree: bool = True
    """Whether a match's next search starts with the subtree below the moves played since the last one."""


class Weights(NamedTuple):
    """The settings that the kernels need."""

    c_puct: float
    fpu_reduction: float


class Puct:
    """The strategy of a `TreeSearch` by PUCT."""

    def __init__(self, settings: PuctSettings) -> None:
        self.simulations = settings.simulations
        self.reuse_tree = settings.reuse_tree
        self.noisy_priors = settings.dirichlet_fraction > 0
        self._weights = Weights(settings.c_puct, settings.fpu_reduction)
        self._settings = settings

    def begin(
        self, forest: Forest, trees: NDArray[np.int32], simulated: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        """Mixes Dirichlet noise over the legal actions into the priors of the roots that are simulated."""
        if not self.noisy_priors:
            return
        trees = trees[simulated]
        fraction, concentration = self._settings.dirichlet_fraction, self._settings.dirichlet_concentration
        legal = forest.legal[trees, 0]
        alpha = concentration / legal.sum(axis=1, keepdims=True)
        noise = np.where(legal, rng.standard_gamma(np.broadcast_to(alpha, legal.shape)), 0.0)
        noise /= np.maximum(noise.sum(axis=1, keepdims=True), 1e-30)
        forest.prior[trees, 0] = (1 - fraction) * forest.prior[trees, 0] + fraction * noise

    def descend(self, forest: Forest, trees: NDArray[np.int32], simulation: int) -> Leaves:
        """Every simulation selects in the same way, whatever its number."""
        leaves = Leaves.empty(len(trees))
        descend_puct(forest, trees, self._weights, leaves)
        return leaves

    def decide(self, forest: Forest, trees: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The most visited action of each root, and each action's share of the visits."""
        visits = forest.visits[trees, 0].astype(np.float32)
        policy: NDArray[np.float32] = visits / np.maximum(visits.sum(axis=1, keepdims=True), 1)
        return policy.argmax(axis=1).astype(np.int32), policy


@njit(cache=True, nogil=True)
def descend_puct(forest: Forest, trees: Any, weights: Weights, leaves: Leaves) -> None:
    """One simulation down each of `trees: int32[k]`."""
    for row in range(len(trees)):
        t, node = trees[row], 0
        while node >= 0 and not forest.over[t, node]:
            node = follow(forest, t, node, choose_puct(forest, t, node, weights), leaves, row)
        leaves.node[row] = node


@njit(cache=True, nogil=True)
def choose_puct(forest: Forest, t: int, node: int, weights: Weights) -> int:
    """The action with the highest mean value plus bonus; the lowest number among equals."""
    visits, total, prior = forest.visits[t, node], forest.total[t, node], forest.prior[t, node]
    count, visited = 0, 0.0
    for action in range(len(visits)):
        if visits[action]:
            count += visits[action]
            visited += np.float64(prior[action])
    unvisited_value = mean_value(forest, t, node) - weights.fpu_reduction * np.sqrt(visited)
    scale = weights.c_puct * np.sqrt(np.float64(max(count, 1)))
    best, best_score = -1, -np.inf
    for action in range(len(visits)):
        if not forest.legal[t, node, action]:
            continue
        mean = total[action] / visits[action] if visits[action] else unvisited_value
        score = mean + scale * np.float64(prior[action]) / (1 + visits[action])
        if score > best_score:
            best, best_score = action, score
    return best
