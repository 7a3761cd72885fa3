"""Self-play into an episode store: streams whole shards, goes on at the count on disk."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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


def play_into_store(
    store: EpisodeStore,
    arena: Arena,
    players: Mapping[str, Player],
    *,
    matches: int,
    shard: int,
    keep_policy: bool,
    stop: Callable[[], bool],
    progress: Callable[[int], None],
) -> Played:
    """Plays one player against itself, or two against each other, until `store` holds `matches` matches, or `stop()`.

    Which matches count is settled before they are played, so that short ones are not favoured. A shard is written
    every `shard` matches, and at the end; `progress` is told how many matches have been played, stored or not.
    """
    wanted = matches - store.matches
    lineup = taking_turns(range(len(players)), arena.spec.seats)
    collector = Collector(arena, players, lineup, record=list(players), keep_policy=keep_policy)
    parts: list[Episodes] = []
    played = wins = draws = 0

    def write() -> None:
        if parts:
            store.append(Episodes.join(parts))
            parts.clear()

    while played < wanted and not stop():
        episodes = collector.collect(1)
        # a failed match is replaced by one more
        counted = np.flatnonzero(episodes.headers.serial < wanted + collector.counters.failed)
        if len(counted):
            part = episodes.take(counted)
            parts.append(part)
            headers = part.headers.take(np.flatnonzero(part.headers.player == 0))
            _, first_of_match = np.unique(headers.serial, return_index=True)
            outcome = headers.outcome[first_of_match]
            wins += int((outcome > 0).sum())
            draws += int((outcome == 0).sum())
            played += len(np.unique(part.headers.serial))
        if sum(len(part) for part in parts) >= shard * arena.spec.seats:
            write()
        progress(matches - wanted + played)
    write()
    score = Score(
        wins=wins,
        draws=draws,
        losses=played - wins - draws,
        failed=collector.counters.failed,
        decisions_per_match=collector.counters.decisions / max(1, collector.counters.matches),
    )
    return Played(score, collector.counters)
