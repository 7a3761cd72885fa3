"""What R-NaD's iterations could reach on Leduc poker without any sampling noise: NashConv by iteration and eta.

Tabular logits, exact action values of the transformed game, the same dynamics as the learner's: a limit for
`benchmarks/rnad.py`, and a guide to eta. An iteration here is `STEPS` small steps, enough to converge.
"""

import numpy as np
from numpy.typing import NDArray

import measure
from sparring.core import load_game
from sparring.games.poker.exact import nash_conv
from sparring.games.poker.tree import CHANCE, Tree

Floats = NDArray[np.float64]
RATE, STEPS = 0.05, 400
FURTHEST = 3.0


def policy_of(tree: Tree, logits: Floats) -> Floats:
    """`float64[s, actions]` the softmax over legal actions."""
    shifted = np.where(tree.legal, logits, -np.inf)
    weights = np.exp(shifted - shifted.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def levels(tree: Tree) -> list[NDArray[np.intp]]:
    """The nodes of each depth at which something is still to happen."""
    inner = tree.child.max(axis=1) >= 0
    return [np.flatnonzero((tree.depth == depth) & inner) for depth in range(int(tree.depth.max()) + 1)]


def move_probabilities(tree: Tree, policy: Floats) -> Floats:
    """`float64[n, moves]` of every move at every node."""
    deciding = tree.seat >= 0
    moves = np.where((tree.seat == CHANCE)[:, None], tree.chance, 0.0)
    moves[deciding, : tree.actions] = policy[tree.info[deciding]]
    return moves


def advantages(tree: Tree, policy: Floats, played: Floats, log_ratio: Floats, eta: float) -> Floats:
    """`float64[s, actions]` of every information state in the transformed game, with beliefs as `played` makes them."""
    deciding = tree.seat >= 0
    moves = move_probabilities(tree, policy)
    sign = np.where(tree.seat == 0, 1.0, -1.0)
    paid = np.zeros(len(tree.seat))
    paid[deciding] = sign[deciding] * eta * (policy * log_ratio).sum(axis=1)[tree.info[deciding]]
    value = tree.payoff.astype(np.float64)
    for nodes in levels(tree)[::-1]:
        value[nodes] = (moves[nodes] * value[tree.child[nodes]]).sum(axis=1) - paid[nodes]
    reach = np.zeros((len(tree.seat), 2))  # by chance and the other seat
    reach[0] = 1.0
    moves = move_probabilities(tree, played)
    for nodes in levels(tree):
        at, move = np.nonzero(tree.child[nodes] >= 0)
        from_, to = nodes[at], tree.child[nodes][at, move]
        for seat in (0, 1):
            reach[to, seat] = reach[from_, seat] * np.where(tree.seat[from_] == seat, 1.0, moves[from_, move])
    node = np.flatnonzero(deciding)
    weight = reach[node, tree.seat[node]]
    q, total = np.zeros(policy.shape), np.zeros(len(policy))
    np.add.at(q, tree.info[node], (weight * sign[node])[:, None] * value[tree.child[node, : tree.actions]])
    np.add.at(total, tree.info[node], weight)
    q = np.where(tree.legal, q / total[:, None] - eta * log_ratio, 0.0)
    return np.where(tree.legal, q - (policy * q).sum(axis=1, keepdims=True), 0.0)


def run(tree: Tree, eta: float, iterations: int, temperature: float = 1.0) -> None:
    """Prints NashConv at the end of every iteration, played at `temperature` without correcting beliefs for it."""
    logits = np.zeros(tree.legal.shape)
    anchor = policy_of(tree, logits)
    legal = tree.legal
    for iteration in range(1, iterations + 1):
        for _ in range(STEPS):
            policy = policy_of(tree, logits)
            ratio = np.log(policy, where=legal, out=np.zeros_like(policy))
            ratio -= np.log(anchor, where=legal, out=np.zeros_like(policy))
            logits = logits + RATE * advantages(tree, policy, policy_of(tree, logits / temperature), ratio, eta)
            mean = np.where(legal, logits, 0.0).sum(axis=1, keepdims=True) / legal.sum(axis=1, keepdims=True)
            logits = np.clip(logits - mean, -FURTHEST, FURTHEST)
        anchor = policy_of(tree, logits)
        found = nash_conv(tree, anchor)
        what = f"eta {eta}, played at temperature {temperature}, iteration {iteration}"
        measure.figure(f"leduc exact dynamics, {what}", found, "chips")


def main() -> None:
    quick = measure.parse(measure.parser(__doc__, quick="one eta, two iterations")).quick
    game = load_game("leduc")
    tree: Tree = game.tree(game.settings())  # type: ignore[attr-defined]
    for eta in (0.5,) if quick else (2.0, 1.0, 0.5, 0.25):
        run(tree, eta, 2 if quick else 5)
    for temperature in () if quick else (1.5, 3.0):
        run(tree, 0.5, 3, temperature)


if __name__ == "__main__":
    main()
