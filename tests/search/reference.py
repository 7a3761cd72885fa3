"""Plain recursive searches, one position and one network question at a time: what the batched ones must equal."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparring.core import ForwardModel
from sparring.search import GumbelSettings, MinimaxSettings, PuctSettings


class NoiseNetwork:
    """A network of a sort: policy and value are fixed pseudo-random functions of the position."""

    def __init__(self, actions: int, seed: int = 0) -> None:
        self.calls = 0
        self._table = np.random.default_rng(seed).normal(size=(2 * 19 * 19, actions + 1)).astype(np.float64)

    def __call__(self, observation: Any, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.calls += 1
        planes = observation["planes"].reshape(len(legal), -1).astype(np.float64)
        # row by row, so that a row's answer cannot depend on its batch
        mixed = np.sin(np.stack([row @ self._table[: planes.shape[1]] for row in planes]))
        logits = np.where(legal, 2 * mixed[:, :-1], -np.inf)
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return np.where(legal, log_probs, -1e9).astype(np.float32), (0.9 * mixed[:, -1]).astype(np.float32)


@dataclass
class Node:
    """A position and what a search knows below it."""

    state: np.ndarray
    over: bool
    value: float
    prior: np.ndarray
    legal: np.ndarray
    visits: int = 0
    total: float = 0.0
    """Of the edge into this node, for the seat that moved there."""
    children: dict[int, "Node"] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Of the node's own value and all simulations through it, for the seat to move here."""
        return (self.value + sum(c.total for _, c in sorted(self.children.items()))) / (
            1 + sum(c.visits for c in self.children.values())
        )


def make_node(model: ForwardModel, ask: Any, state: np.ndarray) -> Node:
    over, value = model.outcome(state[None])
    legal = model.legal(state[None])
    if over[0]:
        return Node(state, True, float(value[0]), np.zeros(legal.shape[1], np.float32), legal[0])
    log_probs, value = ask(model.encode(state[None]), legal)
    prior = np.where(legal[0], np.exp(log_probs[0]), 0).astype(np.float32)
    return Node(state, False, float(value[0]), prior, legal[0])


def after(model: ForwardModel, ask: Any, node: Node, action: int) -> Node:
    return make_node(model, ask, model.apply(node.state[None], np.array([action], np.int32))[0])


def simulate(model: ForwardModel, ask: Any, node: Node, choose: Any, depth: int = 0) -> float:
    """One simulation from `node`; returns its value for the seat to move there."""
    if node.over:
        return node.value
    action = choose(node, depth)
    if action in node.children:
        child = node.children[action]
        value = -simulate(model, ask, child, choose, depth + 1)
    else:
        child = node.children[action] = after(model, ask, node, action)
        value = -child.value
    child.visits += 1
    child.total += value
    return value


def puct(model: ForwardModel, ask: Any, state: np.ndarray, settings: PuctSettings) -> Node:
    def choose(node: Node, depth: int) -> int:
        count = sum(c.visits for c in node.children.values())
        tried = sum(float(node.prior[a]) for a in sorted(node.children))
        untried = node.mean - settings.fpu_reduction * math.sqrt(tried)
        scale = settings.c_puct * math.sqrt(max(count, 1))

        def score(action: int) -> float:
            child = node.children.get(action)
            mean = child.total / child.visits if child else untried
            return mean + scale * float(node.prior[action]) / (1 + (child.visits if child else 0))

        return max(np.flatnonzero(node.legal).tolist(), key=score)

    root = make_node(model, ask, state)
    for _ in range(settings.simulations):
        simulate(model, ask, root, choose)
    return root


def gumbel_scores(node: Node, settings: GumbelSettings) -> dict[int, float]:
    """Log prior + s(q) of every legal action."""
    tried = dict(sorted(node.children.items()))
    count = sum(c.visits for c in tried.values())
    mixed = node.value
    if tried:
        weighted = sum(float(node.prior[a]) * (c.total / c.visits) for a, c in tried.items())
        mixed = (mixed + count * (weighted / sum(float(node.prior[a]) for a in tried))) / (1 + count)
    factor = (settings.maxvisit_init + max([c.visits for c in tried.values()], default=0)) * settings.value_scale
    return {
        a: factor * ((tried[a].total / tried[a].visits if a in tried else mixed) + 1) / 2
        + math.log(float(node.prior[a]))
        for a in np.flatnonzero(node.legal).tolist()
    }


def gumbel_policy(node: Node, settings: GumbelSettings) -> dict[int, float]:
    scores = gumbel_scores(node, settings)
    top = max(scores.values())
    whole = sum(math.exp(s - top) for s in scores.values())
    return {a: math.exp(s - top) / whole for a, s in scores.items()}


def gumbel(
    model: ForwardModel, ask: Any, state: np.ndarray, settings: GumbelSettings, noise: np.ndarray
) -> tuple[Node, int]:
    """The tree and the move: rounds of equal visits for the best moves so far, half as many each round."""
    root = make_node(model, ask, state)
    forced = -1

    def choose(node: Node, depth: int) -> int:
        if depth == 0:
            return forced
        policy = gumbel_policy(node, settings)
        count = sum(c.visits for c in node.children.values())
        visits = {a: node.children[a].visits if a in node.children else 0 for a in policy}
        return max(policy, key=lambda a: policy[a] - visits[a] / (1 + count))

    def rank(action: int) -> float:
        return gumbel_scores(root, settings)[action] + noise[action]

    legal = np.flatnonzero(root.legal).tolist()
    left = considered = min(settings.max_num_considered_actions, len(legal))
    rounds = max(1, math.ceil(math.log2(considered)))
    visited = dict.fromkeys(legal, 0)
    level = 0
    while True:
        for _ in range(max(1, settings.simulations // (rounds * left))):
            for _ in range(left):
                forced = max((a for a in legal if visited[a] == level), key=rank)
                simulate(model, ask, root, choose)
                visited[forced] += 1
                if sum(visited.values()) == settings.simulations:
                    return root, max((a for a in legal if visited[a] == max(visited.values())), key=rank)
            level += 1
        left = max(min(2, considered), left // 2)


@dataclass
class Looked:
    """A position of a fixed-width search."""

    value: float
    children: dict[int, "Looked"]


def minimax(model: ForwardModel, ask: Any, state: np.ndarray, settings: MinimaxSettings, depth: int = 0) -> Looked:
    node = make_node(model, ask, state)
    if node.over or depth == len(settings.widths):
        return Looked(node.value, {})
    likeliest = np.argsort(-np.where(node.legal, node.prior, -1), kind="stable")[: settings.widths[depth]]
    moves = [int(a) for a in likeliest if node.legal[a]]
    wins = [a for a in moves if model.outcome(model.apply(node.state[None], np.array([a], np.int32)))[1][0] < 0]
    children = {
        a: minimax(model, ask, model.apply(node.state[None], np.array([a], np.int32))[0], settings, depth + 1)
        for a in (wins[:1] or moves)
    }
    return Looked(max(-child.value for child in children.values()), children)
