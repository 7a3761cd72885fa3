"""Open episodes: the steps of every seat whose match is still being played.

Hundreds of episodes grow at the same time and their steps arrive interleaved. Instead of a buffer per seat, all steps
go to the end of one log, and each memory slot (match * seats + seat) keeps the row numbers of its own; a finished
episode is then one gather. Once half of the log has been taken out, the steps of open episodes move to its front.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Episodes, GameSpec, Headers, SegmentMemory, Steps
from sparring.core.rows import flatten, nested
from sparring.rollout.log import Log, NumberLists


@dataclass
class _Finished:
    """Episodes that have ended but were not taken yet."""

    headers: list[Headers] = field(default_factory=list)
    rows: list[NDArray[np.intp]] = field(default_factory=list)
    """The numbers of their steps in the log."""
    memories: list[NDArray[np.intp]] = field(default_factory=list)


class OpenEpisodes:
    """The episodes of `slots` seats. With `segment` > 0 the policy's memory is kept every `segment` steps."""

    def __init__(self, spec: GameSpec, *, slots: int, segment: int, keep_policy: bool) -> None:
        self.length = np.zeros(slots, np.int32)
        """`int32[slots]` steps of each slot's open episode so far."""
        self.finished_rows = 0
        """Steps of finished episodes that `take_finished` would return."""
        self._spec = spec
        self._segment = segment
        self._version = np.full(slots, -1, np.int32)
        self._log = Log(Steps.none(spec, policy=keep_policy))
        self._row_of = NumberLists(slots)
        self._memory: Log[SegmentMemory] | None = None
        self._memory_of = NumberLists(slots)
        self._finished = _Finished()

    def pay(self, slots: NDArray[np.intp], reward: NDArray[np.float32]) -> None:
        """Adds `reward: float32[k]` to the last step of each of `slots: intp[k]` that has one."""
        length = self.length[slots]
        paid = np.flatnonzero(length > 0)
        last = self._row_of.get(slots[paid], length[paid] - 1)
        self._log.rows.reward[last] += reward[paid]

    def append(
        self, slots: NDArray[np.intp], steps: Steps, *, version: int, memory: Mapping[str, Array] | None = None
    ) -> None:
        """The next step of each of `slots: intp[k]`, played with weights of `version`.

        `memory` is the policy's memory before the steps that start a segment, in their order.
        """
        length = self.length[slots]
        self._row_of.put(slots, length, self._log.append(steps))
        if memory:
            starts = np.flatnonzero(length % self._segment == 0)
            kept = SegmentMemory(state=memory)
            if self._memory is None:
                self._memory = Log(kept, capacity=256)
            self._memory_of.put(slots[starts], length[starts] // self._segment, self._memory.append(kept))
        self._version[slots[length == 0]] = version
        self.length[slots] = length + 1

    def finish(
        self,
        slots: NDArray[np.intp],
        *,
        serial: NDArray[np.int64],
        player: NDArray[np.int32],
        outcome: NDArray[np.float32],
        last_value: NDArray[np.float32],
        complete: bool,
    ) -> None:
        """Ends the open episodes of `slots: intp[k]`; see `Headers` for what is said of each."""
        length = self.length[slots]
        headers = Headers(
            lengths=length,
            serial=serial,
            seat=(slots % self._spec.seats).astype(np.int32),
            player=player,
            version=self._version[slots],
            outcome=outcome,
            complete=np.full(len(slots), complete),
            last_value=last_value,
        )
        self._finished.headers.append(headers)
        self._finished.rows.append(self._row_of.first(slots, length))
        if self._segment:
            self._finished.memories.append(self._memory_of.first(slots, -(-length // self._segment)))
        self.finished_rows += int(length.sum())
        self.length[slots] = 0

    def drop(self, slots: NDArray[np.intp]) -> None:
        """Forgets the open episodes of `slots`."""
        self.length[slots] = 0

    def take_finished(self, players: tuple[str, ...]) -> Episodes:
        """The episodes that ended since the last call (at least one), copied out of the log."""
        finished, self._finished, self.finished_rows = self._finished, _Finished(), 0
        memory = None
        if self._memory is not None:
            memory = self._memory.rows.take(np.concatenate(finished.memories))
        episodes = Episodes(
            spec=self._spec,
            players=players,
            headers=Headers.join(finished.headers),
            steps=self._log.rows.take(np.concatenate(finished.rows)),
            memory=memory,
            segment=self._segment,
        )
        if 2 * int(self.length.sum()) <= self._log.used:
            self._keep_open()
        return episodes

    def snapshot(self) -> dict[str, Array]:
        """The whole state, once all finished episodes have been taken."""
        self._keep_open()
        state: dict[str, Array] = {
            "length": self.length.copy(),
            "version": self._version.copy(),
            "row_of": self._row_of.snapshot(),
            "memory_of": self._memory_of.snapshot(),
        }
        logs = {"log": self._log.rows.columns()}
        if self._memory is not None:
            logs["memory"] = self._memory.rows.columns()
        return state | {name: array.copy() for name, array in flatten(logs).items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`."""
        self.length = snapshot["length"].copy()
        self._version = snapshot["version"].copy()
        self._row_of.restore(snapshot["row_of"])
        self._memory_of.restore(snapshot["memory_of"])
        logs = nested(snapshot)
        self._log.restore(Steps.from_columns(logs["log"]))
        self._memory = None
        if "memory" in logs:
            kept = SegmentMemory.from_columns(logs["memory"])
            self._memory = Log(kept, capacity=256)
            self._memory.restore(kept)
        self._finished, self.finished_rows = _Finished(), 0

    def _keep_open(self) -> None:
        """Moves the steps and memories of open episodes to the front of their logs."""
        slots = np.flatnonzero(self.length)
        length = self.length[slots]
        self._log.keep(self._row_of.first(slots, length))
        self._row_of.renumber(slots, length)
        if self._memory is not None:
            counts = -(-length // self._segment)
            self._memory.keep(self._memory_of.first(slots, counts))
            self._memory_of.renumber(slots, counts)
