"""What a policy server knows about each client: where its memory lies, what it asked last, and whether it is there.

Clients number their seats 0 to slots - 1. The server keeps a table per session from those numbers to slots of
the engine, gives out a slot when a match starts, and takes it back when the match ends or the client is gone.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NONE = -1


class SlotPool:
    """The engine's free memory slots, as a stack."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.clock = 0
        """Counts the times that slots were placed: a slot's stamp says when it was last used."""
        self._free = np.arange(slots, dtype=np.intp)[::-1].copy()
        self.free = slots

    @property
    def used(self) -> int:
        """Slots given out."""
        return self.slots - self.free

    def take(self, count: int) -> NDArray[np.intp] | None:
        """`intp[count]` slots, or None if fewer are free."""
        if count > self.free:
            return None
        self.free -= count
        return self._free[self.free : self.free + count].copy()

    def give(self, slots: NDArray[np.integer]) -> None:
        """Takes `slots` back."""
        self._free[self.free : self.free + len(slots)] = slots
        self.free += len(slots)


@dataclass(eq=False)
class Session:
    """One client of one model.

    Requests are taken in the order of their sequence numbers: a later one is dropped until the client repeats the
    missing one, so that the end of a match is never seen after the beginning of the next.
    """

    client: bytes
    number: int
    slots: int
    in_flight: int
    heard: float
    table: NDArray[np.int32] = field(init=False)
    """`int32[slots]` the engine slot of each client slot, or `NONE`; empty until the first request."""
    stamp: NDArray[np.int64] = field(init=False)
    """`int64[slots]` the pool's clock when each was last used."""
    held: int = 0
    """Engine slots it has."""
    reachable: bool = True
    """Whether the client was connected when last checked."""
    next_sequence: int = 0
    open: set[int] = field(default_factory=set)
    """Sequence numbers of the requests that have no answer yet."""
    answers: OrderedDict[int, list[bytes]] = field(default_factory=OrderedDict)
    """The last answers by sequence, at most `in_flight`, to be sent again when asked again."""
    answer_bytes: int = 0

    def __post_init__(self) -> None:
        self.table = np.empty(0, np.int32)
        self.stamp = np.empty(0, np.int64)

    @property
    def can_send(self) -> int:
        """Requests that may still come before it must wait for an answer."""
        return self.in_flight - len(self.open) if self.reachable else 0

    def missing(self, slot: NDArray[np.integer]) -> int:
        """How many of the client's `slot: int[k]` have no engine slot yet."""
        return int(np.count_nonzero(self.table[slot] == NONE)) if len(self.table) else len(slot)

    def place(self, slot: NDArray[np.integer], pool: SlotPool) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
        """Engine slots `int32[k]` of the client's `slot: int[k]`, and `bool[k]` which of them are new.

        None if the pool has too few; then nothing is taken.
        """
        if not len(self.table):
            self.table = np.full(self.slots, NONE, np.int32)
            self.stamp = np.zeros(self.slots, np.int64)
        placed = self.table[slot]
        new = placed == NONE
        missing = int(np.count_nonzero(new))
        if missing:
            taken = pool.take(missing)
            if taken is None:
                return None
            placed[new] = taken
            self.table[slot] = placed
            self.held += missing
        pool.clock += 1
        self.stamp[slot] = pool.clock
        return placed, new

    def free(self, slot: NDArray[np.integer], pool: SlotPool) -> None:
        """Gives back the engine slots of the client's `slot: int[e]`, where it has one."""
        if not self.held:
            return
        taken = np.unique(slot)
        taken = taken[self.table[taken] != NONE]
        pool.give(self.table[taken])
        self.table[taken] = NONE
        self.held -= len(taken)

    def free_all(self, pool: SlotPool) -> None:
        """Gives back everything."""
        self.free(np.arange(self.slots), pool)

    def give_up(self, count: int, pool: SlotPool, *, before: int) -> None:
        """Gives back up to `count` slots last used earlier than `before`, the least recently used first."""
        old = np.flatnonzero((self.table != NONE) & (self.stamp < before))
        self.free(old[np.argsort(self.stamp[old], kind="stable")[:count]], pool)

    def keep_answer(self, sequence: int, frames: list[bytes]) -> None:
        """Keeps an answer in case the client did not get it."""
        self.open.discard(sequence)
        self.answers[sequence] = frames
        self.answer_bytes += sum(map(len, frames))
        while len(self.answers) > self.in_flight:
            self.drop_answer()

    def drop_answer(self) -> None:
        """Forgets the oldest answer."""
        self.answer_bytes -= sum(map(len, self.answers.popitem(last=False)[1]))


def make_room(sessions: Iterable[Session], pool: SlotPool, asking: Session, count: int, *, before: int) -> None:
    """Frees `count` slots for `asking` if they are within its fair share, taking them from those who have more.

    The fair share is the pool divided by the sessions that hold memory. Slots used at `before` (the pool's clock when
    the batch began) or later stay.
    """
    holders = [session for session in sessions if session.held and session is not asking]
    share = pool.slots // (len(holders) + 1)
    if asking.held + count > share:
        return
    for session in sorted(holders, key=lambda one: -one.held):
        if pool.free >= count or session.held <= share:
            return
        session.give_up(min(session.held - share, count - pool.free), pool, before=before)
