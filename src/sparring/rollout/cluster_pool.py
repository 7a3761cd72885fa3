"""Functions called by the processes of a Ray cluster, as a process pool calls them on this machine.

Unlike there, a call whose process dies is made again by another: functions must depend on their arguments alone.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from time import sleep
from typing import Any

from sparring.rollout.fleet import AHEAD, Fleet, Stream
from sparring.rollout.handout import Handout
from sparring.rollout.joining import cluster_cpus, connect, disconnect

_IDLE_SECONDS = 0.2


class ClusterPool(Executor):
    """Processes on all CPUs of a cluster but one, which call what is submitted.

    They are listened to while somebody waits for a result, by this thread: ask a future of this pool for nothing but
    its `result`.

    Args:
        address: where the cluster is; see `rollout.joining.connect`.
        name: says of the arguments of a call what it is about, for a message.
        stall: seconds after which a process that has not answered a call is taken for dead.
        say: hears of deaths and their reasons.
    """

    def __init__(
        self,
        address: str,
        *,
        name: Callable[[tuple[Any, ...]], str],
        stall: float = 1800.0,
        say: Callable[[str], None] = print,
    ) -> None:
        connect(address)
        self.size = max(1, cluster_cpus() - 1)
        self._calls: Handout[_Call] = Handout(lambda call: name(call.arguments))
        self._fleet = Fleet(Calling, count=self.size, ask=self._ask, lost=self._calls.take_back, stall=stall, say=say)
        say(f"{self.size} processes on the cluster")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Has `fn`, which must be something that can be imported there, called with `args`."""
        assert not kwargs, "calls have arguments by position"
        call = _Call(fn, args, _Result(self))
        self._calls.add(call)
        return call.result

    def listen(self) -> None:
        """Waits for the next answer of a process."""
        stream, answer = self._fleet.take()
        if answer is not None:
            self._calls.end(stream).result.set_result(answer[0])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes, whatever they do, and leaves the cluster."""
        self._fleet.close()
        disconnect()

    def _ask(self, stream: Stream) -> tuple[Any, ...]:
        call = self._calls.give(stream, most=AHEAD)
        return () if call is None else (call.function, *call.arguments)


class _Result(Future[Any]):
    """What will come of a call: waiting for it is listening to the processes."""

    def __init__(self, pool: ClusterPool) -> None:
        super().__init__()
        self._pool = pool

    def result(self, timeout: float | None = None) -> Any:
        """What the function has returned."""
        while not self.done():
            self._pool.listen()
        return super().result(timeout)


@dataclass(eq=False)
class _Call:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    result: _Result = field(repr=False)


class Calling:
    """What calls functions in a process of the cluster; see `rollout.fleet.Working`."""

    def __init__(self, stream: Stream) -> None:
        del stream

    def collect(self, seconds: float, *asked: Any) -> tuple[Any] | None:
        """What the function in front returns to the arguments behind it; None, after a moment, if nothing is asked."""
        if not asked:
            sleep(min(seconds, _IDLE_SECONDS))
            return None
        function, *arguments = asked
        return (function(*arguments),)

    def close(self) -> None:
        """Holds nothing."""
