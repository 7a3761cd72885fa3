"""Local workers: an arena whose matches are played by other processes.

Each worker plays two groups of matches, so that it steps one while the other waits for its actions. Rows and
actions lie in shared memory; a message is three numbers: which group, how many rows, how many results. From outside,
`WorkerArena` is an arena like any other, and `wait` returns whatever groups are ready.
"""

import struct
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic, perf_counter, sleep
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    Adaptive,
    Arena,
    ClosingArena,
    Decisions,
    Game,
    GameSpec,
    Helpers,
    IllegalAction,
    InputError,
    Results,
    RunError,
    Stages,
    check_actions,
    check_divisible,
    check_rows,
    illegal_action,
    nothing_to_wait_for,
)
from sparring.core.interrupts import ctrl_c_held_back, leave_signals_to_parent
from sparring.core.processes import check_guarded, end_if_unguarded
from sparring.rollout.slabs import Block, Group, Slabs, make_groups

GROUPS = 2
"""Groups of matches per worker: one is stepped while the other waits."""
_POST = struct.Struct("<iii")
_WORKERS = "env/workers"
"""The stage in which the parent waits for workers."""
_STAGGER_SECONDS = 0.1
"""Workers start one after another, so that they do not all load, and later all end their matches, at once."""
_CLOSE_SECONDS = 2.0
"""Workers have so long together to close their arenas; one that is still importing or compiling is killed."""
_START_TRIES = 3
"""Times in a row that a worker may die before its first row."""


class Phase(Enum):
    """The state of a group of matches; it cycles through these in order."""

    STEPPING = auto()
    """Its worker plays it and will post rows, results or both."""
    SHOWN = auto()
    """Its rows were returned by `wait`, and some have no action yet."""
    ANSWERED = auto()
    """Every row has its action; the worker is told with the next `wait`."""


@dataclass
class _Worker:
    """The parent's view of one process."""

    number: int
    process: BaseProcess
    line: "Connection[Any, Any]"
    groups: list[int]
    heard: float
    """When it last sent something, or was told to play on."""
    proven: bool = False
    """Whether it has posted anything yet."""
    hung_up: bool = False
    """Whether its end of the line is closed."""


@dataclass
class _News:
    """What has arrived during one `wait`."""

    posts: list[tuple[int, int, int]] = field(default_factory=list)
    """(group, rows, results) as the workers posted them."""
    failed: list[Results] = field(default_factory=list)
    """Matches that died with their worker."""

    def __bool__(self) -> bool:
        return bool(self.posts or self.failed)

    @property
    def rows(self) -> int:
        return sum(rows for _, rows, _ in self.posts)


class WorkerArena(ClosingArena):
    """`matches` matches of `game` in `workers` processes; see `sparring.core.Arena`.

    A worker that dies is noticed at once, one that sends nothing for `stall` seconds is killed; its traceback is shown
    once, its matches are reported as failed, and a new process starts others. A worker that cannot even start
    ends the run.
    """

    def __init__(
        self,
        game: Game,
        settings: Any,
        *,
        matches: int,
        seed: int,
        workers: int,
        stall: float = 300.0,
        say: Callable[[str], None] = print,
    ) -> None:
        check_divisible(game, key="workers")
        self.spec: GameSpec = game.spec(settings)
        self.matches = matches
        self.stages = Stages()
        self._game = game
        self._settings = settings
        self._seed = seed
        self._stall = stall
        self._batch_rows, self._batch_seconds = 1, 0.0
        self._say = say
        self._groups = make_groups(matches=matches, seats=self.spec.seats, workers=workers, each=GROUPS)
        self._group_of = np.repeat(np.arange(len(self._groups)), [group.size for group in self._groups])
        self._phase = [Phase.STEPPING] * len(self._groups)
        self._unanswered = np.zeros(len(self._groups), np.intp)
        """`intp[groups]` rows of the group that were shown and have no action yet."""
        self._slabs = Slabs(self.spec, matches)
        slots = matches * self.spec.seats
        self._row_of = np.full(slots, -1, np.intp)
        """`intp[slots]` the slab row that was shown for a memory slot and has no action yet, or -1."""
        self._orphans = np.zeros(slots, np.int32)
        """`int32[slots]` shown rows of matches that have died since; their actions go nowhere."""
        self._running = np.zeros(matches, np.bool_)
        """`bool[matches]` whether a row of the match has been shown."""
        self._context = get_context("spawn")
        self._starts = 0
        self._failed_starts = 0
        self._last_failure = ""
        self._early: list[tuple[int, int, int]] = []
        """Posts that `start` has read."""
        numbers = sorted({group.worker for group in self._groups})
        self._workers = {
            number: self._start(number, delay=_STAGGER_SECONDS * place) for place, number in enumerate(numbers)
        }

    def start(self) -> None:
        """Blocks until every worker has sent something; raises what `wait` would raise if that is bad news."""
        for worker in self._workers.values():
            ready = wait([worker.line, worker.process.sentinel])
            self._early += self._read(worker)
            if worker.hung_up or worker.process.sentinel in ready:
                check_guarded(worker.process)

    def gather(self, rows: int, seconds: float) -> None:
        """See `sparring.core.Gathering`; workers whose rows have arrived are idle meanwhile."""
        self._batch_rows, self._batch_seconds = rows, seconds

    def wait(self) -> tuple[Decisions, Results]:
        """Rows and results of every group that is ready; blocks until there are some."""
        self._check_open()
        news, self._early = _News(self._early), []
        for group, phase in enumerate(self._phase):
            if phase is Phase.ANSWERED and not news:
                self._send(group)
        deadline = float("inf")
        while not self._enough(news, deadline):
            timeout = min(1.0, deadline - monotonic())
            lines = {worker.line: worker for worker in self._workers.values()}
            with self.stages.time(_WORKERS):
                ready = wait([*lines, *(worker.process.sentinel for worker in lines.values())], timeout)
            for worker in list(lines.values()):
                posts = self._read(worker) if worker.line in ready else []
                news.posts += posts
                dead = worker.hung_up or worker.process.sentinel in ready or self._stalled(worker)
                if dead and not posts:  # its last posts are taken first; the next round looks again
                    news.posts = [post for post in news.posts if post[0] not in worker.groups]
                    news.failed += self._replace(worker)
            if news:
                deadline = min(deadline, monotonic() + self._batch_seconds)
        return self._show(news)

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Puts `actions: int32[k]` where the workers read them; if one is illegal, nothing is played."""
        self._check_open()
        check_actions(decisions, actions)
        match, seat, slots = decisions.match, decisions.seat, decisions.slots(self.spec)
        orphaned = self._orphans.take(slots, mode="clip") > 0
        void = slots[orphaned]
        if len(void):
            match, seat, slots, actions = match[~orphaned], seat[~orphaned], slots[~orphaned], actions[~orphaned]
        check_rows(match, seat, self._row_of.reshape(self.matches, -1) >= 0)
        rows = self._row_of[slots]
        self._check_legal(rows, actions)
        self._orphans[void] -= 1
        self._slabs.action[rows] = actions
        self._row_of[slots] = -1
        answered = np.bincount(self._group_of[slots // self.spec.seats], minlength=len(self._groups))
        self._unanswered -= answered
        for group in np.flatnonzero((answered > 0) & (self._unanswered == 0)).tolist():
            self._phase[group] = Phase.ANSWERED

    def close(self) -> None:
        """Ends the processes and frees the shared memory; may be called twice."""
        super().close()
        for worker in self._workers.values():
            worker.line.close()
        deadline = monotonic() + _CLOSE_SECONDS
        for worker in self._workers.values():
            worker.process.join(max(0.0, deadline - monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()
        self._slabs.close()

    @property
    def processes(self) -> list[int]:
        """Process numbers of the workers, for figures and for tests."""
        return [worker.process.pid or 0 for worker in self._workers.values()]

    def helpers(self) -> Helpers:
        """The workers, and how long they have stepped their matches."""
        return Helpers(len(self._workers), {"env": float(self._slabs.busy.sum())}, waits=_WORKERS, setting="workers")

    def _enough(self, news: _News, deadline: float) -> bool:
        """Whether `wait` should return what has arrived."""
        stepping = Phase.STEPPING in self._phase
        if not news:
            if not stepping:
                raise nothing_to_wait_for()
            return False
        return self._batch_rows <= max(news.rows, 1) or bool(news.failed) or not stepping or monotonic() >= deadline

    def _check_legal(self, rows: NDArray[np.intp], actions: NDArray[np.int32]) -> None:
        shown = self._slabs.decisions
        inside = (actions >= 0) & (actions < self.spec.actions)
        illegal = np.flatnonzero(~(inside & shown.legal[rows, np.where(inside, actions, 0)]))
        if len(illegal):
            row, action = int(rows[illegal[0]]), int(actions[illegal[0]])
            raise illegal_action(f"match {shown.match[row]}, seat {shown.seat[row]}", action, shown.legal[row])

    def _start(self, number: int, *, delay: float = 0.0) -> _Worker:
        """A fresh process for worker `number`, playing matches that no process has played before."""
        end_if_unguarded()
        ours, theirs = self._context.Pipe()
        mine = {index: group for index, group in enumerate(self._groups) if group.worker == number}
        seeds = np.random.SeedSequence([self._seed, number, self._starts]).generate_state(len(mine))
        self._starts += 1
        process = self._context.Process(
            target=play_groups,
            args=(theirs, self._game, self._settings, self._slabs.block, self.matches, mine, seeds.tolist(), delay),
            name=f"sparring worker {number}",
            daemon=True,
        )
        with ctrl_c_held_back():
            process.start()
        theirs.close()
        for group in mine:
            self._phase[group] = Phase.STEPPING
        return _Worker(number, process, ours, list(mine), monotonic())

    def _send(self, group: int) -> None:
        """Tells a worker that a group has its actions. If it has just died, the next `wait` finds out."""
        worker = self._workers[self._groups[group].worker]
        self._phase[group] = Phase.STEPPING
        worker.heard = monotonic()
        with suppress(OSError):
            worker.line.send_bytes(_POST.pack(group, 0, 0))

    def _read(self, worker: _Worker) -> list[tuple[int, int, int]]:
        """The worker's posts."""
        posts: list[tuple[int, int, int]] = []
        try:
            while worker.line.poll():
                message = worker.line.recv_bytes()
                worker.heard = monotonic()
                if len(message) == _POST.size:
                    group, rows, ended = _POST.unpack(message)
                    posts.append((group, rows, ended))
                    self._phase[group] = Phase.SHOWN if rows else Phase.ANSWERED
                    worker.proven = True
                else:
                    self._hear_failure(worker, *msgspec.msgpack.decode(message, type=tuple[str, str]))
        except (EOFError, OSError):
            worker.hung_up = True
        return posts

    def _hear_failure(self, worker: _Worker, kind: str, text: str) -> None:
        """Shows a worker's traceback; the caller's own mistakes are raised again here."""
        if kind == IllegalAction.__name__:
            raise IllegalAction(text)
        if kind == InputError.__name__:
            raise InputError(text)
        if text != self._last_failure:
            self._say(f"worker {worker.number} failed:\n{text}")
        self._last_failure = text

    def _stalled(self, worker: _Worker) -> bool:
        if monotonic() - worker.heard < self._stall:
            return False
        if not any(self._phase[group] is Phase.STEPPING for group in worker.groups):
            return False
        self._say(f"worker {worker.number} has said nothing for {self._stall:.0f} s: it is killed")
        return True

    def _replace(self, worker: _Worker) -> list[Results]:
        """Starts another process for a dead one; returns its running matches, if any, as failed results."""
        worker.line.close()
        check_guarded(worker.process)
        worker.process.kill()
        worker.process.join()
        code = worker.process.exitcode
        self._failed_starts = 0 if worker.proven else self._failed_starts + 1
        if self._failed_starts >= _START_TRIES:
            raise RunError(f"worker {worker.number} died {self._failed_starts} times before its first row")
        cause = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        self._say(f"worker {worker.number} died ({cause}): its matches start anew in another process")
        died = []
        for number in worker.groups:
            group = self._groups[number]
            shown = self._row_of[group.rows]
            self._orphans[group.rows] += shown >= 0
            shown[:] = -1
            self._unanswered[number] = 0
            matches = np.arange(group.matches.start, group.matches.stop, dtype=np.int32)
            died.append(matches[self._running[matches]])
        self._workers[worker.number] = self._start(worker.number)
        match = np.concatenate(died)
        if len(match) == 0:
            return []
        self._running[match] = False
        zeros = np.zeros((len(match), self.spec.seats), np.float32)
        return [Results(match=match, outcome=zeros, reward=zeros.copy(), failed=np.ones(len(match), np.bool_))]

    def _show(self, news: _News) -> tuple[Decisions, Results]:
        """The rows and results that arrived; the rows are views if they come from one group."""
        results, rows = [*news.failed], []
        for number, count, ended in news.posts:
            group = self._groups[number]
            self._unanswered[number] = count
            if ended:
                first = group.matches.start
                results.append(self._slabs.results.take(np.arange(first, first + ended)))
            if count:
                rows.append(slice(group.rows.start, group.rows.start + count))
        all_results = Results.join(results) if results else Results.none(self.spec.seats)
        self._running[all_results.match] = False
        if not rows:
            return Decisions.none(self.spec), all_results
        numbers = np.concatenate([np.arange(part.start, part.stop) for part in rows])
        decisions = self._slabs.decisions.take(rows[0] if len(rows) == 1 else numbers)
        self._row_of[decisions.slots(self.spec)] = numbers
        self._running[decisions.match] = True
        return decisions, all_results


def play_groups(
    line: "Connection[Any, Any]",
    game: Game,
    settings: Any,
    block: Block,
    matches: int,
    groups: dict[int, Group],
    seeds: list[int],
    delay: float = 0.0,
) -> None:
    """A worker process: steps whichever of its `groups` has its actions, until the parent closes the line."""
    leave_signals_to_parent()  # which closes the line
    arenas: dict[int, Arena] = {}
    sleep(delay)
    try:
        slabs = Slabs(game.spec(settings), matches, block=block)
        out: dict[int, Decisions] = {}

        def post(number: int, began: float) -> None:
            decisions, results = arenas[number].wait()
            slabs.write(groups[number], decisions, results)
            out[number] = decisions
            slabs.busy[groups[number].matches.start] += perf_counter() - began
            line.send_bytes(_POST.pack(number, len(decisions), len(results)))

        for (number, group), seed in zip(groups.items(), seeds, strict=True):
            began = perf_counter()
            arenas[number] = game.arena(settings, matches=group.size, seed=seed)
            if isinstance(arenas[number], Adaptive):
                raise InputError(f"workers: {game.name} changes with how it is played, as one arena; use workers = 0")
            post(number, began)
        while True:
            number, _, _ = _POST.unpack(line.recv_bytes())
            began, decisions = perf_counter(), out[number]
            if len(decisions):
                start = groups[number].rows.start
                arenas[number].act(decisions, slabs.action[start : start + len(decisions)])
            post(number, began)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is done, or gone
    except Exception as error:
        kind = next((kind for kind in (IllegalAction, InputError) if isinstance(error, kind)), Exception)
        text = traceback.format_exc() if kind is Exception else str(error)
        with suppress(OSError):  # the parent may have heard enough from another worker
            line.send_bytes(msgspec.msgpack.encode((kind.__name__, text)))
        raise SystemExit(1) from None
    finally:
        for arena in arenas.values():
            arena.close()
