"""A two-seat zero-sum game small enough to write down whole: its tree as arrays.

Rules are given as a `State`, which knows what may happen next; `build_tree` walks every state once. After that the
arena, the expected values and the best responses are look-ups in the arrays, for all matches or all nodes at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

CHANCE = -1
"""In `Tree.seat`: dice are rolled or cards dealt."""
OVER = -2
"""In `Tree.seat`: the match has ended."""


class State(Protocol):
    """One point of a match, as the rules see it."""

    @property
    def seat(self) -> int:
        """Who moves: 0, 1, `CHANCE` or `OVER`."""
        ...

    def payoff(self) -> float:
        """What seat 0 wins (and seat 1 loses) where the match is over."""
        ...

    def chances(self) -> Sequence[float]:
        """The probability of each chance move, 0 for those that cannot happen."""
        ...

    def actions(self) -> Sequence[int]:
        """The legal actions of the seat to move."""
        ...

    def after(self, move: int) -> "State":
        """The state after an action, or after the chance move of that number."""
        ...

    def seen(self) -> tuple[float, ...]:
        """Everything the seat to move knows, as numbers: equal exactly for states it cannot tell apart."""
        ...


@dataclass(frozen=True)
class Tree:
    """n nodes (the root is 0, parents before children) and s information states, numbered across both seats."""

    actions: int
    seat: NDArray[np.int32]
    """`int32[n]` who moves: 0, 1, `CHANCE` or `OVER`."""
    child: NDArray[np.int32]
    """`int32[n, moves]` the node after each action or chance move; -1 where there is none."""
    chance: NDArray[np.float64]
    """`float64[n, moves]` probabilities at chance nodes, else 0."""
    payoff: NDArray[np.float64]
    """`float64[n]` what seat 0 wins where the match is over, else 0."""
    info: NDArray[np.int32]
    """`int32[n]` the information state of the seat to move; -1 where nobody moves."""
    asked: NDArray[np.int32]
    """`int32[n, 2]` the information state each seat is asked about at this node; -1 where it is not asked."""
    depth: NDArray[np.int32]
    """`int32[n]` moves from the root; all nodes of an information state have the same."""
    info_seat: NDArray[np.int32]
    """`int32[s]` whose information state it is."""
    info_before: NDArray[np.int32]
    """`int32[s]` the same seat's information state before it; -1 for its first in a match."""
    legal: NDArray[np.bool_]
    """`bool[s, actions]`"""
    observation: NDArray[np.float32]
    """`float32[s, features]` what the seat sees."""


def build_tree(root: State, *, actions: int, simultaneous: bool = False) -> Tree:
    """Walks every state below `root`; raises `ValueError` if a seat could forget what it knew."""
    states: list[State] = [root]
    depth, before = [0], [(-1, -1)]  # before: each seat's latest information state above the node
    child: list[dict[int, int]] = []
    info_of: dict[tuple[int, tuple[float, ...]], int] = {}
    info: list[int] = []
    info_before: list[int] = []
    legal: list[Sequence[int]] = []
    for node, state in enumerate(states):  # grows while it is walked
        memory = before[node]
        info.append(-1)
        moves: Sequence[int] = ()
        if state.seat >= 0:
            key = state.seat, state.seen()
            moves = state.actions()
            if key not in info_of:
                info_of[key] = len(info_of)
                info_before.append(memory[state.seat])
                legal.append(moves)
            number = info_of[key]
            if info_before[number] != memory[state.seat] or list(legal[number]) != list(moves):
                raise ValueError(f"seat {state.seat} forgets something: {state.seen()} is reached in two ways")
            info[node] = number
            memory = (number, memory[1]) if state.seat == 0 else (memory[0], number)
        elif state.seat == CHANCE:
            moves = [move for move, chance in enumerate(state.chances()) if chance > 0]
        child.append({move: len(states) + place for place, move in enumerate(moves)})
        for move in moves:
            states.append(state.after(move))
            depth.append(depth[node] + 1)
            before.append(memory)
    widest = max(len(s.chances()) if s.seat == CHANCE else 0 for s in states)
    moves_at_most = max(actions, widest)
    children = np.full((len(states), moves_at_most), -1, np.int32)
    chance = np.zeros((len(states), moves_at_most))
    for node, state in enumerate(states):
        for move, below in child[node].items():
            children[node, move] = below
        if state.seat == CHANCE:
            chance[node, : len(state.chances())] = state.chances()
    masks = np.zeros((len(info_of), actions), np.bool_)
    for number, allowed in enumerate(legal):
        masks[number, list(allowed)] = True
    seat = np.array([state.seat for state in states], np.int32)
    numbers = np.array(info, np.int32)
    return Tree(
        actions=actions,
        seat=seat,
        child=children,
        chance=chance,
        payoff=np.array([state.payoff() if state.seat == OVER else 0.0 for state in states]),
        info=numbers,
        asked=_asked(seat, children, numbers, simultaneous=simultaneous),
        depth=np.array(depth, np.int32),
        info_seat=np.array([owner for owner, _ in info_of], np.int32),
        info_before=np.array(info_before, np.int32),
        legal=masks,
        observation=np.array([seen for _, seen in info_of], np.float32),
    )


def _asked(
    seat: NDArray[np.int32], child: NDArray[np.int32], info: NDArray[np.int32], *, simultaneous: bool
) -> NDArray[np.int32]:
    asked = np.full((len(seat), 2), -1, np.int32)
    for mover in (0, 1):
        nodes = np.flatnonzero(seat == mover)
        asked[nodes, mover] = info[nodes]
    if simultaneous:
        nodes = np.flatnonzero(seat == 0)
        below = child[nodes].max(axis=1)  # any child: seat 1 sees none of seat 0's action
        if not (seat[below] == 1).all():
            raise ValueError("in a simultaneous game seat 1 moves below every move of seat 0")
        asked[nodes, 1] = info[below]
    return asked
