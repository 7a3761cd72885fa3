"""Fixed-width minimax for all matches at once: one network call per depth, whatever the number of matches.

From each position the search follows the moves that are likeliest under the policy, as many as the depth's width
says, and backs up the network's values of the last level. A level is all positions of all trees at one depth, so a
move takes depth + 1 calls. If a move wins at once, its siblings are pruned: alpha-beta's only cut that needs no
further call.
"""

from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from sparring.core import Array
from sparring.core.settings import Count, NonNegative
from sparring.search.evaluator import Evaluator
from sparring.search.waves import Found, Ints


class MinimaxSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="minimax"
):
    """Fixed-width minimax."""

    widths: Annotated[tuple[Count, ...], Meta(min_length=1)] = (5, 4)
    """Moves followed from each position, depth by depth."""
    temperature: NonNegative = 0.0
    """0 follows the likeliest moves; above 0 they are drawn without replacement, at this temperature."""


@dataclass(frozen=True)
class Level:
    """All positions at one depth of all trees, in the order of their parents and, below those, of their actions."""

    parent: NDArray[np.intp]
    """`intp[n]` index of the parent in the level above; at the roots the row itself."""
    action: Ints
    """`int32[n]` the move that led here, -1 at the roots."""
    states: Array
    """`state[n]`"""
    over: NDArray[np.bool_]
    """`bool[n]`"""
    value: NDArray[np.float32]
    """`float32[n]` for the seat to move, backed up from the level below if the position has children there."""


class Minimax:
    """The search this module describes. `levels` holds the trees of the last search, the roots first."""

    def __init__(self, evaluator: Evaluator, settings: MinimaxSettings) -> None:
        self.levels: list[Level] = []
        self._evaluator = evaluator
        self._model = evaluator.model
        self._settings = settings

    def search(self, trees: Ints, states: Array, rng: np.random.Generator, *, simulate: NDArray[np.bool_]) -> Found:
        """Searches `states: state[k]`. Nothing is kept for the next search, so `trees` is ignored.

        Where `simulate: bool[k]` is false the network's own policy and value are the answer.
        """
        model, k = self._model, len(states)
        rows = np.arange(k)
        legal = model.legal(states)
        log_probs, values = self._evaluator(states, legal)
        quick = np.flatnonzero(~simulate)
        likeliest, own_value = log_probs.argmax(axis=1), values.copy()
        root = Level(rows, np.full(k, -1, np.int32), states, ~simulate, values)
        levels = [root]
        for width in self._settings.widths:
            above = levels[-1]
            open_rows = np.flatnonzero(~above.over)
            chosen, parent = self._widen(log_probs, legal, open_rows, width, rng)
            below = model.apply(above.states[parent], chosen)
            over, value = model.outcome(below)
            kept = _without_beaten(parent, over & (value < 0), len(above.states))
            below, over, value = below[kept], over[kept], value[kept]
            level = Level(parent[kept], chosen[kept], below, over, value)
            legal = model.legal(below)
            log_probs = np.zeros(legal.shape, np.float32)
            going = np.flatnonzero(~over)
            log_probs[going], level.value[going] = self._evaluator(below[going], legal[going])
            levels.append(level)
        for above, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
            best = np.full(len(above.states), -np.inf, np.float32)
            np.maximum.at(best, level.parent, -level.value)
            above.value[:] = np.where(np.isfinite(best), best, above.value)
        self.levels = levels
        action, visits = self._decide(k)
        action[quick] = likeliest[quick]
        values[quick] = own_value[quick]
        policy = np.zeros(visits.shape, np.float32)
        policy[rows, action] = 1
        return Found(action=action, policy=policy, value=values, visits=visits)

    def _widen(
        self,
        log_probs: NDArray[np.float32],
        legal: NDArray[np.bool_],
        rows: NDArray[np.intp],
        width: int,
        rng: np.random.Generator,
    ) -> tuple[Ints, NDArray[np.intp]]:
        """The moves to follow from `rows` of a level: `(action: int32[n], parent: intp[n])`, ordered by parent."""
        temperature = self._settings.temperature
        score = log_probs[rows].astype(np.float64)
        if temperature > 0:
            score = score / temperature + rng.gumbel(size=score.shape)
        score[~legal[rows]] = -np.inf
        width = min(width, score.shape[1])
        best = np.argsort(-score, axis=1, kind="stable")[:, :width]
        allowed = np.take_along_axis(legal[rows], best, axis=1)
        parent = np.repeat(rows, allowed.sum(axis=1))
        return best[allowed].astype(np.int32), parent

    def _decide(self, k: int) -> tuple[Ints, Ints]:
        """The best move of each root (the likeliest among equals), and the number of leaves below each move."""
        first = self.levels[1]
        action = np.zeros(k, np.int32)
        best = np.full(k, -np.inf, np.float32)
        np.maximum.at(best, first.parent, -first.value)
        winners = np.flatnonzero(-first.value == best[first.parent])[::-1]
        action[first.parent[winners]] = first.action[winners]
        leaves = np.ones(len(self.levels[-1].states), np.int32)
        for above, level in zip(self.levels[-2:0:-1], self.levels[:1:-1], strict=True):
            leaves = np.maximum(np.bincount(level.parent, leaves, len(above.states)), 1).astype(np.int32)
        visits = np.zeros((k, self._evaluator.actions), np.int32)
        visits[first.parent, first.action] = leaves
        return action, visits


def _without_beaten(parent: NDArray[np.intp], wins: NDArray[np.bool_], parents: int) -> NDArray[np.intp]:
    """The rows to keep: all children of a parent without a winning move, and the first winning move of the others."""
    first_win = np.full(parents, len(parent))
    won = np.flatnonzero(wins)[::-1]
    first_win[parent[won]] = won
    decided = first_win[parent] < len(parent)
    return np.flatnonzero(~decided | (first_win[parent] == np.arange(len(parent))))
