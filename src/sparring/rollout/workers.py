"""Local workers: an arena whose matches are played by other processes.

Each worker plays two groups of matches, so that it steps one while the other waits for its actions. Rows and
actions lie in shared memory; a message is three numbers: which group, how many rows, how many results. For whoever
plays it, `WorkerArena` is an arena like any other, and `wait` returns whatever groups are ready.
"""

import signal
import struct
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    Adaptive,
    Arena,
    Decisions,
    Game,
    GameSpec,
    IllegalAction,
    InputError,
    Results,
    RunError,
)
from sparring.rollout.slabs import Block, Group, Slabs, make_groups

GROUPS = 2
"""Groups of matches a worker: one is stepped while the other waits."""
_POST = struct.Struct("<iii")
_STAGGER_SECONDS = 0.1
"""Workers start one after another, so that they do not all load, and later all end their matches, at once."""
_START_TRIES = 3
"""Times in a row that a worker may die before its first row."""


@dataclass
class _Worker:
    """The parent's view of one process."""

    number: int
    process: BaseProcess
    line: "Connection[Any, Any]"
    heard: float
    owing: int = 0
    """Groups it is stepping now."""
    useful: bool = False
    """Whether it has said anything yet."""
    broken: bool = False
    """Whether its end of the line is closed."""


@dataclass
class _State:
    """Where rows stand, by memory slot (match * seats + seat) or match of the whole arena."""

    row: NDArray[np.intp]
    """`intp[slots]` the slab row that is out for the slot, or -1."""
    stale: NDArray[np.int32]
    """`int32[slots]` rows that are out of matches which broke off; their actions go nowhere."""
    started: NDArray[np.bool_]
    """`bool[matches]` whether a row of the running match was returned."""
    out: NDArray[np.intp]
    """`intp[groups]` rows of the group that wait for an action."""
    acted: list[int] = field(default_factory=list)
    """Groups whose rows have all been answered, to be told with the next `wait`."""


class WorkerArena:
    """`matches` matches of `game` in `workers` processes; see `sparring.core.Arena`.

    A worker that dies is noticed at once, one that says nothing for `stall` seconds is killed; its traceback is said
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
        self.spec: GameSpec = game.spec(settings)
        self.matches = matches
        self._game = game
        self._settings = settings
        self._seed = seed
        self._stall = stall
        self._least, self._patience = 1, 0.0
        self._say = say
        self._groups = make_groups(matches=matches, seats=self.spec.seats, workers=workers, each=GROUPS)
        self._group_of = np.repeat(np.arange(len(self._groups)), [group.size for group in self._groups])
        self._slabs = Slabs(self.spec, matches)
        self._staging = self._slabs.decisions.empty(matches * self.spec.seats)
        slots = matches * self.spec.seats
        self._state = _State(
            row=np.full(slots, -1, np.intp),
            stale=np.zeros(slots, np.int32),
            started=np.zeros(matches, np.bool_),
            out=np.zeros(len(self._groups), np.intp),
        )
        self._context = get_context("spawn")
        self._starts = 0
        self._failed_starts = 0
        self._last_failure = ""
        numbers = sorted({group.worker for group in self._groups})
        self._workers = {
            number: self._start(number, delay=_STAGGER_SECONDS * place) for place, number in enumerate(numbers)
        }

    def start(self) -> None:
        """Blocks until every worker has said something; `wait` would do the rest by itself."""
        for worker in self._workers.values():
            wait([worker.line, worker.process.sentinel])

    def gather(self, rows: int, seconds: float) -> None:
        """See `sparring.core.Gathering`; workers whose rows are in stand idle meanwhile."""
        self._least, self._patience = rows, seconds

    def wait(self) -> tuple[Decisions, Results]:
        """Rows and results of every group that is ready; blocks until there are some."""
        state = self._state
        for number in state.acted:
            self._send(self._workers[self._groups[number].worker], number)
        state.acted.clear()
        posts: list[tuple[int, int, int]] = []
        broken: list[Results] = []
        deadline = float("inf")
        while True:
            owing = any(worker.owing for worker in self._workers.values())
            if posts or broken:
                deadline = min(deadline, monotonic() + self._patience)
                enough = self._least == 1 or sum(rows for _, rows, _ in posts) >= self._least
                if enough or broken or not owing or monotonic() >= deadline:
                    break
            elif not owing:
                raise RuntimeError("nothing to wait for: every row is out and none has been answered")
            lines = {worker.line: worker for worker in self._workers.values()}
            ready = wait(
                [*lines, *(worker.process.sentinel for worker in lines.values())], min(1.0, deadline - monotonic())
            )
            for worker in list(lines.values()):
                said = self._read(worker) if worker.line in ready else []
                posts += said
                dead = worker.broken or worker.process.sentinel in ready or self._stalled(worker)
                if dead and not said:  # what it still said is taken first, and looked at again with the next wait
                    broken += self._replace(worker)
        return self._take(posts, broken)

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Puts `actions: int32[k]` where the workers read them; if one is not legal nothing is played."""
        if actions.shape != decisions.match.shape:
            raise ValueError(f"{len(decisions)} rows need as many actions, got shape {list(actions.shape)}")
        state = self._state
        slots = decisions.slots(self.spec)
        stale = state.stale[slots] > 0
        if stale.any():
            state.stale[slots[stale]] -= 1
            slots, actions = slots[~stale], actions[~stale]
        rows = state.row[slots]
        if len(rows) and rows.min() < 0:
            slot = int(slots[int(np.flatnonzero(rows < 0)[0])])
            seats = self.spec.seats
            raise ValueError(f"match {slot // seats}, seat {slot % seats} has no row that waits for an action")
        if actions.size and (actions.min() < 0 or actions.max() >= self.spec.actions):
            raise IllegalAction(f"an action is not one of 0..{self.spec.actions - 1}")
        shown = self._slabs.decisions
        illegal = np.flatnonzero(~shown.legal[rows, actions])
        if len(illegal):
            row, action = int(rows[illegal[0]]), int(actions[illegal[0]])
            raise IllegalAction(f"match {shown.match[row]}, seat {shown.seat[row]}: action {action} is not legal")
        self._slabs.action[rows] = actions
        state.row[slots] = -1
        answered = np.bincount(self._group_of[slots // self.spec.seats], minlength=len(self._groups))
        state.out -= answered
        state.acted += np.flatnonzero((answered > 0) & (state.out == 0)).tolist()

    def close(self) -> None:
        """Ends the processes and frees the shared memory; may be called twice."""
        for worker in self._workers.values():
            worker.line.close()
        for worker in self._workers.values():
            worker.process.join(2.0)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()
        self._slabs.close()

    @property
    def processes(self) -> list[int]:
        """Process numbers of the workers, for figures and for tests."""
        return [worker.process.pid or 0 for worker in self._workers.values()]

    def _start(self, number: int, *, delay: float = 0.0) -> _Worker:
        """A fresh process for worker `number`, playing matches no process before it has played."""
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
        process.start()
        theirs.close()
        return _Worker(number, process, ours, monotonic(), owing=len(mine))

    def _send(self, worker: _Worker, group: int) -> None:
        """Tells a worker that a group has its actions. One that just died is found by the next `wait`."""
        worker.owing += 1
        worker.heard = monotonic()
        with suppress(OSError):
            worker.line.send_bytes(_POST.pack(group, 0, 0))

    def _read(self, worker: _Worker) -> list[tuple[int, int, int]]:
        """The worker's messages: group, rows and results each."""
        posts: list[tuple[int, int, int]] = []
        try:
            while worker.line.poll():
                message = worker.line.recv_bytes()
                worker.heard = monotonic()
                if len(message) == _POST.size:
                    posts.append(_POST.unpack(message))
                    worker.owing -= 1
                    worker.useful = True
                else:
                    self._hear_failure(worker, *msgspec.msgpack.decode(message, type=tuple[str, str]))
        except (EOFError, OSError):
            worker.broken = True
        return posts

    def _hear_failure(self, worker: _Worker, kind: str, text: str) -> None:
        """Shows a worker's traceback; what is the caller's own fault is raised here as there."""
        if kind == IllegalAction.__name__:
            raise IllegalAction(text)
        if kind == InputError.__name__:
            raise InputError(text)
        if text != self._last_failure:
            self._say(f"worker {worker.number} failed:\n{text}")
        self._last_failure = text

    def _stalled(self, worker: _Worker) -> bool:
        if worker.owing == 0 or monotonic() - worker.heard < self._stall:
            return False
        self._say(f"worker {worker.number} has said nothing for {self._stall:.0f} s: it is killed")
        return True

    def _replace(self, worker: _Worker) -> list[Results]:
        """Starts another process for a dead one; its running matches, if there are any, as failed results."""
        worker.line.close()
        worker.process.join(1.0)
        worker.process.kill()
        worker.process.join()
        code = worker.process.exitcode
        if not worker.useful:
            self._failed_starts += 1
            if self._failed_starts >= _START_TRIES:
                raise RunError(f"worker {worker.number} died {self._failed_starts} times before its first row")
        else:
            self._failed_starts = 0
        cause = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        self._say(f"worker {worker.number} died ({cause}): its matches start anew in another process")
        state, seats = self._state, self.spec.seats
        for number, group in enumerate(self._groups):
            if group.worker == worker.number:
                rows = state.row[group.rows]
                state.stale[group.rows] += rows >= 0
                rows[:] = -1
                state.out[number] = 0
                if number in state.acted:
                    state.acted.remove(number)
        self._workers[worker.number] = self._start(worker.number)
        groups = [group for group in self._groups if group.worker == worker.number]
        mine = np.arange(groups[0].matches.start, groups[-1].matches.stop, dtype=np.int32)
        match = mine[state.started[mine]]
        if len(match) == 0:
            return []
        state.started[match] = False
        zeros = np.zeros((len(match), seats), np.float32)
        return [Results(match=match, outcome=zeros, reward=zeros.copy(), failed=np.ones(len(match), np.bool_))]

    def _take(self, posts: list[tuple[int, int, int]], broken: list[Results]) -> tuple[Decisions, Results]:
        """The rows and results of `posts`, noted as out."""
        state = self._state
        results = [*broken]
        for number, _, count in posts:
            start = self._groups[number].matches.start
            results.append(self._slabs.results.take(np.arange(start, start + count)))
        for part in results:
            state.started[part.match] = False
        parts = [
            slice(self._groups[number].rows.start, self._groups[number].rows.start + count)
            for number, count, _ in posts
            if count
        ]
        shown = [self._slabs.decisions.take(part) for part in parts or [slice(0, 0)]]
        decisions = shown[0] if len(shown) == 1 else Decisions.join(shown, out=self._staging)
        for number, count, _ in posts:
            state.out[number] = count
            if count == 0:
                state.acted.append(number)
        if parts:
            rows = np.concatenate([np.arange(part.start, part.stop) for part in parts])
            state.row[decisions.slots(self.spec)] = rows
            state.started[decisions.match] = True
        return decisions, Results.join(results)


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
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)  # Ctrl-C and a closed terminal are for the parent, which closes the line
    arenas: dict[int, Arena] = {}
    sleep(delay)
    try:
        slabs = Slabs(game.spec(settings), matches, block=block)
        out: dict[int, Decisions] = {}

        def post(number: int) -> None:
            decisions, results = arenas[number].wait()
            slabs.write(groups[number], decisions, results)
            out[number] = decisions
            line.send_bytes(_POST.pack(number, len(decisions), len(results)))

        for (number, group), seed in zip(groups.items(), seeds, strict=True):
            arenas[number] = game.arena(settings, matches=group.size, seed=seed)
            if isinstance(arenas[number], Adaptive):
                raise InputError(f"workers: {game.name} changes with how it is played, as one arena; use workers = 0")
            post(number)
        while True:
            number, _, _ = _POST.unpack(line.recv_bytes())
            decisions = out[number]
            if len(decisions):
                start = groups[number].rows.start
                arenas[number].act(decisions, slabs.action[start : start + len(decisions)])
            post(number)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is done, or gone
    except Exception as error:
        text = str(error) if isinstance(error, IllegalAction | InputError) else traceback.format_exc()
        line.send_bytes(msgspec.msgpack.encode((type(error).__name__, text)))
        raise SystemExit(1) from None
    finally:
        for arena in arenas.values():
            arena.close()
