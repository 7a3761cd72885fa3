"""The collector: plays an arena with players in its seats, and yields episodes.

It knows who sits where, asks each player once per wait for all its rows, keeps what recorded players saw and
did in a row log, and cuts finished episodes out of it. Nothing here loops over rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.core import Answers, Arena, Array, Decisions, Episodes, Player, Results
from sparring.core.episodes import spans
from sparring.report.stages import Stages
from sparring.rollout.lineup import Lineup
from sparring.rollout.rows import RowLog


@runtime_checkable
class Versioned(Protocol):
    """A player with weights."""

    @property
    def version(self) -> int:
        """Version of the weights that answer now."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """A player that keeps something for each match elsewhere, and frees it when the match has ended."""

    def forget(self, matches: NDArray[np.int32]) -> None:
        """`matches: int32[n]` have ended."""
        ...


@runtime_checkable
class Learning(Versioned, Protocol):
    """A player whose weights change and whose memory a learner needs."""

    def memory(self, decisions: Decisions) -> dict[str, Array]:
        """The memory each row's answer will start from."""
        ...


@dataclass
class Counters:
    """What a collector has seen so far."""

    decisions: int = 0
    batches: int = 0
    matches: int = 0
    failed: int = 0
    illegal: int = 0
    stages: Stages = field(default_factory=Stages)

    @property
    def mean_batch(self) -> float:
        """Rows per wait."""
        return self.decisions / self.batches if self.batches else 0.0


@dataclass
class _Finished:
    """Episodes that ended since the last `collect`, as the numbers of their rows in the log."""

    rows: list[NDArray[np.intp]] = field(default_factory=list)
    memories: list[NDArray[np.intp]] = field(default_factory=list)
    columns: dict[str, list[Array]] = field(default_factory=dict)
    count: int = 0

    def add(self, rows: NDArray[np.intp], memories: NDArray[np.intp], columns: Mapping[str, Array]) -> None:
        self.rows.append(rows)
        self.memories.append(memories)
        for name, values in columns.items():
            self.columns.setdefault(name, []).append(values)
        self.count += len(rows)


class Collector:
    """Plays `players` over `arena` as `lineup` seats them.

    Args:
        arena: what is played.
        players: by name; the lineup's numbers index them in order.
        lineup: who sits where.
        record: names of the players whose episodes are kept.
        segment: rows from one stored memory to the next, for players with memory; 0 stores none.
        cut: rows after which a running episode is cut and its rest starts a new one, with the player's value
            as the expected gain after the cut; 0 never cuts.
        keep_policy: whether to keep each answer's whole distribution.
    """

    def __init__(
        self,
        arena: Arena,
        players: Mapping[str, Player],
        lineup: Lineup,
        *,
        record: Sequence[str] = (),
        segment: int = 0,
        cut: int = 0,
        keep_policy: bool = False,
    ) -> None:
        self.counters = Counters()
        self._arena = arena
        self._names = tuple(players)
        self._players = list(players.values())
        self._remembering = [player for player in self._players if isinstance(player, Remembering)]
        self._lineup = lineup
        self._recorded = np.array([name in record for name in self._names])
        self._segment = segment
        self._cut = cut
        seats = arena.spec.seats
        slots = arena.matches * seats
        self._log = RowLog(arena.spec, keep_policy=keep_policy)
        self._memories: dict[str, Array] = {}
        self._memories_used = 0
        self._length = np.zeros(slots, np.int32)
        self._row_of = np.zeros((slots, 64), np.intp)
        self._memory_of = np.zeros((slots, 64), np.intp)
        self._version = np.full(slots, -1, np.int32)
        self._turn = np.zeros(arena.matches, np.int32)
        self._serial = np.arange(arena.matches, dtype=np.int64)
        self._next_serial = arena.matches
        self._seated = lineup(self._serial)
        self._finished = _Finished()

    def collect(self, rows: int) -> Episodes:
        """Plays on until finished episodes hold at least `rows` rows, and returns those episodes."""
        while self._finished.count < rows:
            self.advance()
        return self._take_finished()

    def play(
        self, matches: int, *, pulse: Callable[[], None] = lambda: None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Plays matches number 0 to `matches` - 1 to their ends, on a fresh collector.

        Which matches count is settled before the first move, so that short ones are not favoured. `pulse` is called
        before every wait; what it raises breaks off. Returns
        `(seated: int32[matches, seats], outcome: float32[matches, seats])`; a failed match has NaN outcomes.
        """
        seats = self._arena.spec.seats
        outcome = np.full((matches, seats), np.nan, np.float32)
        pending = matches
        while pending > 0:
            pulse()
            for serials, results in self.advance():
                counted = serials < matches
                outcome[serials[counted]] = np.where(results.failed[counted, None], np.nan, results.outcome[counted])
                pending -= int(counted.sum())
        return self._lineup(np.arange(matches, dtype=np.int64)), outcome

    def advance(self) -> list[tuple[NDArray[np.int64], Results]]:
        """One wait, one answer from each player concerned, one act; returns ended matches with their serials."""
        stages = self.counters.stages
        with stages.time("arena"):
            decisions, results = self._arena.wait()
        ended: list[tuple[NDArray[np.int64], Results]] = []
        if len(results):
            with stages.time("record"):
                ended.append((self._serial[results.match], results))
                self._end_matches(results)
        if len(decisions):
            seated = self._seated[decisions.match, decisions.seat]
            memory_rows = self._store_memory(decisions, seated)
            with stages.time("players"):
                answers = self._answer(decisions, seated)
            with stages.time("record"):
                self._record(decisions, answers, seated, memory_rows)
                self._turn[decisions.match] = self._turn[decisions.match] + 1  # once, even if both seats act
            with stages.time("arena"):
                self._arena.act(decisions, answers.action)
        return ended

    def snapshot(self) -> dict[str, Array]:
        """Everything a bit-for-bit continuation needs; only right after `collect`."""
        state = {f"log/{name}": column for name, column in self._log.snapshot().items()}
        state |= {f"memory/{name}": array[: self._memories_used].copy() for name, array in self._memories.items()}
        return state | {
            "length": self._length.copy(),
            "row_of": self._row_of.copy(),
            "memory_of": self._memory_of.copy(),
            "version": self._version.copy(),
            "turn": self._turn.copy(),
            "serial": self._serial.copy(),
            "next_serial": np.array(self._next_serial),
        }

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`."""
        self._log.restore({name[4:]: array for name, array in snapshot.items() if name.startswith("log/")})
        self._memories = {n[7:]: array.copy() for n, array in snapshot.items() if n.startswith("memory/")}
        self._memories_used = max((len(array) for array in self._memories.values()), default=0)
        self._length = snapshot["length"].copy()
        self._row_of = snapshot["row_of"].copy()
        self._memory_of = snapshot["memory_of"].copy()
        self._version = snapshot["version"].copy()
        self._turn = snapshot["turn"].copy()
        self._serial = snapshot["serial"].copy()
        self._next_serial = int(snapshot["next_serial"])
        self._seated = self._lineup(self._serial)
        self._finished = _Finished()

    def _answer(self, decisions: Decisions, seated: NDArray[np.int32]) -> Answers:
        """Asks each player that has rows, once."""
        counters = self.counters
        counters.decisions += len(decisions)
        counters.batches += 1
        asked = np.unique(seated)
        if len(asked) == 1:
            answers: Answers = self._players[asked[0]].act(decisions)
        else:
            parts = []
            for number in asked:
                rows = np.flatnonzero(seated == number)
                parts.append((rows, self._players[number].act(decisions.take(rows))))
            answers = _merge(parts, decisions)
        illegal = int((~np.take_along_axis(decisions.legal, answers.action[:, None], axis=1)).sum())
        counters.illegal += illegal
        return answers

    def _store_memory(self, decisions: Decisions, seated: NDArray[np.int32]) -> NDArray[np.intp] | None:
        """Copies the memory before each row that starts a segment; returns where, `intp[k]`."""
        if self._segment == 0:
            return None
        slots = decisions.slots(self._arena.spec)
        at = np.zeros(len(decisions), np.intp)
        length = self._length[slots]
        if self._cut:
            length = np.where(length == self._cut, 0, length)
        starts = (length % self._segment == 0) & self._recorded[seated]
        for number in np.unique(seated[starts]):
            player = self._players[number]
            if not isinstance(player, Learning):
                continue
            rows = np.flatnonzero(starts & (seated == number))
            memory = player.memory(decisions.take(rows))
            for name, values in memory.items():
                self._memories[name] = _append(self._memories.get(name), self._memories_used, values)
            at[rows] = np.arange(self._memories_used, self._memories_used + len(rows))
            self._memories_used += len(rows)
        return at

    def _record(
        self, decisions: Decisions, answers: Answers, seated: NDArray[np.int32], memory_rows: NDArray[np.intp] | None
    ) -> None:
        """Appends the rows of recorded players, pays the reward of their row before, and cuts long episodes."""
        recorded = self._recorded[seated]
        if not recorded.any():
            return
        if not recorded.all():
            rows = np.flatnonzero(recorded)
            decisions, seated = decisions.take(rows), seated[rows]
            answers = _take(answers, rows)
            memory_rows = None if memory_rows is None else memory_rows[rows]
        slots = decisions.slots(self._arena.spec)
        length = self._length[slots]
        later = np.flatnonzero(length > 0)
        before = self._row_of[slots[later], length[later] - 1]
        self._log.columns["reward"][before] += decisions.reward[later]
        if self._cut:
            at_cut = np.flatnonzero(length == self._cut)
            if len(at_cut):
                value = np.zeros(len(decisions), np.float32) if answers.value is None else answers.value
                self._finish(slots[at_cut], np.zeros(len(at_cut), np.float32), value[at_cut], complete=False)
                length = self._length[slots]
        numbers = self._log.append(decisions, answers, self._turn[decisions.match])
        if len(length) and int(length.max()) >= self._row_of.shape[1]:
            self._row_of = np.concatenate([self._row_of, np.zeros_like(self._row_of)], axis=1)
            self._memory_of = np.concatenate([self._memory_of, np.zeros_like(self._memory_of)], axis=1)
        self._row_of[slots, length] = numbers
        if memory_rows is not None:
            starts = np.flatnonzero(length % self._segment == 0)
            self._memory_of[slots[starts], length[starts] // self._segment] = memory_rows[starts]
        opening = np.flatnonzero(length == 0)
        versions = np.array([p.version if isinstance(p, Versioned) else -1 for p in self._players], np.int32)
        self._version[slots[opening]] = versions[seated[opening]]
        self._length[slots] = length + 1

    def _end_matches(self, results: Results) -> None:
        """Finishes the episodes of ended matches and seats the next ones."""
        seats = self._arena.spec.seats
        slots = results.match[:, None].astype(np.intp) * seats + np.arange(seats)
        length = self._length[slots]
        kept = (length > 0) & ~results.failed[:, None]
        last = self._row_of[slots[kept], length[kept] - 1]
        self._log.columns["reward"][last] += results.reward[kept]
        self._finish(slots[kept], results.outcome[kept], np.zeros(int(kept.sum()), np.float32), complete=True)
        self._length[slots] = 0
        self._turn[results.match] = 0
        for player in self._remembering:
            player.forget(results.match)
        ended = len(results)
        self._serial[results.match] = np.arange(self._next_serial, self._next_serial + ended)
        self._next_serial += ended
        self._seated[results.match] = self._lineup(self._serial[results.match])
        self.counters.matches += ended - int(results.failed.sum())
        self.counters.failed += int(results.failed.sum())

    def _finish(
        self, slots: NDArray[np.intp], outcome: NDArray[np.float32], last_value: NDArray[np.float32], *, complete: bool
    ) -> None:
        """Moves the running episodes of `slots` to the finished ones."""
        seats = self._arena.spec.seats
        length = self._length[slots]
        memories = np.empty(0, np.intp)
        if self._segment:
            memories = _ragged(self._memory_of, slots, -(-length // self._segment))
        match, seat = slots // seats, slots % seats
        self._finished.add(
            _ragged(self._row_of, slots, length),
            memories,
            {
                "lengths": length,
                "match": self._serial[match],
                "seat": seat.astype(np.int32),
                "player": self._seated[match, seat],
                "version": self._version[slots],
                "outcome": outcome,
                "complete": np.full(len(slots), complete),
                "last_value": last_value,
            },
        )
        self._length[slots] = 0

    def _take_finished(self) -> Episodes:
        """Gathers the finished episodes out of the log and drops them from it."""
        finished, self._finished = self._finished, _Finished()
        with self.counters.stages.time("record"):
            columns = self._log.gather(np.concatenate(finished.rows))
            memories = np.concatenate(finished.memories)
            episodes = Episodes(
                spec=self._arena.spec,
                players=self._names,
                observation={n[12:]: array for n, array in columns.items() if n.startswith("observation/")},
                legal=columns["legal"],
                action=columns["action"],
                turn=columns["turn"],
                reward=columns["reward"],
                log_prob=columns["log_prob"],
                value=columns["value"],
                policy=columns.get("policy"),
                memory={name: array[memories] for name, array in self._memories.items()} if self._segment else None,
                segment=self._segment,
                **{name: np.concatenate(values) for name, values in finished.columns.items()},
            )
            self._keep_running()
        return episodes

    def _keep_running(self) -> None:
        """Moves the rows and memories of running episodes to the front of the log."""
        slots = np.flatnonzero(self._length)
        length = self._length[slots]
        self._log.keep(_ragged(self._row_of, slots, length))
        _renumber(self._row_of, slots, length)
        if self._segment:
            counts = -(-length // self._segment)
            running = _ragged(self._memory_of, slots, counts)
            self._memories = {name: array[running] for name, array in self._memories.items()}
            self._memories_used = len(running)
            _renumber(self._memory_of, slots, counts)


def _parts(answers: Answers) -> tuple[Array | None, ...]:
    return answers.action, answers.log_prob, answers.value, answers.policy


def _take(answers: Answers, rows: NDArray[np.intp]) -> Answers:
    return Answers(answers.action[rows], *(None if part is None else part[rows] for part in _parts(answers)[1:]))


def _merge(parts: list[tuple[NDArray[np.intp], Answers]], decisions: Decisions) -> Answers:
    """One set of answers from several players' parts; what a player does not say is 0."""
    k = len(decisions)
    keeps_policy = any(answers.policy is not None for _, answers in parts)
    merged = Answers(
        action=np.zeros(k, np.int32),
        log_prob=np.zeros(k, np.float32),
        value=np.zeros(k, np.float32),
        policy=np.zeros(decisions.legal.shape, np.float32) if keeps_policy else None,
    )
    for rows, answers in parts:
        for whole, piece in zip(_parts(merged), _parts(answers), strict=True):
            if whole is not None and piece is not None:
                whole[rows] = piece
    return merged


def _ragged(table: NDArray[np.intp], slots: NDArray[np.intp], lengths: NDArray[np.int32]) -> NDArray[np.intp]:
    """The first `lengths[i]` entries of row `slots[i]` of `table`, laid end to end."""
    return table[np.repeat(slots, lengths), spans(np.zeros(len(slots), np.intp), lengths)]


def _renumber(table: NDArray[np.intp], slots: NDArray[np.intp], lengths: NDArray[np.int32]) -> None:
    """Writes 0, 1, 2, ... where `_ragged` read."""
    columns = spans(np.zeros(len(slots), np.intp), lengths)
    table[np.repeat(slots, lengths), columns] = np.arange(len(columns))


def _append(array: Array | None, used: int, values: Array) -> Array:
    """`array` with `values` written from `used` on, grown by doubling when it is full."""
    needed = used + len(values)
    if array is None or needed > len(array):
        larger = np.zeros((max(needed, 2 * used, 256), *values.shape[1:]), values.dtype)
        if array is not None:
            larger[:used] = array[:used]
        array = larger
    array[used:needed] = values
    return array
