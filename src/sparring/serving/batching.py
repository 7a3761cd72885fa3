"""Greedy dynamic batching: when to run what has arrived, and when to wait for more.

Requests pile up by themselves while a forward pass runs, so a busy server never has to wait. What waiting can
save is the fixed cost of a second forward pass, so the batcher waits only while some client can still send, only
as long as requests keep coming less than half a forward pass apart, and never longer than the timeout.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparring.inference.engine import Asked
from sparring.serving.protocol import Ask
from sparring.serving.sessions import Session


@dataclass(frozen=True, slots=True)
class Request:
    """A request that was checked and waits for its batch."""

    session: Session
    ask: Ask
    rows: Asked
    ended: NDArray[np.int32]
    """`int32[e]` the client's slots whose match has ended."""
    arrived: float


class Batcher:
    """The queue of one model.

    Args:
        batch_size: rows at which a batch is full. A request is never split: one with more rows is a batch alone.
        timeout: seconds after which the oldest request is answered, even if clients can still send.
    """

    def __init__(self, *, batch_size: int, timeout: float) -> None:
        self.batch_size = batch_size
        self.timeout = timeout
        self.rows = 0
        self._queue: deque[Request] = deque()
        self._last_arrival = 0.0
        self._forward = 0.0

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def oldest(self) -> float:
        """When the first request of the queue arrived."""
        return self._queue[0].arrived

    def add(self, request: Request) -> None:
        """Queues `request`."""
        self._queue.append(request)
        self._last_arrival = request.arrived
        self.rows += request.ask.rows

    def patience(self, now: float, can_send: int) -> float:
        """Seconds for which waiting for more still pays; 0 says that the batch should run.

        `can_send` is the number of requests that live clients can still send before they must wait themselves.
        """
        if self.rows >= self.batch_size or can_send <= 0:
            return 0.0
        quiet = min(self.timeout, 0.5 * self._forward)
        return max(0.0, min(self._last_arrival + quiet, self.oldest + self.timeout) - now)

    def take(self) -> list[Request]:
        """The next batch: whole requests in order, up to `batch_size` rows, at least one."""
        batch = [self._queue.popleft()]
        rows = batch[0].ask.rows
        while self._queue and rows + self._queue[0].ask.rows <= self.batch_size:
            batch.append(self._queue.popleft())
            rows += batch[-1].ask.rows
        self.rows -= rows
        return batch

    def drop(self, session: Session) -> None:
        """Forgets the requests of a client that is gone."""
        self._queue = deque(request for request in self._queue if request.session is not session)
        self.rows = sum(request.ask.rows for request in self._queue)

    def ran(self, seconds: float) -> None:
        """Notes how long a batch took."""
        self._forward = seconds if self._forward == 0.0 else 0.8 * self._forward + 0.2 * seconds
