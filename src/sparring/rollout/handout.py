"""Tasks given out to the processes of a fleet: each is done once, whoever dies.

A process does its tasks in the order in which it got them. Those of one that has died go to the next who asks, before
all others; a task at which several have died is not tried again.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sparring.core import RunError
from sparring.rollout.fleet import Stream

T = TypeVar("T")

_TRIES = 3
"""Processes that may die at one task."""


@dataclass(eq=False)
class Task(Generic[T]):
    """Something to be done."""

    what: T
    deaths: int = 0
    """Processes that died while they did it."""


class Handout(Generic[T]):
    """Tasks that wait, and those that processes have; `name` says of one what it is, for a message."""

    def __init__(self, name: Callable[[T], str]) -> None:
        self._name = name
        self._waiting: deque[Task[T]] = deque()
        self._given: dict[Stream, deque[Task[T]]] = {}

    def add(self, what: T) -> None:
        """Has it done by whoever asks next."""
        self._waiting.append(Task(what))

    def give(self, stream: Stream, *, most: int) -> T | None:
        """The next task for a process that may have `most` of them; None if it has, or if there is none."""
        given = self._given.setdefault(stream, deque())
        if not self._waiting or len(given) >= most:
            return None
        given.append(self._waiting.popleft())
        return given[-1].what

    def current(self, stream: Stream) -> T:
        """What a process does now."""
        return self._given[stream][0].what

    def end(self, stream: Stream) -> T:
        """What a process has done now."""
        return self._given[stream].popleft().what

    def take_back(self, stream: Stream) -> None:
        """Gives the tasks of a process that has died to others; raises if too many have died at the first."""
        tasks = self._given.pop(stream, None)
        if not tasks:
            return
        tasks[0].deaths += 1
        if tasks[0].deaths >= _TRIES:
            raise RunError(
                f"{_TRIES} processes of the cluster died, one after the other, at {self._name(tasks[0].what)}"
            )
        self._waiting.extendleft(reversed(tasks))
