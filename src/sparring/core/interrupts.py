"""Ctrl-C, SIGTERM and SIGHUP as a polite request: finish the update, save, leave. A second one leaves at once.

The handler only makes a note: nothing is saved inside it.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import parent_process, resource_tracker
from threading import Thread, current_thread, main_thread
from types import FrameType


class Interrupts:
    """While entered, notes the first signal and lets the second through as a Ctrl-C.

    A terminal that closes may send SIGHUP more than once, so it never counts as the second. Under nohup it is ignored.
    `on_first` is called at the first signal, to say that it was heard. Signals in `also` are requests too, and never
    count as the second. With `patient` only Ctrl-C does: a scheduler and a launcher may each send SIGTERM.
    """

    def __init__(
        self, on_first: Callable[[], None] = lambda: None, *, also: Sequence[int] = (), patient: bool = False
    ) -> None:
        self.asked = False
        self.name = ""
        """Of the first signal."""
        self._also = tuple(also)
        self._second = {signal.SIGINT} if patient else {signal.SIGINT, signal.SIGTERM}
        self._on_first = on_first
        self._at_once = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "Interrupts":
        if not _signals_come_here():
            return self
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *self._also):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Has the first signal raise `KeyboardInterrupt` too, in a block that may be broken off anywhere."""
        self._at_once = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            if number not in self._second:
                return
            usual = self._before[signal.SIGINT]
            (usual if callable(usual) else signal.default_int_handler)(number, frame)
        self.asked, self.name = True, signal.Signals(number).name
        with suppress(RuntimeError):  # a print that this signal interrupted cannot be entered again
            self._on_first()
        if self._at_once:
            raise KeyboardInterrupt


class Noted:
    """While entered, a signal that would end the process is only noted: for times when no `Interrupts` is entered."""

    def __init__(self, number: int) -> None:
        self.asked = False
        self.name = signal.Signals(number).name
        self._number = number

    def __enter__(self) -> "Noted":
        self._before = signal.signal(self._number, self._note) if _signals_come_here() else None
        return self

    def __exit__(self, *failure: object) -> None:
        if self._before is not None:
            signal.signal(self._number, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def _signals_come_here() -> bool:
    """Whether this thread may listen for signals; only the main one may, and others run without."""
    return current_thread() is main_thread()


@contextmanager
def ctrl_c_after() -> Iterator[None]:
    """Lets a Ctrl-C that comes during the block come right after it: for code that cannot break off."""
    noted = Noted(signal.SIGINT)
    try:
        with noted:
            yield
    finally:
        if noted.asked:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def ctrl_c_held_back() -> Iterator[None]:
    """Keeps Ctrl-C from processes started inside, until they `leave_signals_to_parent`; ours comes after the block."""
    resource_tracker.ensure_running()  # its start, which the first process else brings about, lets signals in again
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def leave_signals_to_parent() -> None:
    """Called first in a worker: a terminal signals the whole group, a scheduler the whole tree; the parent answers."""
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(ignored, signal.SIG_IGN)


def stay_with_parent() -> None:
    """As `leave_signals_to_parent`; the process also ends when the parent does, for whatever reason."""
    leave_signals_to_parent()
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()
