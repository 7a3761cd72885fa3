"""PUCT: follow the mean value plus a bonus for what the policy likes and the search has seldom tried."""

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numba import njit
from numpy.typing import NDArray

from sparring.search.tree import Forest, mean_value

Count = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]


class PuctSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="puct"):
    """AlphaZero's search."""

    simulations: Count = 64
    """Positions looked at for each move."""
    exploration: NotNegative = 1.5
    """The bonus's weight: raised, the search follows the policy longer and the values later."""
    caution: NotNegative = 0.2
    """How far below its parent an untried move is valued, times the root of the probability already tried."""
    noise: Fraction = 0.0
    """The part of the root's policy that is Dirichlet noise; 0.25 in self-play."""
    noise_total: Annotated[float, Meta(gt=0)] = 10.0
    """The Dirichlet's concentration summed over the legal moves: raised, the noise is more even."""
    reuse: bool = True
    """Whether a match's next search starts with what the last one found below the moves played."""


@njit(cache=True, nogil=True)
def choose_puct(forest: Forest, t: int, node: int, exploration: float, caution: float) -> int:
    """The action to follow from a node: the best of mean value plus bonus, the lowest number among equals."""
    visits, total, prior = forest.visits[t, node], forest.total[t, node], forest.prior[t, node]
    count, tried = 0, 0.0
    for action in range(len(visits)):
        if visits[action]:
            count += visits[action]
            tried += np.float64(prior[action])
    untried = mean_value(forest, t, node) - caution * np.sqrt(tried)
    scale = exploration * np.sqrt(np.float64(max(count, 1)))
    best, best_score = -1, -np.inf
    for action in range(len(visits)):
        if not forest.legal[t, node, action]:
            continue
        mean = total[action] / visits[action] if visits[action] else untried
        score = mean + scale * np.float64(prior[action]) / (1 + visits[action])
        if score > best_score:
            best, best_score = action, score
    return best


@njit(cache=True, nogil=True)
def descend_puct(
    forest: Forest, trees: Any, exploration: float, caution: float, parents: Any, actions: Any, leaves: Any
) -> None:
    """One simulation's way down each of `trees: int32[k]`.

    Writes the node and action where the tree ends (`leaves` is -1 there), or the finished node it came to.
    """
    for row in range(len(trees)):
        t = trees[row]
        node = 0
        while True:
            if forest.over[t, node]:
                parents[row], actions[row], leaves[row] = -1, -1, node
                break
            action = choose_puct(forest, t, node, exploration, caution)
            below = forest.child[t, node, action]
            if below < 0:
                parents[row], actions[row], leaves[row] = node, action, -1
                break
            node = below


def add_noise(forest: Forest, trees: NDArray[np.int32], settings: PuctSettings, rng: np.random.Generator) -> None:
    """Mixes Dirichlet noise over the legal moves into the roots' priors."""
    if settings.noise == 0:
        return
    legal = forest.legal[trees, 0]
    shape = settings.noise_total / legal.sum(axis=1, keepdims=True)
    draws = np.where(legal, rng.standard_gamma(np.broadcast_to(shape, legal.shape)), 0.0)
    draws /= np.maximum(draws.sum(axis=1, keepdims=True), 1e-30)
    forest.prior[trees, 0] = (1 - settings.noise) * forest.prior[trees, 0] + settings.noise * draws


def visit_policy(forest: Forest, trees: NDArray[np.int32]) -> NDArray[np.float32]:
    """`float32[k, actions]` the share of simulations each root move got."""
    visits = forest.visits[trees, 0].astype(np.float32)
    policy: NDArray[np.float32] = visits / np.maximum(visits.sum(axis=1, keepdims=True), 1)
    return policy
