"""The collector: plays an arena with players in its seats, and yields episodes.

It knows who sits where, asks each player once per wait for all its rows, and records what the players whose episodes
are wanted saw and did. Nothing here loops over rows.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    Answers,
    Arena,
    Array,
    Attending,
    Decisions,
    Episodes,
    IllegalAction,
    InputError,
    Naming,
    Player,
    Results,
    Stages,
    Steps,
)
from sparring.core.episodes import pack_mask
from sparring.core.rows import flatten, nested
from sparring.rollout.lineup import Lineup
from sparring.rollout.open_episodes import OpenEpisodes


@runtime_checkable
class Versioned(Protocol):
    """A player with weights."""

    @property
    def version(self) -> int:
        """Version of the weights that answer now."""
        ...


@runtime_checkable
class Recurrent(Versioned, Protocol):
    """A player whose network has memory, which a learner needs."""

    def memory(self, decisions: Decisions) -> dict[str, Array]:
        """The memory each row's answer will start from."""
        ...


@runtime_checkable
class Forgetting(Protocol):
    """A player that holds something per match elsewhere, and frees it when the match has ended."""

    def forget(self, matches: NDArray[np.int32]) -> None:
        """`matches: int32[n]` have ended."""
        ...


@runtime_checkable
class Numbered(Protocol):
    """A player that plays differently by the match's serial number: many opponents in one."""

    def begin(self, matches: NDArray[np.integer], serials: NDArray[np.int64]) -> None:
        """The arena's `matches: int[n]` now have the numbers `serials: int64[n]`, whoever plays them."""
        ...


@dataclass
class Counters:
    """What a collector has seen so far."""

    decisions: int = 0
    batches: int = 0
    matches: int = 0
    failed: int = 0
    stages: Stages = field(default_factory=Stages)

    @property
    def mean_batch(self) -> float:
        """Rows per wait."""
        return self.decisions / self.batches if self.batches else 0.0

    def add(self, more: "Counters") -> None:
        """Adds what another collector has counted."""
        self.decisions += more.decisions
        self.batches += more.batches
        self.matches += more.matches
        self.failed += more.failed
        self.stages.add_all(more.stages)

    def take(self) -> "Counters":
        """The counts so far; they are reset."""
        taken = copy.copy(self)
        self.decisions = self.batches = self.matches = self.failed = 0
        self.stages = Stages()
        return taken


class Collector:
    """Plays `players` over `arena` as `lineup` seats them.

    Args:
        arena: what is played.
        players: by name; the lineup's numbers index them in order.
        lineup: who sits where.
        record: names of the players whose episodes are kept.
        segment: steps from one stored memory to the next, for recorded players with memory; 0 stores none.
        truncate_after: steps after which an open episode is handed over unfinished, with the player's value as the
            expected gain from there; the rest of it becomes a new episode. 0 never truncates.
        keep_policy: whether to keep each answer's whole distribution.
        first_serial: the number of the first match; collectors of one run start far apart, so that they share none.
    """

    def __init__(
        self,
        arena: Arena,
        players: Mapping[str, Player],
        lineup: Lineup,
        *,
        record: Sequence[str] = (),
        segment: int = 0,
        truncate_after: int = 0,
        keep_policy: bool = False,
        first_serial: int = 0,
    ) -> None:
        self.counters = Counters()
        self.decided = 0
        """Decisions of the matches that `play` counted."""
        self._arena = arena
        self._naming = arena if isinstance(arena, Naming) else None
        self._names = tuple(players)
        self._players = list(players.values())
        self._lineup = lineup
        self._record = [name in record for name in self._names]
        self._segment = segment
        self._truncate_after = truncate_after
        self._keep_policy = keep_policy
        self._open = OpenEpisodes(
            arena.spec, slots=arena.matches * arena.spec.seats, segment=segment, keep_policy=keep_policy
        )
        self._turn = np.zeros(arena.matches, np.int32)
        self._serial = first_serial + np.arange(arena.matches, dtype=np.int64)
        self._next_serial = first_serial + arena.matches
        self._seated = np.zeros((arena.matches, arena.spec.seats), np.int32)
        self._seat(np.arange(arena.matches))
        for player in self._players:
            if isinstance(player, Attending):
                player.attend(arena)

    @property
    def serials(self) -> NDArray[np.int64]:
        """`int64[matches]` the serial numbers of the matches in play."""
        return self._serial

    @property
    def next_serial(self) -> int:
        """The number of the next match to begin."""
        return self._next_serial

    def collect(self, rows: int) -> Episodes:
        """Plays on until finished episodes hold at least `rows` steps, and returns those episodes."""
        while self._open.finished_rows < rows:
            self.advance()
        with self.counters.stages.time("record"):
            return self._open.take_finished(self._names)

    def collect_within(self, rows: int, seconds: float) -> Episodes | None:
        """As `collect`, but for `seconds` and one wait at most; None if no episode has ended by then."""
        end = monotonic() + seconds
        while self._open.finished_rows < rows and monotonic() < end:
            self.advance()
        return self.take_ended()

    def take_ended(self) -> Episodes | None:
        """The episodes that have ended and were not returned yet; None if there are none."""
        return self.collect(0) if self._open.finished_rows else None

    def play(
        self,
        matches: int,
        *,
        pulse: Callable[[int], None] = lambda ended: None,
        ended: Callable[[NDArray[np.int64], NDArray[np.int32], Results], None] = lambda serials, turns, results: None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Plays matches number 0 to `matches` - 1 to their ends, on a fresh collector.

        Which matches count is settled before the first move, so that short ones are not favoured. `pulse` is called
        before every wait with the number of matches that have ended, and may raise to stop. `ended` gets the numbers,
        turns and results of matches that count. Returns
        `(seated: int32[matches, seats], outcome: float32[matches, seats])`; a failed match has NaN outcomes.
        """
        outcome = np.full((matches, self._arena.spec.seats), np.nan, np.float32)

        def note(serials: NDArray[np.int64], turns: NDArray[np.int32], results: Results) -> None:
            outcome[serials] = np.where(results.failed[:, None], np.nan, results.outcome)
            ended(serials, turns, results)

        for count in self.waits(matches, note):
            pulse(count)
        return self._lineup(np.arange(matches, dtype=np.int64)), outcome

    def waits(
        self, matches: int, ended: Callable[[NDArray[np.int64], NDArray[np.int32], Results], None]
    ) -> Iterator[int]:
        """`play` as an iterator: yields before every wait how many matches have ended."""
        pending = matches
        self.decided = 0
        while pending > 0:
            yield matches - pending
            decisions, serials, turns, results = self._wait()
            self.decided += int((self._serial[decisions.match] < matches).sum())
            counted = serials < matches
            if counted.any():
                ended(serials[counted], turns[counted], results.take(np.flatnonzero(counted)))
            pending -= int(counted.sum())
            if pending > 0:  # matches beyond the last need no answers
                self._answer(decisions)

    def advance(self) -> tuple[NDArray[np.int64], Results]:
        """One wait, one answer from each player concerned, one act; returns the ended matches and their serials."""
        decisions, serials, _, results = self._wait()
        self._answer(decisions)
        return serials, results

    def snapshot(self) -> dict[str, Array]:
        """Everything a bit-for-bit continuation needs; only right after `collect`."""
        return flatten({"open": self._open.snapshot()}) | {
            "turn": self._turn.copy(),
            "serial": self._serial.copy(),
            "next_serial": np.array(self._next_serial),
        }

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`."""
        self._open.restore(nested(snapshot)["open"])
        self._turn = snapshot["turn"].copy()
        self._serial = snapshot["serial"].copy()
        self._next_serial = int(snapshot["next_serial"])
        self._seat(np.arange(self._arena.matches))

    def _wait(self) -> tuple[Decisions, NDArray[np.int64], NDArray[np.int32], Results]:
        """The rows that must be answered now, and the matches that ended, with their serials and turns."""
        stages = self.counters.stages
        with stages.time("arena"):
            decisions, results = self._arena.wait()
        serials, turns = self._serial[results.match], self._turn[results.match]
        if len(results):
            with stages.time("record"):
                self._end_matches(results)
        return decisions, serials, turns, results

    def _answer(self, decisions: Decisions) -> None:
        """Asks each player once for all its rows, and plays the answers."""
        if len(decisions) == 0:
            return
        self.counters.decisions += len(decisions)
        self.counters.batches += 1
        action = np.empty(len(decisions), np.int32)
        for number, rows in self._rows_by_player(decisions):
            asked = decisions if isinstance(rows, slice) else decisions.take(rows)
            action[rows] = self._ask(number, asked)
        self._turn[decisions.match] = self._turn[decisions.match] + 1  # once, even if both seats act
        with self.counters.stages.time("arena"):
            try:
                self._arena.act(decisions, action)
            except IllegalAction as error:
                raise IllegalAction(f"player {self._who_broke_the_rules(decisions, action)}: {error}") from None

    def _who_broke_the_rules(self, decisions: Decisions, action: NDArray[np.int32]) -> str:
        """The name of the player whose action is the first that is not legal."""
        allowed = (action >= 0) & (action < self._arena.spec.actions)
        allowed[allowed] = decisions.legal[np.flatnonzero(allowed), action[allowed]]
        row = int(np.flatnonzero(~allowed)[0]) if not allowed.all() else 0
        return self._names[int(self._seated[decisions.match[row], decisions.seat[row]])]

    def _rows_by_player(self, decisions: Decisions) -> Iterator[tuple[int, NDArray[np.intp] | slice]]:
        """Each player that has rows, with the rows; if it is the only one, as a slice."""
        seated = self._seated[decisions.match, decisions.seat]
        asked = np.unique(seated).tolist()
        for number in asked:
            yield number, slice(None) if len(asked) == 1 else np.flatnonzero(seated == number)

    def _ask(self, number: int, decisions: Decisions) -> NDArray[np.int32]:
        """One player's actions, recorded if its episodes are wanted."""
        player, stages = self._players[number], self.counters.stages
        if not self._record[number]:
            with stages.time("players"):
                return self._checked(number, player.act(decisions), len(decisions)).action
        slots = decisions.slots(self._arena.spec)
        with stages.time("players"):
            # before it answers: weights that are swapped in meanwhile must not make an episode newer than it is
            version = player.version if isinstance(player, Versioned) else -1
            memory = self._memory_before(player, decisions, slots)
            answers = self._checked(number, player.act(decisions), len(decisions))
        with stages.time("record"):
            self._open.pay(slots, decisions.reward)
            self._truncate(slots, answers)
            self._open.append(slots, self._steps(decisions, answers), version=version, memory=memory)
        return answers.action

    def _checked(self, number: int, answers: Answers, rows: int) -> Answers:
        """`answers`, if it has one action for each row: players may be anybody's code."""
        action = getattr(answers, "action", None)
        if isinstance(action, np.ndarray) and action.shape == (rows,) and action.dtype.kind in "iu":
            return answers
        if isinstance(action, np.ndarray):
            gave = f"{action.dtype}{list(action.shape)}"
        else:
            gave = f"a {type(action).__name__}" if isinstance(answers, Answers) else type(answers).__name__
        raise InputError(
            f"player {self._names[number]}: act() must give Answers with int32[{rows}] actions, not {gave}"
        )

    def _memory_before(self, player: Player, decisions: Decisions, slots: NDArray[np.intp]) -> dict[str, Array] | None:
        """The player's memory before the rows that start a segment; None if no memory is stored."""
        if self._segment == 0 or not isinstance(player, Recurrent):
            return None
        length = self._open.length[slots]
        starts = (length % self._segment == 0) | ((length == self._truncate_after) & (self._truncate_after > 0))
        return player.memory(decisions.take(np.flatnonzero(starts)))

    def _truncate(self, slots: NDArray[np.intp], answers: Answers) -> None:
        """Hands over episodes that have reached `truncate_after` steps, bootstrapped with the value just answered."""
        if self._truncate_after == 0:
            return
        rows = np.flatnonzero(self._open.length[slots] == self._truncate_after)
        if len(rows):
            value = np.zeros(len(rows), np.float32) if answers.value is None else answers.value[rows]
            self._finish(slots[rows], outcome=np.zeros(len(rows), np.float32), last_value=value, complete=False)

    def _steps(self, decisions: Decisions, answers: Answers) -> Steps:
        """The rows to record; what the player does not answer is 0, and so is the reward, which is yet to come."""
        nothing: NDArray[np.float32] = np.broadcast_to(np.float32(0), len(decisions))
        if self._keep_policy and answers.policy is None:
            raise ValueError("this collector keeps policies, but a recorded player gives none")
        return Steps(
            observation=decisions.observation,
            legal=pack_mask(decisions.legal),
            action=answers.action,
            turn=self._turn[decisions.match],
            reward=nothing,
            log_prob=nothing if answers.log_prob is None else answers.log_prob,
            value=nothing if answers.value is None else answers.value,
            policy=answers.policy,
        )

    def _end_matches(self, results: Results) -> None:
        """Finishes the episodes of ended matches and seats the next ones."""
        seats = self._arena.spec.seats
        slots = results.match[:, None].astype(np.intp) * seats + np.arange(seats)
        kept = (self._open.length[slots] > 0) & ~results.failed[:, None]
        self._open.pay(slots[kept], results.reward[kept])
        nothing_left = np.zeros(int(kept.sum()), np.float32)
        self._finish(slots[kept], outcome=results.outcome[kept], last_value=nothing_left, complete=True)
        self._open.drop(slots.ravel())
        self._turn[results.match] = 0
        for player in self._players:
            if isinstance(player, Forgetting):
                player.forget(results.match)
        ended, failed = len(results), int(results.failed.sum())
        self._serial[results.match] = np.arange(self._next_serial, self._next_serial + ended)
        self._next_serial += ended
        self._seat(results.match)
        self.counters.matches += ended - failed
        self.counters.failed += failed

    def _seat(self, matches: NDArray[np.int32] | NDArray[np.int64]) -> None:
        """Seats the players of the arena's new `matches`, and tells the players and arenas that ask for it."""
        serials = self._serial[matches]
        self._seated[matches] = self._lineup(serials)
        for player in self._players:
            if isinstance(player, Numbered):
                player.begin(matches, serials)
        if self._naming is not None:
            seated = self._seated[matches].tolist()
            self._naming.name_seats(matches.tolist(), [[self._names[number] for number in seats] for seats in seated])

    def _finish(
        self, slots: NDArray[np.intp], *, outcome: NDArray[np.float32], last_value: NDArray[np.float32], complete: bool
    ) -> None:
        match, seat = np.divmod(slots, self._arena.spec.seats)
        self._open.finish(
            slots,
            serial=self._serial[match],
            player=self._seated[match, seat],
            outcome=outcome,
            last_value=last_value,
            complete=complete,
        )
