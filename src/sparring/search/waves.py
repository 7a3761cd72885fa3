"""Tree search for all matches at once: each wave runs one simulation in every tree and asks the network once."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array
from sparring.search.evaluator import Evaluator
from sparring.search.tree import Forest, Leaves, Positions, add_nodes, back_up, carry, find_roots, root_values

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Found:
    """What a search found for k positions."""

    action: Ints
    """`int32[k]` the move it would play."""
    policy: NDArray[np.float32]
    """`float32[k, actions]` the improved policy."""
    value: NDArray[np.float32]
    """`float32[k]` the root's value for the seat to move."""
    visits: Ints
    """`int32[k, actions]` simulations through each move; for minimax, the leaves below it."""


class Strategy(Protocol):
    """How a tree search selects and concludes. An object serves one `TreeSearch`, one search after the other."""

    simulations: int
    """Simulations in each search."""
    reuse_tree: bool
    """Whether a search starts with the subtree that the last one built below its root."""
    noisy_priors: bool
    """Whether `begin` changes the roots' priors, so that a reused root needs the network's own again."""

    def begin(self, forest: Forest, trees: Ints, simulated: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Starts a search from the roots of `trees: int32[k]`, of which rows `simulated: intp[j]` get simulations."""
        ...

    def descend(self, forest: Forest, trees: Ints, simulation: int) -> Leaves:
        """Simulation number `simulation` down each of the j trees, to a finished match or out of the tree."""
        ...

    def decide(self, forest: Forest, trees: Ints) -> tuple[Ints, NDArray[np.float32]]:
        """The action `int32[j]` and the policy `float32[j, actions]` that the simulations led to."""
        ...


class TreeSearch:
    """Searches up to `trees` matches at once, each in a tree of its own that may be reused from move to move."""

    def __init__(self, evaluator: Evaluator, strategy: Strategy, *, trees: int) -> None:
        self.forest: Forest | None = None
        self._evaluator = evaluator
        self._model = evaluator.model
        self._strategy = strategy
        self._trees = trees
        self._version = evaluator.version()

    def search(self, trees: Ints, states: Array, rng: np.random.Generator, *, simulate: NDArray[np.bool_]) -> Found:
        """Searches `states: state[k]`, each in the tree that `trees: int32[k]` names.

        Where `simulate: bool[k]` is false the network's own policy and value are the answer.
        """
        strategy = self._strategy
        forest = self._plant_all(trees, states)
        policy, value = forest.prior[trees, 0], forest.value[trees, 0]
        action = policy.argmax(axis=1).astype(np.int32)
        rows = np.flatnonzero(simulate)
        strategy.begin(forest, trees, rows, rng)
        if len(rows):
            simulated = trees[rows]
            for simulation in range(strategy.simulations):
                self._wave(forest, simulated, simulation)
            action[rows], policy[rows] = strategy.decide(forest, simulated)
            value[rows] = root_values(forest, simulated)
        return Found(action=action, policy=policy, value=value, visits=forest.visits[trees, 0])

    def ponder(self, trees: Ints, states: Array, rng: np.random.Generator) -> Iterator[None]:
        """Searches `states: state[k]` without an end, one simulation further with each step; see `found`.

        It searches again and again, each time on what it has. So the first steps do what `search` does. Trees grow.
        """
        forest = self._plant_all(trees, states)
        while True:
            nodes = int(forest.used[trees].max()) + self._strategy.simulations
            if nodes > forest.keys.shape[1]:
                self.forest = forest = forest.larger(2 * nodes)
            self._strategy.begin(forest, trees, np.arange(len(trees)), rng)
            for simulation in range(self._strategy.simulations):
                self._wave(forest, trees, simulation)
                yield

    def found(self, trees: Ints) -> Found:
        """What pondering has found so far in `trees: int32[k]`."""
        assert self.forest is not None, "nothing has been searched"
        action, policy = self._strategy.decide(self.forest, trees)
        value = root_values(self.forest, trees)
        return Found(action=action, policy=policy, value=value, visits=self.forest.visits[trees, 0])

    def _plant_all(self, trees: Ints, states: Array) -> Forest:
        """The forest, with `states` as the roots of `trees`."""
        if self.forest is None:
            nodes = self._strategy.simulations * (2 if self._strategy.reuse_tree else 1) + 1
            self.forest = Forest.empty(self._trees, nodes, self._evaluator.actions, states)
        self._plant(self.forest, trees, states)
        return self.forest

    def _plant(self, forest: Forest, trees: Ints, states: Array) -> None:
        """Makes `states` the roots: reused where the last search of the tree reached them, else evaluated."""
        roots = np.full(len(trees), -1, np.int32)
        keys = self._model.keys(states)
        if self._strategy.reuse_tree and self._evaluator.version() == self._version:
            find_roots(forest, trees, keys, self._strategy.simulations, roots)
        self._version = self._evaluator.version()
        kept, fresh = np.flatnonzero(roots >= 0), np.flatnonzero(roots < 0)
        carry(forest, trees[kept], roots[kept])
        no_edge = np.full(len(fresh), -1, np.int32)
        self._add(forest, trees[fresh], no_edge, no_edge, states[fresh])
        if self._strategy.noisy_priors and len(kept):
            legal = forest.legal[trees[kept], 0]
            log_probs, _ = self._evaluator(states[kept], legal)
            forest.prior[trees[kept], 0] = np.where(legal, np.exp(log_probs), 0)

    def _wave(self, forest: Forest, trees: Ints, simulation: int) -> None:
        """One simulation in every tree: down to a leaf, one network call for all leaves, and back up."""
        leaves = self._strategy.descend(forest, trees, simulation)
        new = np.flatnonzero(leaves.node < 0)
        if len(new):
            parents, actions = leaves.parent[new], leaves.action[new]
            states = self._model.apply(forest.states[trees[new], parents], actions)
            leaves.node[new] = self._add(forest, trees[new], parents, actions, states)
        back_up(forest, trees, leaves.node)

    def _add(self, forest: Forest, trees: Ints, parents: Ints, actions: Ints, states: Array) -> Ints:
        """Appends k nodes, asking the network about those where the match goes on; returns their numbers."""
        over, values = self._model.outcome(states)
        legal = self._model.legal(states)
        going = np.flatnonzero(~over)
        log_probs = np.zeros(legal.shape, np.float32)
        if len(going) == len(states):
            log_probs, values = self._evaluator(states, legal)
        else:
            log_probs[going], values[going] = self._evaluator(states[going], legal[going])
        positions = Positions(states, self._model.keys(states), over, legal, log_probs, values)
        nodes: Ints = add_nodes(forest, trees, parents, actions, positions)
        return nodes
