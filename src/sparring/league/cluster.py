"""Self-play on a Ray cluster: matches by name, given out to processes that play them.

Matches are given out before they begin, to whoever has few left, so that neither short matches nor fast hosts change
what is in the store. Those of a process that dies are given out again.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from time import monotonic, sleep

import numpy as np
import torch

from sparring.core import Episodes
from sparring.league.entrants import Style
from sparring.league.seating import Seating
from sparring.rollout import Collector, taking_turns
from sparring.rollout.collector import Counters
from sparring.rollout.fleet import Fleet, Piece, Stream
from sparring.rollout.joining import cluster_cpus, connect, disconnect

_PIECE_SECONDS = 1.0
_IDLE_SECONDS = 0.2


class MatchesOnCluster:
    """So many matches of the players of `seating`, `parallel` at a time; see `rollout.selfplay.Matches`."""

    def __init__(
        self,
        seating: Seating,
        matches: int,
        *,
        address: str,
        parallel: int,
        seed: int,
        style: Style,
        keep_policy: bool,
        say: Callable[[str], None],
    ) -> None:
        self.counters = Counters()
        self._spec = seating.spec
        self._left = matches
        """Matches that nobody plays yet."""
        self._given: dict[Stream, int] = {}
        """Matches that each process has still to play."""
        connect(address)
        count = min(max(1, cluster_cpus() - 1), parallel)
        self._each = max(1, parallel // count)
        make = partial(SeatingPlaying, seating, style, self._each, seed, keep_policy)
        self._fleet = Fleet(
            make, count=count, ask=self._give, lost=self._take_back, piece_seconds=_PIECE_SECONDS, say=say
        )
        say(f"{count} collectors on the cluster, each with {self._each} matches at a time")

    def more(self) -> Episodes | None:
        """See `Matches`."""
        stream, piece = self._fleet.take()
        self.counters.add(piece.counters)
        episodes = piece.episodes(self._spec)
        ended = 0 if episodes is None else len(np.unique(episodes.headers.serial))
        self._given[stream] -= ended + piece.counters.failed
        self._left += piece.counters.failed
        return None if episodes is None else episodes.take(np.arange(len(episodes)))

    def close(self) -> None:
        """Ends the processes and leaves the cluster."""
        self._fleet.close()
        disconnect()

    def _give(self, stream: Stream) -> tuple[int]:
        """How many more matches a process is to play: two for each that it plays at a time, while there are any."""
        given = self._given.get(stream, 0)
        more = max(0, min(self._left, 2 * self._each - given))
        self._given[stream], self._left = given + more, self._left - more
        return (more,)

    def _take_back(self, stream: Stream) -> None:
        self._left += self._given.pop(stream, 0)


class SeatingPlaying:
    """Players by name, in a process of a cluster; see `rollout.fleet.Working`."""

    def __init__(
        self, seating: Seating, style: Style, matches: int, seed: int, keep_policy: bool, stream: Stream
    ) -> None:
        torch.set_num_threads(1)
        self._stack = ExitStack()
        names = [entrant.name for entrant in seating.entrants]
        players, arena = self._stack.enter_context(
            seating.seated(matches=matches, seed=stream.seed(seed), style=replace(style, device="cpu", threads=1))
        )
        self._collector = Collector(
            arena,
            dict(zip(names, players, strict=True)),
            taking_turns(range(len(names)), seating.spec.seats),
            record=names,
            keep_policy=keep_policy,
            first_serial=stream.first_serial,
        )
        self._wanted: list[range] = []
        """Serial numbers of matches that count, given out before they began."""
        self._next = stream.first_serial
        self._to_end = 0
        """Matches that count and have not ended."""

    def collect(self, seconds: float, more: int) -> Piece:
        """Plays `more` matches besides those that it was given before; hands over those that have ended."""
        if more:
            self._wanted.append(range(self._next, self._next + more))
            self._next, self._to_end = self._next + more, self._to_end + more
        if not self._to_end:
            sleep(min(seconds, _IDLE_SECONDS))
            return Piece.of(None, Counters())
        end, failed = monotonic() + seconds, 0
        while self._to_end and monotonic() < end:
            serials, results = self._collector.advance()
            counted = self._counted(serials)
            failed += int((counted & results.failed).sum())
            self._to_end -= int(counted.sum())
            self._next = max(self._next, self._collector.next_serial)
        counters = self._collector.counters.take()
        counters.failed = failed
        episodes = self._collector.take_ended()
        kept = None if episodes is None else np.flatnonzero(self._counted(episodes.headers.serial))
        self._forget()
        return Piece.of(None if episodes is None or kept is None or not len(kept) else episodes.take(kept), counters)

    def close(self) -> None:
        """Lets the players go."""
        self._stack.close()

    def _counted(self, serials: np.ndarray) -> np.ndarray:
        """`bool[n]` which of the matches count."""
        counted = np.zeros(len(serials), np.bool_)
        for wanted in self._wanted:
            counted |= (serials >= wanted.start) & (serials < wanted.stop)
        return counted

    def _forget(self) -> None:
        """Ranges whose matches have all ended are asked about no more."""
        oldest = int(self._collector.serials.min())
        self._wanted = [wanted for wanted in self._wanted if wanted.stop > oldest]
