"""The tree search of all matches at once: each wave takes one leaf from every tree and asks the network once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array
from sparring.search.evaluator import Evaluator
from sparring.search.gumbel import GumbelSettings, decide_gumbel, descend_gumbel, visit_schedule
from sparring.search.puct import PuctSettings, add_noise, descend_puct, visit_policy
from sparring.search.tree import Forest, add_nodes, back_up, carry, find_roots, root_values

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Found:
    """What a search says of k positions."""

    action: Ints
    """`int32[k]` the move it would play."""
    policy: NDArray[np.float32]
    """`float32[k, actions]` the improved policy."""
    value: NDArray[np.float32]
    """`float32[k]` the root's value for the seat to move."""
    visits: Ints
    """`int32[k, actions]` simulations of each move; for minimax, leaves looked at below it."""


class TreeSearch:
    """PUCT or Gumbel search over `trees` trees; a tree belongs to a match and may be carried from move to move."""

    def __init__(self, evaluator: Evaluator, settings: PuctSettings | GumbelSettings, *, trees: int) -> None:
        self.forest: Forest | None = None
        self._evaluator = evaluator
        self._model = evaluator.model
        self._settings = settings
        self._trees = trees
        self._version = evaluator.version()
        self._schedules: dict[int, Ints] = {}

    def search(self, trees: Ints, states: Array, rng: np.random.Generator, *, simulate: NDArray[np.bool_]) -> Found:
        """Looks ahead from `states: state[k]`, each in its own one of `trees: int32[k]`.

        Where `simulate: bool[k]` is false the network's own policy and value are the answer.
        """
        settings = self._settings
        if self.forest is None:
            nodes = settings.simulations * (2 if settings.reuse else 1) + 1
            self.forest = Forest.empty(self._trees, nodes, self._evaluator.actions, states)
        forest = self.forest
        self._plant(forest, trees, states)
        rows = np.flatnonzero(simulate)
        if isinstance(settings, PuctSettings):
            add_noise(forest, trees[rows], settings, rng)
            for _ in range(settings.simulations if len(rows) else 0):
                self._wave(forest, trees[rows])
            policy = visit_policy(forest, trees)
            action = policy.argmax(axis=1).astype(np.int32)
        else:
            action, policy = self._halve(forest, trees, rows, settings, rng)
        value = np.empty(len(trees), np.float32)
        root_values(forest, trees, value)
        quick = np.flatnonzero(~simulate)
        policy[quick] = forest.prior[trees[quick], 0]
        action[quick] = policy[quick].argmax(axis=1)
        value[quick] = forest.value[trees[quick], 0]
        return Found(action=action, policy=policy, value=value, visits=forest.visits[trees, 0])

    def _plant(self, forest: Forest, trees: Ints, states: Array) -> None:
        """Makes `states` the roots: carried over where the last search of the tree has them, else evaluated."""
        roots = np.full(len(trees), -1, np.int32)
        keys = self._model.keys(states)
        if self._settings.reuse and self._evaluator.version() == self._version:
            find_roots(forest, trees, keys, self._settings.simulations, roots)
        self._version = self._evaluator.version()
        kept, fresh = np.flatnonzero(roots >= 0), np.flatnonzero(roots < 0)
        carry(forest, trees[kept], roots[kept])
        self._add(
            forest, trees[fresh], np.full(len(fresh), -1, np.int32), np.zeros(len(fresh), np.int32), states[fresh]
        )
        if isinstance(self._settings, PuctSettings) and self._settings.noise and len(kept):
            self._clean_priors(forest, trees[kept], states[kept])

    def _clean_priors(self, forest: Forest, trees: Ints, states: Array) -> None:
        """The network's own priors at roots that may still carry the noise of an earlier search."""
        log_probs, _ = self._evaluator(states, forest.legal[trees, 0])
        forest.prior[trees, 0] = np.where(forest.legal[trees, 0], np.exp(log_probs), 0)

    def _halve(
        self, forest: Forest, trees: Ints, rows: NDArray[np.intp], settings: GumbelSettings, rng: np.random.Generator
    ) -> tuple[Ints, NDArray[np.float32]]:
        """Sequential halving over the trees of `rows`; returns the moves chosen and the improved policies of all."""
        shape = (len(trees), self._evaluator.actions)
        gumbel = rng.gumbel(size=shape) * settings.noise if settings.noise else np.zeros(shape)
        carried = forest.visits[trees, 0]
        considered = np.minimum(forest.legal[trees, 0].sum(axis=1), settings.considered)
        for number in np.unique(considered[rows]):
            if int(number) not in self._schedules:
                self._schedules[int(number)] = visit_schedule(int(number), settings.simulations)
        turns = np.array([self._schedules[n] for n in considered[rows].tolist()], np.int32)
        weights = settings.visit_offset, settings.value_scale
        for simulation in range(settings.simulations if len(rows) else 0):
            self._wave(forest, trees[rows], gumbel[rows], carried[rows], turns[:, simulation])
        action = np.empty(len(trees), np.int32)
        policy = np.empty(shape, np.float32)
        decide_gumbel(forest, trees, *weights, gumbel, carried, action, policy)
        return action, policy

    def _wave(
        self,
        forest: Forest,
        trees: Ints,
        gumbel: NDArray[np.float64] | None = None,
        carried: Ints | None = None,
        turns: Ints | None = None,
    ) -> None:
        """One simulation in every tree: down to a leaf, one network call for all leaves, and back up."""
        settings = self._settings
        parents, actions, leaves = (np.empty(len(trees), np.int32) for _ in range(3))
        if isinstance(settings, PuctSettings):
            descend_puct(forest, trees, settings.exploration, settings.caution, parents, actions, leaves)
        else:
            weights = settings.visit_offset, settings.value_scale
            descend_gumbel(forest, trees, *weights, gumbel, carried, turns, parents, actions, leaves)
        new = np.flatnonzero(leaves < 0)
        if len(new):
            above = forest.states[trees[new], parents[new]]
            states = self._model.apply(above, actions[new])
            leaves[new] = self._add(forest, trees[new], parents[new], actions[new], states)
        back_up(forest, trees, leaves)

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
        nodes = np.empty(len(trees), np.int32)
        keys = self._model.keys(states)
        add_nodes(forest, trees, parents, actions, states, keys, over, legal, log_probs, values, nodes)
        return nodes
