"""Node processes that simulators hand on to the next one: Showdown is loaded, and its code made quick, only once.

Battles depend on nothing but their seeds, so a process that has played others before plays them just the same.
"""

from collections import defaultdict
from contextlib import suppress
from select import select

from sparring.games.pokemon.setup import Installation
from sparring.games.pokemon.simulator import ProcessState, _Process

_IDLE: dict[Installation, list[_Process]] = defaultdict(list)
_SECONDS = 5.0


class KeptProcess(_Process):
    """A process that, when it is ended, drops its battles and waits for the next simulator that wants one."""

    def __new__(cls, installed: Installation) -> "KeptProcess":
        """One that waits, if there is any."""
        while _IDLE[installed]:
            process = _IDLE[installed].pop()
            if process.child.poll() is None:
                return process
            super(KeptProcess, process).end()
        return super().__new__(cls)

    def __init__(self, installed: Installation) -> None:
        if not hasattr(self, "child"):
            super().__init__(installed)
            self.installed = installed

    def end(self) -> None:
        """Hands it on if it does as it is told, else ends it."""
        if self.state is ProcessState.ENDED:
            return
        if self.state is ProcessState.STARTING or not self._is_emptied():
            super().end()
            return
        successor = object.__new__(KeptProcess)
        successor.__dict__.update(self.__dict__, queue=[], unsent=b"", battles={}, owed=0, _chunks=[])
        successor.state = ProcessState.IDLE
        self.state = ProcessState.ENDED
        _IDLE[self.installed].append(successor)

    def _is_emptied(self) -> bool:
        self.queue = [f"d\x1f{battle}" for battle in self.battles] + ["p"]
        with suppress(OSError):
            self.send()
            while (self.owed or self.unsent) and select([self.reads], [], [], _SECONDS)[0] and self.read():
                self.send()
                self.take()
            return not self.owed and not self.unsent
        return False


def end_all() -> None:
    """Ends those that wait."""
    for processes in _IDLE.values():
        for process in processes:
            super(KeptProcess, process).end()
    _IDLE.clear()
