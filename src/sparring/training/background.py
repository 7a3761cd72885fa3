"""One call at a time in a thread of its own: collecting while the learner works, rating while training goes on."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Generic, TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """A call was cancelled because its result is no longer needed."""


class Background(Generic[T]):
    """A thread that runs one call after another; each result must be taken before the next call begins."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._call: Future[T] | None = None
        self._closing = Event()

    def begin(self, call: Callable[[], T]) -> None:
        """Starts `call`. A long one should call `pulse` now and then, so that `close` need not wait for it."""
        if self._call is not None:
            raise RuntimeError("the result of the call before is still to be taken")
        self._call = self._thread.submit(call)

    def take(self, *, wait: bool) -> T | None:
        """The result of the call, or None if there is none yet; `wait` waits for it. Raises what the call raised."""
        if self._call is None or not (wait or self._call.done()):
            return None
        result, self._call = self._call.result(), None
        return result

    def pause(self) -> None:
        """Waits until nothing runs; the result stays for the next `take`. Raises what the call raised."""
        if self._call is not None:
            self._call.result()

    def pulse(self) -> None:
        """Raises `Abandoned` once `close` was called."""
        if self._closing.is_set():
            raise Abandoned

    def close(self) -> None:
        """Ends the running call at its next `pulse`, and the thread with it."""
        self._closing.set()
        self._thread.shutdown(wait=True)
