"""Self-play into an episode store: writes whole shards, and goes on from the count on disk."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparring.core import Arena, Episodes, Player, Score
from sparring.rollout.collector import Collector, Counters
from sparring.rollout.lineup import taking_turns
from sparring.rollout.store import EpisodeStore


@dataclass(frozen=True)
class Played:
    """What one call of `play_into_store` did."""

    score: Score
    """Of the first player, where there are two."""
    counters: Counters


class Matches(Protocol):
    """A source of matches. Which count is settled before they begin, so that short ones are not favoured; one that
    fails is replaced by one more."""

    counters: Counters

    def more(self) -> Episodes | None:
        """Plays on, and returns the episodes of matches that count and have ended; None if none has."""
        ...


class MatchesHere:
    """`matches` matches on an arena: one player against itself, or two taking turns in the seats."""

    def __init__(self, arena: Arena, players: Mapping[str, Player], matches: int, *, keep_policy: bool) -> None:
        lineup = taking_turns(range(len(players)), arena.spec.seats)
        self._collector = Collector(arena, players, lineup, record=list(players), keep_policy=keep_policy)
        self._matches = matches
        self.counters = self._collector.counters

    def more(self) -> Episodes | None:
        """See `Matches`."""
        episodes = self._collector.collect(1)
        counted = np.flatnonzero(episodes.headers.serial < self._matches + self.counters.failed)
        return episodes.take(counted) if len(counted) else None


def play_into_store(
    store: EpisodeStore,
    source: Matches,
    *,
    matches: int,
    shard: int,
    stop: Callable[[], bool],
    progress: Callable[[int], None],
) -> Played:
    """Lets `source` play until `store` holds `matches` matches, or `stop()`.

    A shard is written every `shard` matches, and at the end; `progress` gets the number of matches played, stored or
    not.
    """
    wanted = matches - store.matches
    parts: list[Episodes] = []
    played = waiting = wins = draws = 0

    def write() -> None:
        if parts:
            store.append(Episodes.join(parts))
            parts.clear()

    while played < wanted and not stop():
        part = source.more()
        if part is not None:
            parts.append(part)
            headers = part.headers.take(np.flatnonzero(part.headers.player == 0))
            _, first_of_match = np.unique(headers.serial, return_index=True)
            outcome = headers.outcome[first_of_match]
            wins += int((outcome > 0).sum())
            draws += int((outcome == 0).sum())
            ended = len(np.unique(part.headers.serial))
            played, waiting = played + ended, waiting + ended
        if waiting >= shard:
            write()
            waiting = 0
        progress(matches - wanted + played)
    write()
    counters = source.counters
    score = Score(
        wins=wins,
        draws=draws,
        losses=played - wins - draws,
        failed=counters.failed,
        decisions_per_match=counters.decisions / max(1, counters.matches),
    )
    return Played(score, counters)
