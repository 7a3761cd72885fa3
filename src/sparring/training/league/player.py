"""The pool's player: plays as every member of the pool, each in the matches drawn for it."""

from collections.abc import Callable, Mapping
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Array, Decisions, Player, Resumable
from sparring.core.rows import flatten, nested
from sparring.inference import InferenceEngine, NetworkPlayer
from sparring.rollout import Meetings


class PoolPlayer:
    """Answers each row as the member that plays its match, all members' rows of a wait together.

    `seat` makes a player of a policy of `engine`.
    """

    def __init__(
        self,
        engine: InferenceEngine,
        meetings: Meetings,
        *,
        matches: int,
        seat: Callable[[InferenceEngine, str], Player],
    ) -> None:
        self._engine = engine
        self._meetings = meetings
        self._seat = seat
        self._member = np.zeros(matches, np.int64)
        """`int64[matches]` the number of the learner's opponent in each match."""
        self._names: dict[int, str] = {}
        self._players: dict[int, Player] = {}
        self._changing = Lock()
        """With `overlap` members come and go while another thread plays."""

    def add(self, number: int, policy: str) -> None:
        """Member `number` is the engine's `policy`."""
        player = self._seat(self._engine, policy)
        with self._changing:
            self._names[number], self._players[number] = policy, player

    def drop(self, number: int) -> None:
        """Member `number` plays no more; when this returns, its policy is needed no more."""
        with self._changing:
            del self._names[number], self._players[number]

    @property
    def members(self) -> dict[int, str]:
        """The engine's policy of each member, by number."""
        return dict(self._names)

    def playing(self) -> set[int]:
        """The numbers of the members in the matches in play."""
        return set(self._member.tolist())

    def begin(self, matches: NDArray[np.integer], serials: NDArray[np.int64]) -> None:
        """See `rollout.collector.Numbered`."""
        self._member[matches] = self._meetings.opponents(serials)

    def act(self, decisions: Decisions) -> Answers:
        """One call of the engine for all members that play without search; searches run one after another."""
        with self._changing:
            return self._act(decisions)

    def _act(self, decisions: Decisions) -> Answers:
        numbers = list(self._players)  # in order, as each new number is larger
        which = np.searchsorted(numbers, self._member[decisions.match])
        if all(isinstance(self._players[number], NetworkPlayer) for number in numbers):
            return self._engine.answer_each(decisions, [self._names[number] for number in numbers], which)
        action = np.empty(len(decisions), np.int32)
        for at in np.unique(which).tolist():
            rows = np.flatnonzero(which == at)
            action[rows] = self._players[numbers[at]].act(decisions.take(rows)).action
        return Answers(action=action)

    def snapshot(self) -> dict[str, Array]:
        """The members' state besides the engine's memory."""
        kept = {name: self._players[number] for number, name in self._names.items()}
        return flatten({name: player.snapshot() for name, player in kept.items() if isinstance(player, Resumable)})

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`; the members are there already."""
        parts = nested(snapshot)
        for number, name in self._names.items():
            player = self._players[number]
            if isinstance(player, Resumable) and name in parts:
                player.restore(parts[name])
