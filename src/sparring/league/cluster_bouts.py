"""The bouts of a tournament on a Ray cluster.

Processes hand over matches as they end, and this one alone writes the ledger. What a process that dies had not handed
over is played again by another: the ids of matches say which start they are of, so that none counts twice.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, perf_counter, sleep

import torch

from sparring.league.bouts import Bout, Ended, Played, Table
from sparring.league.entrants import Style
from sparring.league.ledger import Match
from sparring.league.seating import Seating
from sparring.rollout.fleet import AHEAD, Fleet, Stream
from sparring.rollout.handout import Handout
from sparring.rollout.joining import cluster_cpus, connect, disconnect

_PIECE_SECONDS = 1.0
_IDLE_SECONDS = 0.2


@dataclass
class BoutPiece:
    """What a process has played since it was asked before."""

    matches: list[Match] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    broken: list[tuple[int, int]] = field(default_factory=list)
    seconds: float = 0.0
    over: bool = False
    """Whether the bout that these are of is over."""


class BoutsOnCluster:
    """A crew (`league.crews.Crew`) of processes on all CPUs of a cluster but one.

    `enter` is given matches as they come, in this process.
    """

    def __init__(
        self,
        seating: Seating,
        style: Style,
        enter: Callable[[Sequence[Match]], object],
        *,
        address: str,
        seed: int,
        say: Callable[[str], None],
    ) -> None:
        self._enter = enter
        self._bouts: Handout[Played] = Handout(lambda played: _named(played.bout, seating))
        connect(address)
        count = max(1, cluster_cpus() - 1)
        self.room = AHEAD * count
        self._fleet = Fleet(
            partial(BoutPlaying, seating, style, seed),
            count=count,
            ask=self._ask,
            lost=self._bouts.take_back,
            piece_seconds=_PIECE_SECONDS,
            say=say,
        )
        say(f"{count} processes on the cluster")

    def begin(self, bout: Bout) -> None:
        """See `Crew`."""
        self._bouts.add(Played(bout))

    def wait(self) -> list[Played]:
        """See `Crew`."""
        stream, piece = self._fleet.take()
        if piece is None:
            return []
        self._enter(piece.matches)
        played = self._bouts.current(stream)
        played.ended += piece.ended
        played.broken += piece.broken
        played.seconds += piece.seconds
        return [self._bouts.end(stream)] if piece.over else []

    def close(self) -> None:
        """Ends the processes and leaves the cluster."""
        self._fleet.close()
        disconnect()

    def _ask(self, stream: Stream) -> tuple[Bout | None]:
        played = self._bouts.give(stream, most=AHEAD)
        return (None if played is None else played.rest,)


class BoutPlaying:
    """Bouts, played one after the other in a process of a cluster; see `rollout.fleet.Working`."""

    def __init__(self, seating: Seating, style: Style, seed: int, stream: Stream) -> None:
        torch.set_num_threads(1)
        self._matches: list[Match] = []
        own = replace(style, device="cpu", threads=1)
        self._table = Table(seating, own, self._matches.extend, seed=seed, place=stream.number + 1)
        self._bouts: list[Bout] = []
        """The one that is played, and those that wait."""
        self._played: Played
        self._waits: Generator[None] | None = None

    def collect(self, seconds: float, more: Bout | None) -> BoutPiece | None:
        """Plays `more` after the bouts that it was given before; hands over what has ended of the first."""
        if more is not None:
            self._bouts.append(more)
        if not self._bouts:
            sleep(min(seconds, _IDLE_SECONDS))
            return None
        if self._waits is None:
            self._played = Played(self._bouts[0])
            self._waits = self._table.waits(self._played)
        began, end = perf_counter(), monotonic() + seconds
        over = True
        for _ in self._waits:
            if monotonic() >= end:
                over = False
                break
        if over:
            self._waits = None
            self._bouts.pop(0)
        return self._piece(perf_counter() - began, over=over)

    def close(self) -> None:
        """Breaks off, and lets the players go."""
        if self._waits is not None:
            self._waits.close()
        self._table.close()

    def _piece(self, seconds: float, *, over: bool) -> BoutPiece:
        played = self._played
        piece = BoutPiece(self._matches[:], played.ended[:], played.broken[:], seconds, over)
        for handed_over in (self._matches, played.ended, played.broken):
            handed_over.clear()
        return piece


def _named(bout: Bout, seating: Seating) -> str:
    one, other = (seating.entrants[number].name for number in (bout.one, bout.other))
    return f"matches of {one} and {other}"
