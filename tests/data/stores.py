"""Small episode stores for tests: Hex by random players, and battles of people as logs."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from sparring.core import Episodes, RandomPlayer
from sparring.core.replays import Filters, Replay
from sparring.games.hex import HexArena, HexSettings
from sparring.games.pokemon.replays.episodes import read_replays
from sparring.rollout import Collector, taking_turns
from sparring.rollout.store import EpisodeStore
from tests.games.pokemon.replays.logs import battle


def played(rows: int, *, size: int = 3, seed: int = 0) -> Episodes:
    """Random matches of Hex between ann and ben."""
    arena = HexArena(HexSettings(size=size), matches=4, seed=seed)
    players = {"ann": RandomPlayer(seed), "ben": RandomPlayer(seed + 1)}
    return Collector(arena, players, taking_turns([0, 1], 2), record=["ann", "ben"]).collect(rows)


def hex_store(path: Path, *, shards: int = 5, rows: int = 60, size: int = 3) -> Path:
    """A store of `shards` files."""
    parts = [played(rows, size=size, seed=seed) for seed in range(shards)]
    with EpisodeStore(path, parts[0].spec) as store:
        for part in parts:
            store.append(part)
    return path


def rated(episodes: Episodes, ratings: list[float], played_at: list[int]) -> Episodes:
    """`episodes` as if people had played them: these ratings and dates, again and again."""
    count = len(episodes)
    headers = replace(
        episodes.headers,
        rating=np.resize(np.array(ratings, np.float32), count),
        played_at=np.resize(np.array(played_at, np.int64), count),
    )
    return replace(episodes, headers=headers)


SINGLES = (
    "|",
    "|move|p1a: Mew|Psychic|p2a: Onix",
    "|-damage|p2a: Onix|60/100",
    "|move|p2a: Onix|Rock Slide|p1a: Mew",
    "|-damage|p1a: Mew|70/100",
    "|",
    "|upkeep",
    "|turn|2",
    "|",
    "|switch|p2a: Jynx|Jynx, F|100/100",
    "|move|p1a: Mew|Psychic|p2a: Jynx",
    "|-damage|p2a: Jynx|80/100",
    "|",
    "|upkeep",
    "|turn|3",
    "|",
    "|move|p2a: Jynx|Ice Beam|p1a: Mew",
    "|-damage|p1a: Mew|0 fnt",
    "|faint|p1a: Mew",
    "|",
    "|upkeep",
    "|",
    "|switch|p1a: Gyarados|Gyarados, M|100/100",
    "|turn|4",
)
"""Mew faints before it acts in turn 3: what it was told to do does not show."""


def people_store(path: Path) -> Path:
    """A store of one battle between Ann and Bob, four turns of which one order does not show."""
    reading = read_replays([Replay("gen9-1", battle(*SINGLES), played_at=1_700_000_000)], Filters(), {})
    ((_, episodes),) = reading.episodes.items()
    with EpisodeStore(path, episodes.spec) as store:
        store.append(episodes)
    return path
