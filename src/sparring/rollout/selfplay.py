"""Self-play into an episode store: streams whole shards, goes on at the count on disk."""

from collections.abc import Callable

import numpy as np

from sparring.core import Arena, Episodes, Player
from sparring.core.episodes import concatenate
from sparring.rollout.collector import Collector
from sparring.rollout.lineup import everyone
from sparring.rollout.store import EpisodeStore


def play_into_store(
    store: EpisodeStore,
    arena: Arena,
    player: Player,
    *,
    name: str,
    matches: int,
    shard: int,
    stop: Callable[[], bool],
    progress: Callable[[int], None],
) -> None:
    """Plays `player` (recorded as `name`) against itself until `store` holds `matches` matches, or `stop()`.

    Which matches count is settled before they are played, so that short ones are not favoured. A shard is written
    every `shard` matches, and at the end; `progress` is told how many matches have been played, stored or not.
    """
    wanted = matches - store.matches
    collector = Collector(arena, {name: player}, everyone(0, arena.spec.seats), record=[name], keep_policy=True)
    parts: list[Episodes] = []
    played = 0

    def write() -> None:
        if parts:
            store.append(concatenate(parts))
            parts.clear()

    while played < wanted and not stop():
        episodes = collector.collect(1)
        # a failed match is replaced by one more
        counted = np.flatnonzero(episodes.match < wanted + collector.counters.failed)
        if len(counted):
            parts.append(episodes.take(counted))
            played += len(np.unique(episodes.match[counted]))
        if sum(len(part) for part in parts) >= shard * arena.spec.seats:
            write()
        progress(matches - wanted + played)
    write()
