"""The arena: many matches at the same time. Each array has one entry a match, and every step is one call for all."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from connect_four.rules import drop, lost_or_full, open_columns, planes
from sparring.core import (
    Array,
    ClosingArena,
    Decisions,
    GameSpec,
    IllegalAction,
    Results,
    check_actions,
    check_rows,
    nothing_to_wait_for,
)


class ConnectFourArena(ClosingArena):
    """See `sparring.core.Arena`: `wait` says who must act, `act` answers, ended matches start anew by themselves.

    `ClosingArena` brings `close`, `with arena:` and how it prints.
    """

    def __init__(self, spec: GameSpec, *, opening: int, matches: int, seed: int) -> None:
        self.spec, self.matches = spec, matches
        self._opening, self._seed = opening, seed
        rows, columns = spec.observation["planes"].shape[1:]
        self._state: dict[str, Array] = {
            "board": np.zeros((matches, rows, columns), np.int8),
            "moves": np.zeros(matches, np.int32),  # played so far: seat 0 moves at even numbers
            "asked": np.zeros(matches, np.bool_),  # the row is out and waits for its action
            "ended": np.zeros(matches, np.bool_),  # since the last `wait`
            "outcome": np.zeros((matches, 2), np.float32),  # of the match that ended
            "begun": np.zeros(1, np.int64),  # matches so far
        }
        self._begin(np.arange(matches))

    def wait(self) -> tuple[Decisions, Results]:
        """A row for every match whose seat has not been asked yet, and the matches that ended since the last call."""
        self._check_open()
        s = self._state
        ended = np.flatnonzero(s["ended"])
        results = Results(
            match=ended.astype(np.int32),
            outcome=s["outcome"][ended],
            reward=s["outcome"][ended],  # the only reward is the outcome, at the end
            failed=np.zeros(len(ended), np.bool_),
        )
        s["ended"][:] = False
        match = np.flatnonzero(~s["asked"])
        if len(match) + len(results) == 0:
            raise nothing_to_wait_for()
        s["asked"][match] = True
        decisions = Decisions(
            match=match.astype(np.int32),
            seat=s["moves"][match] % 2,
            observation={"planes": planes(s["board"][match])},
            legal=open_columns(s["board"][match]),
            reward=np.zeros(len(match), np.float32),
            first=s["moves"][match] < self._opening + 2,  # each seat's first row of a match
        )
        return decisions, results

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Plays `actions: int32[k]`; if one is refused nothing is played."""
        self._check_open()
        check_actions(decisions, actions)
        s, match = self._state, decisions.match
        to_move = s["moves"][:, None] % 2 == np.arange(2)
        check_rows(match, decisions.seat, s["asked"][:, None] & to_move)  # each was shown, and has no action yet
        if (actions < 0).any() or (actions >= self.spec.actions).any():
            raise IllegalAction(f"columns are 0 to {self.spec.actions - 1}, got {actions.min()} to {actions.max()}")
        after = drop(s["board"][match], actions)  # refuses full columns
        lost, full = lost_or_full(after)
        over, seat = lost | full, s["moves"][match] % 2
        s["board"][match] = after
        s["moves"][match] += 1
        s["asked"][match] = False
        s["ended"][match] = over
        s["outcome"][match, seat] = lost  # said of the seat to move next: the one that has just moved won
        s["outcome"][match, 1 - seat] = -lost.astype(np.float32)
        if over.any():
            self._begin(match[over])

    def _begin(self, match: NDArray[np.integer]) -> None:
        """Clears the boards of `match: int[j]` and drops the opening's random stones, too few to decide a match."""
        s = self._state
        rng = np.random.default_rng([self._seed, int(s["begun"][0])])
        board = np.zeros_like(s["board"][match])
        for columns in rng.integers(self.spec.actions, size=(self._opening, len(match))):
            board = drop(board, columns)
        s["board"][match] = board
        s["moves"][match] = self._opening
        s["begun"] += len(match)

    def snapshot(self) -> dict[str, Array]:
        """Optional: with `restore`, an interrupted training run goes on bit for bit (`sparring.core.Resumable`)."""
        return {name: array.copy() for name, array in self._state.items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`, taken from an arena with the same settings, seed and number of matches."""
        for name, array in self._state.items():
            array[...] = snapshot[name]
