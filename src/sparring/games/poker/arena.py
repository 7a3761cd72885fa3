"""The arena of a game given as a tree: a match is a node number, and a step is a look-up for all matches at once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    Array,
    ClosingArena,
    Decisions,
    GameSpec,
    Results,
    Stages,
    check_actions,
    check_argument,
    check_rows,
    illegal_action,
    nothing_to_wait_for,
)
from sparring.core.settings import Count, NonNegativeInt
from sparring.core.splitmix import STEP, mix
from sparring.games.poker.tree import CHANCE, OVER, Tree


class TreeArena(ClosingArena):
    """`matches` matches of `tree` at the same time. Rows come in slot order, and within a slot by seat.

    The chance moves of a slot depend only on the seed, the slot and how many it has had before.
    """

    def __init__(self, tree: Tree, spec: GameSpec, *, matches: int, seed: int) -> None:
        check_argument("matches", matches, Count)
        check_argument("seed", seed, NonNegativeInt)
        self.spec = spec
        self.matches = matches
        self.stages = Stages()
        self._tree = tree
        self._cumulative = np.cumsum(tree.chance, axis=1)
        self._cumulative[tree.chance.cumsum(axis=1) > 1 - 1e-9] = (
            np.inf
        )  # the last possible move takes all that is left
        self._slots: dict[str, Array] = {
            "node": np.zeros(matches, np.int32),
            "choice": np.full((matches, 2), -1, np.int32),
            "out": np.zeros((matches, 2), np.bool_),
            "told": np.zeros(matches, np.bool_),
            "begun": np.zeros((matches, 2), np.bool_),
            "stream": np.random.default_rng(seed).integers(0, 2**64, matches, np.uint64),
            "won": np.full(matches, np.nan),
        }
        self._advance(np.arange(matches))

    def wait(self) -> tuple[Decisions, Results]:
        """The rows of every match that has not been told yet, and the matches that ended since the last call."""
        self._check_open()
        s, tree = self._slots, self._tree
        results = self._take_results()
        infos = np.where(s["told"][:, None], -1, tree.asked[s["node"]])
        match, seat = np.nonzero(infos >= 0)
        if len(match) + len(results) == 0:
            raise nothing_to_wait_for()
        info = infos[match, seat]
        with self.stages.time("encode"):
            state = tree.observation[info]
        with self.stages.time("mask"):
            legal = tree.legal[info]
        decisions = Decisions(
            match=match.astype(np.int32),
            seat=seat.astype(np.int32),
            observation={"state": state},
            legal=legal,
            reward=np.zeros(len(match), np.float32),
            first=~s["begun"][match, seat],
        )
        s["out"][match, seat] = True
        s["begun"][match, seat] = True
        s["told"][match] = True
        return decisions, results

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Plays `actions: int32[k]`; if one is refused nothing is played."""
        self._check_open()
        check_actions(decisions, actions)
        s, tree = self._slots, self._tree
        match, seat = decisions.match, decisions.seat
        check_rows(match, seat, s["out"])
        info = tree.asked[s["node"][match], seat]
        inside = (actions >= 0) & (actions < tree.actions)
        wrong = np.flatnonzero(~(inside & tree.legal[info, np.where(inside, actions, 0)]))
        if len(wrong):
            row = int(wrong[0])
            raise illegal_action(f"match {match[row]}, seat {seat[row]}", actions[row], tree.legal[info[row]])
        s["choice"][match, seat] = actions
        s["out"][match, seat] = False
        answered = np.zeros(self.matches, np.bool_)
        answered[match] = True
        with self.stages.time("env"):
            self._advance(np.flatnonzero(answered & ~s["out"].any(axis=1)))

    def snapshot(self) -> dict[str, Array]:
        """Every slot, the random streams and results not yet told. Rows that are out stay out."""
        return {name: array.copy() for name, array in self._slots.items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`, taken from an arena of the same game with the same number of matches."""
        for name, array in self._slots.items():
            array[...] = snapshot[name]

    def _advance(self, match: NDArray[np.intp]) -> None:
        """Plays what was chosen, deals, ends and begins matches until every one of `match: intp[j]` needs an answer."""
        s, tree = self._slots, self._tree
        s["told"][match] = False
        while len(match):
            node = s["node"][match]
            seat = tree.seat[node]
            over = seat == OVER
            s["won"][match[over]] = tree.payoff[node[over]]
            s["begun"][match[over]] = False
            s["node"][match[over]] = 0
            dealt = seat == CHANCE
            draws = self._uniform(match[dealt])
            chance = (self._cumulative[node[dealt]] <= draws[:, None]).sum(axis=1)
            s["node"][match[dealt]] = tree.child[node[dealt], chance]
            chosen = np.where(seat >= 0, s["choice"][match, seat], -1)
            played = chosen >= 0
            s["node"][match[played]] = tree.child[node[played], chosen[played]]
            s["choice"][match[played], seat[played]] = -1
            match = match[over | dealt | played]

    def _uniform(self, match: NDArray[np.intp]) -> NDArray[np.float64]:
        """The next number in [0, 1) of each slot's own stream."""
        stream: NDArray[np.uint64] = self._slots["stream"]
        stream[match] += STEP
        bits: NDArray[np.uint64] = mix(stream[match])
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def _take_results(self) -> Results:
        won = self._slots["won"]
        match = np.flatnonzero(~np.isnan(won))
        reward = np.stack((won[match], -won[match]), axis=1).astype(np.float32)
        won[match] = np.nan
        return Results(
            match=match.astype(np.int32), outcome=np.sign(reward), reward=reward, failed=np.zeros(len(match), np.bool_)
        )
