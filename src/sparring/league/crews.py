"""Crews: processes that play the bouts of a tournament; here those of this machine.

Each has a table and an open ledger of its own. See `league.cluster_bouts` for those of a cluster.
"""

import os
import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from multiprocessing.util import Finalize
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import msgspec

from sparring.core import RunError
from sparring.core.interrupts import ctrl_c_held_back, stay_with_parent
from sparring.league.bouts import Bout, Played, Series, Table
from sparring.league.entrants import Style
from sparring.league.keeping import Keeper
from sparring.league.ledger import Ledger
from sparring.league.seating import Seating

_PATIENCE = 0.5
"""Seconds to wait for a crew at a time."""


class Crew(Protocol):
    """Processes that play bouts."""

    room: int
    """Bouts that they take at the same time."""

    def begin(self, bout: Bout) -> None:
        """Has a bout played."""
        ...

    def wait(self) -> list[Played]:
        """The bouts that have ended; waits a moment for one."""
        ...

    def close(self) -> None:
        """Stops playing; may be called twice."""
        ...


class Processes:
    """A crew of `count` processes of this machine.

    Args:
        count: how many.
        players: their names, as `Seating.of` takes them.
        seating: those players at their game.
        style: how networks play.
        ledger: where matches are written.
        seed: of the tournament.
        keep: the folder in which matches worth looking at are kept, and how many of each kind.
    """

    def __init__(
        self,
        count: int,
        players: Sequence[str],
        seating: Seating,
        style: Style,
        ledger: Path,
        *,
        seed: int,
        keep: tuple[Path, int] | None,
    ) -> None:
        self.room = count
        self._others = {*active_children()}
        context = get_context("spawn")
        self._stop = context.Event()
        places = context.Value("i", 0)
        settings: dict[str, Any] = msgspec.to_builtins(seating.settings)
        self._pool = ProcessPoolExecutor(
            max_workers=count,
            mp_context=context,
            initializer=_begin_work,
            initargs=(
                list(players), seating.game.name, settings, str(ledger), style, seed, keep, self._stop, places,
            ),
        )  # fmt: skip
        self._flying: set[Future[Played]] = set()

    def begin(self, bout: Bout) -> None:
        """See `Crew`."""
        with ctrl_c_held_back():  # the first bout starts the processes
            self._flying.add(self._pool.submit(_work, bout))

    def wait(self) -> list[Played]:
        """See `Crew`."""
        done, self._flying = wait(self._flying, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
        try:
            return [future.result() for future in done]
        except BrokenProcessPool as error:
            raise RunError("a process that plays has died; the same command goes on where it was") from error

    def close(self) -> None:
        """See `Crew`."""
        self._stop.set()
        if wait(self._flying, timeout=_PATIENCE).not_done:  # starting, compiling, or waiting for another program
            for process in {*active_children()} - self._others:
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)


_table: Table
_stop: Any


def _begin_work(
    players: list[str],
    game: str,
    settings: dict[str, Any],
    ledger: str,
    style: Style,
    seed: int,
    keep: tuple[Path, int] | None,
    stop: Any,
    places: Any,
) -> None:
    """Called first in a process that plays."""
    global _table, _stop
    stay_with_parent()
    with places.get_lock():
        places.value += 1
        place = int(places.value)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    seating = Seating.of(*players, game=game, settings=settings)
    book = Ledger(ledger)
    _stop = stop
    keeper = None if keep is None else Keeper(*keep, book, Series(seating, style, seed=seed).prefixes)
    _table = Table(seating, style, book.add, seed=seed, place=place, keeper=keeper)
    Finalize(None, _table.close, exitpriority=10)
    signal.signal(signal.SIGTERM, _leave)


class _BrokenOff(Exception):
    """The tournament is over."""


def _leave(number: int, frame: FrameType | None) -> None:
    """Ends this process, whatever it is doing, and the programs that it has started."""
    _table.close()
    os._exit(1)


def _work(bout: Bout) -> Played:
    def pulse(ended: int) -> None:
        if _stop.is_set():
            _table.close()
            raise _BrokenOff

    return _table.play(bout, pulse=pulse)
