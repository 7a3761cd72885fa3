"""What is measured of a run, each in short rounds, so that a busy moment of the machine hits all parts alike."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from sparring.bench.diagnose.subject import Subject
from sparring.core import Episodes, Helped, RandomPlayer, Staged, Ticking
from sparring.core.settings import convert
from sparring.inference.engine import Asked
from sparring.rollout.store import EpisodeStore, read_shard
from sparring.training.opponents import POLICY, find_opponents
from sparring.training.playing import LocalPlay
from sparring.training.self_play import SelfPlay

BATCHES = tuple(2**power for power in range(10))
"""Rows of a forward pass that are tried: 1 to 512."""


def reference() -> float:
    """Seconds of a piece of work that is always the same: how fast this machine is at this moment."""
    start = perf_counter()
    total = 0
    for number in range(60_000):  # the interpreter
        total += number & 7
    table = _TABLE[_ORDER]  # memory
    table.sort()
    torch.mm(_MATRIX, _MATRIX)  # arithmetic
    return perf_counter() - start


_TABLE = np.random.default_rng(0).random(200_000, np.float32)
_ORDER = np.random.default_rng(1).permutation(200_000)[:40_000]
_MATRIX = torch.ones(256, 256)


@dataclass(frozen=True)
class Played:
    """A round of an arena alone."""

    seconds: float
    decisions: int
    ticks: int | None
    stages: dict[str, float]


class ArenaPart:
    """The game's arena alone, in this process, answered by random legal actions."""

    def __init__(self, subject: Subject) -> None:
        config = subject.short
        settings: Any = convert(config.settings, subject.game.settings, where="settings")
        self._arena = subject.game.arena(settings, matches=config.matches, seed=config.seed)
        self._player = RandomPlayer(config.seed)

    def round(self, seconds: float) -> Played:
        """Plays for about so long; what the player takes does not count."""
        arena, inside, decisions = self._arena, 0.0, 0
        before = dict(arena.stages.seconds) if isinstance(arena, Staged) else {}
        ticks = arena.ticks if isinstance(arena, Ticking) else None
        end = perf_counter() + seconds
        while perf_counter() < end:
            start = perf_counter()
            rows, _ = arena.wait()
            inside += perf_counter() - start
            if len(rows):
                decisions += len(rows)
                action = self._player.act(rows).action
                start = perf_counter()
                arena.act(rows, action)
                inside += perf_counter() - start
        spent = difference(arena.stages.seconds, before) if isinstance(arena, Staged) else {}
        spent = with_rest(spent, inside, rest="env/rest" if spent else "env")
        ticked = None if ticks is None or not isinstance(arena, Ticking) else arena.ticks - ticks
        return Played(inside, decisions, ticked, spent)

    def close(self) -> None:
        """Ends the arena."""
        self._arena.close()


@dataclass(frozen=True)
class Trained:
    """A round of the whole pipeline: some updates, one after the other."""

    seconds: float
    rows: int
    """Decisions learned from."""
    batch: float
    """Rows of a forward pass."""
    acting: dict[str, float]
    """Seconds of collecting, by stage; waiting for helpers is among them."""
    learning: dict[str, float]
    """Seconds of learning, by stage."""
    waiting: float
    """Seconds that the learner waited for episodes, where both go on at once."""
    helpers: dict[str, float]
    """Busy seconds of the arena's helpers, by stage."""


@dataclass
class _Clocks:
    """Every timer of a run, read at one moment."""

    at: float
    rows: int
    forwards: int
    answered: int
    forward: float
    loop: dict[str, float]
    collector: dict[str, float]
    arena: dict[str, float] | None
    helpers: dict[str, float] = field(default_factory=dict)


class PipelinePart:
    """Self-play and learner as a run joins them: the real collector, engine and learner."""

    def __init__(self, subject: Subject, *, say: Callable[[str], None]) -> None:
        self.overlap = subject.short.overlap
        self._rows = subject.short_rows
        self._share = subject.short_rows / subject.batch_size
        opponents = find_opponents(subject.short, subject.game, Path("opponents"), say)
        self.trainee = SelfPlay(subject.short, subject.game, opponents, say=say)
        with ExitStack() as undo:
            undo.callback(self.trainee.close)
            self.trainee.start()
            assert isinstance(self.trainee.playing, LocalPlay)
            self._playing = self.trainee.playing
            self.trainee.advance()  # until the first matches have ended, rows come late; and kernels are compiled
            undo.pop_all()

    @property
    def helper_count(self) -> int:
        """How many helpers step the matches."""
        arena = self._playing.table.arena
        return arena.helpers().count if isinstance(arena, Helped) else 0

    @property
    def helped_by(self) -> tuple[str, str]:
        """The stage in which helpers are waited for and the setting that makes them more; both empty without any."""
        arena = self._playing.table.arena
        found = arena.helpers() if isinstance(arena, Helped) else None
        return ("", "") if found is None else (found.waits, found.setting)

    @property
    def decisions_per_match(self) -> float | None:
        """Of the matches that have ended so far; None before the first."""
        counters = self._playing.counters
        return counters.decisions / counters.matches if counters.matches else None

    def episodes(self) -> Episodes:
        """Some episodes that the policy has just played."""
        self.trainee.pause()
        return self._playing.collect(self._rows)

    def round(self, seconds: float) -> Trained:
        """Updates for about so long, at least one."""
        if self.overlap:
            self.trainee.advance()  # what was collected while nobody learned is learned from first
        before = self._read()
        while True:
            self.trainee.advance()
            now = self._read()
            if now.at - before.at >= seconds:
                break
        self.trainee.pause()
        return self._between(before, now)

    def close(self) -> None:
        """Ends the run, of which nothing is kept."""
        self.trainee.close()

    def _read(self) -> _Clocks:
        run, arena = self.trainee, self._playing.table.arena
        return _Clocks(
            at=perf_counter(),
            rows=run.decisions,
            forwards=run.engine.counters.forwards,
            answered=run.engine.counters.rows,
            forward=run.engine.counters.forward_seconds,
            loop=dict(run.stages.seconds),
            collector=dict(self._playing.counters.stages.seconds),
            arena=dict(arena.stages.seconds) if isinstance(arena, Staged) else None,
            helpers=dict(arena.helpers().seconds) if isinstance(arena, Helped) else {},
        )

    def _between(self, before: _Clocks, now: _Clocks) -> Trained:
        wall, forward = now.at - before.at, now.forward - before.forward
        loop, collector = difference(now.loop, before.loop), difference(now.collector, before.collector)
        arena = {} if now.arena is None else difference(now.arena, before.arena or {})
        acting = with_rest(arena, collector["arena"], rest="env/rest" if arena else "env")
        acting["inference"] = forward
        acting["search"] = max(0.0, collector["players"] - forward)
        acting["record"] = collector["record"]
        # what an update costs once weighs less in a whole one
        once = loop.get("publish", 0.0) * (1.0 - self._share)
        learning = {"learner": loop["learn"], "publish": loop.get("publish", 0.0) - once}
        collecting, waiting = loop["collect"] + loop.get("forward", 0.0), 0.0
        if self.overlap:
            waiting = collecting
        else:
            acting["collect/rest"] = max(0.0, collecting - sum(acting.values()))
        accounted = sum(learning.values()) + collecting
        learning["rest"] = max(0.0, wall - once - accounted)
        return Trained(
            seconds=wall - once,
            rows=now.rows - before.rows,
            batch=(now.answered - before.answered) / max(1, now.forwards - before.forwards),
            acting=acting,
            learning=learning,
            waiting=waiting,
            helpers=difference(now.helpers, before.helpers),
        )


class InferencePart:
    """The run's engine, asked about batches of real rows."""

    def __init__(self, pipeline: PipelinePart, episodes: Episodes) -> None:
        self._engine = pipeline.trainee.engine
        self.batches = tuple(batch for batch in BATCHES if batch <= self._engine.slots)
        rows = np.arange(self.batches[-1]) % episodes.rows
        self._legal = episodes.unpack_legal(rows)
        self._observation = {name: array[rows] for name, array in episodes.steps.observation.items()}
        for batch in self.batches:
            self._ask(batch)

    def round(self, seconds: float) -> dict[int, list[float]]:
        """Seconds of each forward pass, by batch; at least three of each."""
        found: dict[int, list[float]] = {}
        for batch in self.batches:
            took: list[float] = []
            while len(took) < 3 or sum(took) < seconds / len(self.batches):
                start = perf_counter()
                self._ask(batch)
                took.append(perf_counter() - start)
            found[batch] = took
        return found

    def _ask(self, rows: int) -> None:
        asked = Asked(
            slot=np.arange(rows),
            first=np.ones(rows, np.bool_),
            uniform=np.full(rows, 0.5, np.float32),
            legal=self._legal[:rows],
            observation={name: array[:rows] for name, array in self._observation.items()},
        )
        self._engine.answer_asked(asked, POLICY)


class StorePart:
    """The episode store: shards written to a folder for temporary files, and read again."""

    def __init__(self, episodes: Episodes) -> None:
        self.rows = episodes.rows
        self._episodes = episodes
        self._folder = tempfile.TemporaryDirectory(prefix="sparring-diagnose-")
        self._store = EpisodeStore(Path(self._folder.name) / "store", episodes.spec)

    def round(self) -> tuple[float, float]:
        """Seconds of writing a shard, and of reading it."""
        start = perf_counter()
        path = self._store.append(self._episodes)
        written = perf_counter()
        read_shard(path)
        seconds = written - start, perf_counter() - written
        path.unlink()
        return seconds

    def close(self) -> None:
        """Removes the folder."""
        self._store.close()
        self._folder.cleanup()


def difference(now: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    """What was added to each entry; a process that was replaced counts from nothing."""
    return {key: max(0.0, value - before.get(key, 0.0)) for key, value in now.items()}


def with_rest(stages: dict[str, float], whole: float, *, rest: str) -> dict[str, float]:
    """`stages`, and what they leave of the `whole` under the name `rest`."""
    return {**stages, rest: max(0.0, whole - sum(stages.values()))}
