"""What is measured of a run, each in short rounds, so that a busy moment of the machine hits all parts alike.

A round has its time by two clocks: wall time, from which shares and rates are made, and CPU time of the thread at work,
which other programs leave alone, for `--compare`; and beside it what a piece of work that is always the same took.
"""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sparring.bench.diagnose.reference import mean_of, reference
from sparring.bench.diagnose.subject import Subject
from sparring.core import Arena, Episodes, Helped, RandomPlayer, Staged, Stages, Ticking
from sparring.core.settings import convert
from sparring.core.stages import Spent, clocks
from sparring.inference.engine import Asked
from sparring.rollout.store import EpisodeStore, read_shard
from sparring.training.opponents import POLICY, find_opponents
from sparring.training.playing import LocalPlay
from sparring.training.self_play import SelfPlay

BATCHES = tuple(2**power for power in range(10))
"""Rows of a forward pass that are tried: 1 to 512."""
_SLICE = 0.02
"""Seconds of the arena between two looks at the machine's speed."""
_LOOKS = 3
"""At the machine's speed, before and after an update."""


@dataclass(frozen=True)
class Played:
    """A round of an arena alone."""

    seconds: float
    decisions: int
    ticks: int | None
    stages: dict[str, float]
    cpu: dict[str, float]
    """CPU seconds by stage."""
    reference: Spent


class ArenaPart:
    """The game's arena alone, in this process, answered by random legal actions."""

    def __init__(self, subject: Subject) -> None:
        config = subject.short
        settings: Any = convert(config.settings, subject.game.settings, where="settings")
        self._arena = subject.game.arena(settings, matches=config.matches, seed=config.seed)
        self._player = RandomPlayer(config.seed)

    def round(self, seconds: float) -> Played:
        """Plays for about so long; what the player takes does not count."""
        arena, inside, decisions, speed = self._arena, Stages(), 0, [reference()]
        before = _stages(arena)
        ticks = arena.ticks if isinstance(arena, Ticking) else None
        end = perf_counter() + seconds
        look = perf_counter() + _SLICE
        while perf_counter() < end:
            if perf_counter() > look:
                speed.append(reference())
                look = perf_counter() + _SLICE
            with inside.time("arena"):
                rows, _ = arena.wait()
            if len(rows):
                decisions += len(rows)
                action = self._player.act(rows).action
                with inside.time("arena"):
                    arena.act(rows, action)
        spent = _stages(arena).since(before)
        rest = "env/rest" if spent.seconds else "env"
        stages = with_rest(spent.seconds, inside.seconds["arena"], rest=rest)
        cpu = with_rest(spent.cpu_seconds, inside.cpu_seconds["arena"], rest=rest)
        ticked = None if ticks is None or not isinstance(arena, Ticking) else arena.ticks - ticks
        return Played(inside.seconds["arena"], decisions, ticked, stages, cpu, mean_of(speed))

    @property
    def waits(self) -> str:
        """The stage in which the arena waits for helpers; "" without any."""
        return _waits(self._arena)

    def close(self) -> None:
        """Ends the arena."""
        self._arena.close()


@dataclass(frozen=True)
class Trained:
    """A round of the whole pipeline: some updates, one after the other."""

    seconds: float
    rows: int
    """Decisions learned from."""
    decisions: int
    """Decisions played: an update may learn from what was played before it, or leave rows for the next."""
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
    cpu: dict[str, float]
    """CPU seconds by stage."""
    reference: Spent


@dataclass(frozen=True)
class _Clocks:
    """Every timer of a run, read at one moment."""

    at: Spent
    rows: int
    decisions: int
    forwards: int
    answered: int
    forward: Spent
    loop: Stages
    collector: Stages
    arena: Stages
    helpers: dict[str, float]


@dataclass(frozen=True)
class _Took:
    """What passed between two moments, by one of the two clocks."""

    whole: float
    forward: float
    loop: dict[str, float]
    collector: dict[str, float]
    arena: dict[str, float]


@dataclass(frozen=True)
class _Account:
    """The same, each second in one stage."""

    whole: float
    acting: dict[str, float]
    learning: dict[str, float]
    waiting: float


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
    def on_gpu(self) -> bool:
        """Whether this process waits for a GPU, so that its CPU time says little."""
        return self.trainee.engine.device.kind != "cpu"

    @property
    def helper_count(self) -> int:
        """How many helpers step the matches."""
        arena = self._playing.table.arena
        return arena.helpers().count if isinstance(arena, Helped) else 0

    @property
    def waits(self) -> str:
        """The stage in which helpers are waited for; "" without any."""
        return _waits(self._playing.table.arena)

    @property
    def setting(self) -> str:
        """The setting for the number of helpers; "" if there cannot be any."""
        arena = self._playing.table.arena
        return arena.helpers().setting if isinstance(arena, Helped) else ""

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
        speed = [reference() for _ in range(_LOOKS)]
        before = self._read()
        while True:
            self.trainee.advance()
            now = self._read()
            if now.at.wall - before.at.wall >= seconds:
                break
        self.trainee.pause()
        speed += [reference() for _ in range(_LOOKS)]
        return self._between(before, now, mean_of(speed))

    def close(self) -> None:
        """Ends the run, of which nothing is kept."""
        self.trainee.close()

    def _read(self) -> _Clocks:
        run, arena = self.trainee, self._playing.table.arena
        return _Clocks(
            at=clocks(),
            rows=run.decisions,
            decisions=self._playing.counters.decisions,
            forwards=run.engine.counters.forwards,
            answered=run.engine.counters.rows,
            forward=run.engine.counters.forward,
            loop=run.stages.copy(),
            collector=self._playing.counters.stages.copy(),
            arena=_stages(arena),
            helpers=dict(arena.helpers().seconds) if isinstance(arena, Helped) else {},
        )

    def _between(self, before: _Clocks, now: _Clocks, speed: Spent) -> Trained:
        whole, forward = now.at - before.at, now.forward - before.forward
        loop, collector = now.loop.since(before.loop), now.collector.since(before.collector)
        arena = now.arena.since(before.arena)
        wall = self._account(_Took(whole.wall, forward.wall, loop.seconds, collector.seconds, arena.seconds))
        cpu = self._account(_Took(whole.cpu, forward.cpu, loop.cpu_seconds, collector.cpu_seconds, arena.cpu_seconds))
        return Trained(
            seconds=wall.whole,
            rows=now.rows - before.rows,
            decisions=now.decisions - before.decisions,
            batch=(now.answered - before.answered) / max(1, now.forwards - before.forwards),
            acting=wall.acting,
            learning=wall.learning,
            waiting=wall.waiting,
            helpers={key: max(0.0, value - before.helpers.get(key, 0.0)) for key, value in now.helpers.items()},
            cpu=cpu.acting | cpu.learning,
            reference=speed,
        )

    def _account(self, took: _Took) -> "_Account":
        """Each second of one clock in one stage."""
        loop, collector = took.loop, took.collector
        acting = with_rest(took.arena, collector["arena"], rest="env/rest" if took.arena else "env")
        acting["inference"] = took.forward
        acting["search"] = max(0.0, collector["players"] - took.forward)
        acting["record"] = collector["record"]
        # what an update costs once weighs less in a whole one
        once = loop.get("publish", 0.0) * (1.0 - self._share)
        learning = {"learner": loop["learn"], "publish": loop.get("publish", 0.0) - once}
        collecting, waiting = loop["collect"] + loop.get("forward", 0.0), 0.0
        if self.overlap:
            waiting = collecting
        else:
            acting["collect/rest"] = max(0.0, collecting - sum(acting.values()))
        learning["rest"] = max(0.0, took.whole - once - sum(learning.values()) - collecting)
        return _Account(took.whole - once, acting, learning, waiting)


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

    def round(self, seconds: float) -> dict[int, "Asking"]:
        """Forward passes of every batch; at least three of each."""
        found: dict[int, Asking] = {}
        speed = reference()
        for batch in self.batches:
            took: list[Spent] = []
            until = perf_counter() + seconds / len(self.batches)
            while len(took) < 3 or perf_counter() < until:
                start = clocks()
                self._ask(batch)
                took.append(clocks() - start)
            before, speed = speed, reference()
            found[batch] = Asking(took, mean_of([before, speed]))
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


@dataclass(frozen=True)
class Asking:
    """Forward passes of one batch in one round."""

    took: list[Spent]
    reference: Spent


class StorePart:
    """The episode store: shards written to a folder for temporary files, and read again."""

    def __init__(self, episodes: Episodes) -> None:
        self.rows = episodes.rows
        self._episodes = episodes
        self._folder = tempfile.TemporaryDirectory(prefix="sparring-diagnose-")
        self._store = EpisodeStore(Path(self._folder.name) / "store", episodes.spec)

    def round(self) -> "Stored":
        """Writes a shard and reads it."""
        speed = [reference()]
        start = clocks()
        path = self._store.append(self._episodes)
        written = clocks()
        read_shard(path)
        read = clocks()
        path.unlink()
        speed.append(reference())
        return Stored(written - start, read - written, mean_of(speed))

    def close(self) -> None:
        """Removes the folder."""
        self._store.close()
        self._folder.cleanup()


@dataclass(frozen=True)
class Stored:
    """A shard written and read."""

    write: Spent
    read: Spent
    reference: Spent


def _stages(arena: Arena) -> Stages:
    """The arena's timer so far; nothing for one that has none."""
    return arena.stages.copy() if isinstance(arena, Staged) else Stages()


def _waits(arena: Arena) -> str:
    """The stage in which the arena waits for helpers; "" without any."""
    return arena.helpers().waits if isinstance(arena, Helped) else ""


def with_rest(stages: dict[str, float], whole: float, *, rest: str) -> dict[str, float]:
    """`stages`, and what they leave of the `whole` under the name `rest`."""
    return {**stages, rest: max(0.0, whole - sum(stages.values()))}
