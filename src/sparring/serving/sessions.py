"""What a policy server knows of each client: where its memory lies, what it asked last, and whether it is there.

Clients number their seats 0 to slots - 1. The server keeps a table per session from those numbers to slots of
the engine, gives out a slot when a match starts, and takes it back when the match ends or the client is gone.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NONE = -1


class SlotPool:
    """The engine's memory slots that nobody uses, as a stack."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._free = np.arange(slots, dtype=np.intp)[::-1].copy()
        self.free = slots

    @property
    def used(self) -> int:
        """Slots given out."""
        return self.slots - self.free

    def take(self, count: int) -> NDArray[np.intp] | None:
        """`intp[count]` slots, or None if there are not so many."""
        if count > self.free:
            return None
        self.free -= count
        return self._free[self.free : self.free + count].copy()

    def give(self, slots: NDArray[np.intp]) -> None:
        """Takes `slots` back."""
        self._free[self.free : self.free + len(slots)] = slots
        self.free += len(slots)


@dataclass
class Session:
    """One client of one model.

    `table: intp[slots]` is the engine slot of each client slot, or `NONE`. Requests are taken in the order of
    their sequence numbers: a later one is dropped until the client repeats the missing one, so that the end of
    a match is never seen after the beginning of the next.
    """

    client: bytes
    number: int
    slots: int
    in_flight: int
    heard: float
    table: NDArray[np.intp] = field(init=False)
    reachable: bool = True
    """Whether the client's connection stood when last looked."""
    next_sequence: int = 0
    waiting: int = 0
    """Requests that have no answer yet."""
    answers: OrderedDict[int, list[bytes]] = field(default_factory=OrderedDict)
    """The last `in_flight` answers by sequence, to be sent again when asked again."""

    def __post_init__(self) -> None:
        self.table = np.full(self.slots, NONE, np.intp)

    @property
    def can_send(self) -> int:
        """Requests that may still come before it must wait for an answer."""
        return self.in_flight - self.waiting if self.reachable else 0

    def place(self, slot: NDArray[np.int32], pool: SlotPool) -> tuple[NDArray[np.intp], NDArray[np.bool_]] | None:
        """Engine slots `intp[k]` of the client's `slot: int32[k]`, and `bool[k]` which of them are new.

        None if the pool has not enough; then nothing is taken.
        """
        placed = self.table[slot]
        new = placed == NONE
        missing = int(new.sum())
        if missing:
            taken = pool.take(missing)
            if taken is None:
                return None
            placed[new] = taken
            self.table[slot] = placed
        return placed, new

    def free(self, slot: NDArray[np.int32], pool: SlotPool) -> None:
        """Gives back the engine slots of the client's `slot: int32[e]`; those without one are passed over."""
        held = np.unique(slot)
        held = held[self.table[held] != NONE]
        pool.give(self.table[held])
        self.table[held] = NONE

    def free_all(self, pool: SlotPool) -> None:
        """Gives back everything."""
        self.free(np.arange(self.slots, dtype=np.int32), pool)

    def keep_answer(self, sequence: int, frames: list[bytes]) -> None:
        """Remembers an answer in case the client did not get it."""
        self.waiting -= 1
        self.answers[sequence] = frames
        while len(self.answers) > self.in_flight:
            self.answers.popitem(last=False)
