"""The pool of a league in a process of a cluster: members played there by weights that the run sends.

The run tells each member's weights once, then the `Roster`: who is in the pool, and how often each is met. A process
takes up what it was told before it plays its next piece, so that who meets whom in a match depends on what was known
when the match began; the piece says whom each of its episodes was played against. A member that left the pool is kept
until its last match there has ended.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from torch import nn

from sparring.core import Episodes, Player
from sparring.inference import InferenceEngine
from sparring.policy.checkpoint import parse_tensors
from sparring.rollout import Collector, Meetings
from sparring.training.league.player import PoolPlayer

ROSTER = "roster"
"""What a `Roster` is told about; anything else that is told is the weights of the member of that name."""
MET = "met/opponent"
"""The column of a piece that says whom each episode was played against, `int64[n]`."""


class Seated(msgspec.Struct, frozen=True):
    """A member as those who play it know it."""

    number: int
    policy: str
    network: dict[str, Any]


class Roster(msgspec.Struct, frozen=True):
    """The pool, and how often each opponent of the policy is met, by number."""

    members: list[Seated]
    shares: dict[int, float]


class PoolAway:
    """Keeps a pool as the run tells it.

    `build` makes a network of its description; `beside` is the policy of `engine` whose memory a member may share.
    """

    def __init__(
        self,
        engine: InferenceEngine,
        meetings: Meetings,
        *,
        matches: int,
        seat: Callable[[InferenceEngine, str], Player],
        build: Callable[[Mapping[str, Any]], nn.Module],
        beside: str | None,
    ) -> None:
        self.player = PoolPlayer(engine, meetings, matches=matches, seat=seat)
        self._engine, self._meetings = engine, meetings
        self._build, self._beside = build, beside
        self._told: deque[tuple[str, bytes]] = deque()
        self._weights: dict[str, bytes] = {}
        self._current: set[int] = set()

    def hear(self, about: str, content: bytes) -> None:
        """See `rollout.fleet.Hearing`: another thread may be playing."""
        self._told.append((about, content))

    def take_up(self, collector: Collector) -> None:
        """Between two pieces of `collector`: new members join, matches from now on are drawn by the newest shares."""
        while self._told:
            about, content = self._told.popleft()
            if about != ROSTER:
                self._weights[about] = content
                continue
            roster = msgspec.json.decode(content, type=Roster)
            for member in roster.members:
                if member.number not in self.player.members:
                    self._join(member)
            self._current = {member.number for member in roster.members}
            self._meetings.change(roster.shares, at=collector.next_serial)
        self._meetings.forget(int(collector.serials.min()))
        gone = self.player.members.keys() - self._current - self.player.playing()
        for number, policy in [(number, self.player.members[number]) for number in gone]:
            self.player.drop(number)
            self._engine.drop(policy)

    def met(self, episodes: Episodes) -> dict[str, NDArray[np.int64]]:
        """The column of a piece that says whom its `episodes` were played against."""
        return {MET: self._meetings.opponents(episodes.headers.serial)}

    def _join(self, member: Seated) -> None:
        network = self._build(member.network)
        network.load_state_dict(parse_tensors(self._weights.pop(member.policy), where=member.policy))
        self._engine.add(member.policy, network, beside=self._beside)
        self.player.add(member.number, member.policy)
