"""The Pokémon arena: simulator processes, a tracker per seat, and rows for whoever must choose.

Nothing is in lock-step: `wait` takes whatever the processes have said, brings the trackers of those seats up to date
and hands out their rows; the other battles go on meanwhile.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    ClosingArena,
    Decisions,
    GameSpec,
    Helpers,
    IllegalAction,
    InputError,
    Results,
    Stages,
    check_actions,
    check_argument,
    check_rows,
    check_settings,
    illegal_action,
    nothing_to_wait_for,
)
from sparring.core.cache import cache_folder
from sparring.core.files import make_folder
from sparring.core.machine import cpu_seconds
from sparring.core.settings import Count, NonNegativeInt
from sparring.core.stages import Spent, clocks
from sparring.games.pokemon.actions import ActionSpace, action_space
from sparring.games.pokemon.actions.offer import WIDTH, named
from sparring.games.pokemon.belief.seat import Believing
from sparring.games.pokemon.damage import DAMAGE_FIELDS, DamageEstimate
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import Format, find_format
from sparring.games.pokemon.observation import BELIEF_FIELDS, RAW_FIELDS, ObservationRows
from sparring.games.pokemon.records import save_replay, save_text, with_names
from sparring.games.pokemon.rewards import Shaping
from sparring.games.pokemon.settings import PokemonSettings
from sparring.games.pokemon.simulator import SEAT_NAMES, Asked, Ended, Event, Failed, Refused, Simulator
from sparring.games.pokemon.teams import team_source
from sparring.games.pokemon.tracker import Tracker
from sparring.games.pokemon.vocabulary import dex_vocabulary

AskListener = Callable[[int, int, bool, str, dict[str, Any]], None]
"""Told of every row: match, seat, whether it is the seat's first, new protocol lines, and the request."""
EndListener = Callable[[int, tuple[str, str]], None]
"""Told of every match that ended: its number, and the protocol lines that each seat has not had yet."""

log = logging.getLogger(__name__)
ChoiceListener = Callable[[int, int, str], None]
"""Told of every choice: match, seat, and what Showdown is told."""
LogListener = Callable[[int, int, str], None]
"""Told of every match that ended: its number, the seat that won or -1, and the log that spectators see."""

SEATS = 2
_SIDES = ("p1", "p2")
_SIMULATOR = "env/simulator"
"""The stage in which the arena waits for the simulator's processes."""


def pokemon_spec(settings: PokemonSettings) -> GameSpec:
    """What rows look like under `settings`; raises `InputError` for a format that is not there."""
    check_settings(settings, PokemonSettings)
    format = find_format(settings.format, settings.showdown)
    return format_spec(format, observation=settings.observation, belief=settings.belief, showdown=settings.showdown)


def format_spec(format: Format, *, observation: str, belief: bool, showdown: str) -> GameSpec:
    """What rows of `format` look like."""
    settings = {"format": format.id, "observation": observation, "showdown": showdown}
    return GameSpec(
        game="pokemon",
        settings=settings | ({"belief": True} if belief else {}),
        seats=SEATS,
        actions=action_space(format).actions,
        observation={
            **RAW_FIELDS,
            **(DAMAGE_FIELDS if observation == "full" else {}),
            **(BELIEF_FIELDS if belief else {}),
        },
        vocabulary=dex_vocabulary(load_dex(format.tables, format.showdown), belief=belief),
    )


class PokemonArena(ClosingArena):
    """Battles of one format; see `sparring.core.Arena`."""

    def __init__(self, settings: PokemonSettings, *, matches: int, seed: int) -> None:
        self._spec = pokemon_spec(settings)
        check_argument("matches", matches, Count)
        check_argument("seed", seed, NonNegativeInt)
        self._settings = settings
        self._matches = matches
        self.stages = Stages()
        self._format: Format = find_format(settings.format, settings.showdown)
        if settings.open_team_sheets and not self._format.open_team_sheets:
            raise InputError(f"open_team_sheets: {self._format.id} has no open team sheets")
        if settings.replays:
            make_folder(Path(settings.replays))
        self._actions: ActionSpace = action_space(self._format)
        self._rng = np.random.default_rng(seed)
        self._teams = team_source(self._format, settings.team_set)
        self._simulator = Simulator(processes=settings.simulators, showdown=settings.showdown)
        self._rows = ObservationRows(matches * SEATS, belief=settings.belief)
        self._believing = Believing(self._format) if settings.belief else None
        self._estimate = DamageEstimate(self._format) if settings.observation == "full" else None
        self._damage = {name: field.zeros(matches * SEATS) for name, field in DAMAGE_FIELDS.items()}
        self._legal = np.zeros((matches, SEATS, self._spec.actions), np.bool_)
        """The mask of each seat's last row."""
        self._shaping = Shaping(settings, team_size=self._format.picked_team_size, matches=matches)
        self._seats: list[tuple[_Seat, _Seat]] = []
        self._asked = np.zeros((matches, SEATS), np.bool_)
        """Which seats' rows were handed out and have no action yet."""
        self._stale = np.zeros((matches, SEATS), np.int32)
        """Rows of failed matches that are still to be answered, by seat: their answers mean nothing."""
        self._any_stale = False
        self._battle = [-1] * matches
        self._slot: dict[int, int] = {}
        self._names: list[Sequence[str]] = [SEAT_NAMES] * matches
        self._started = 0
        self._least, self._patience = 1, 0.0
        self.failures: deque[str] = deque(maxlen=100)
        """Why matches failed, the latest last."""
        self.unknown_lines: Counter[str] = Counter()
        """Protocol lines of ended matches that the trackers do not know or cannot make sense of, by kind."""
        self._reported_lines = 0
        self._ask_listeners: list[AskListener] = []
        self._end_listeners: list[EndListener] = []
        self._choice_listeners: list[ChoiceListener] = []
        self._log_listeners: list[LogListener] = []
        for slot in range(matches):
            self._seats.append(self._new_seats(slot))
            self._start(slot)
        self._simulator.flush()

    @property
    def spec(self) -> GameSpec:
        """What the rows look like."""
        return self._spec

    @property
    def matches(self) -> int:
        """How many battles are played at the same time."""
        return self._matches

    @property
    def simulator(self) -> Simulator:
        """The processes, for memory figures and for tests."""
        return self._simulator

    def wait(self) -> tuple[Decisions, Results]:
        """Rows of the seats that must choose and results of battles that ended, whatever is ready."""
        self._check_open()
        rows: list[_Seat] = []
        ended: list[tuple[int, int, bool]] = []
        ready, is_ready, deadline = 0, SeatState.READY, 0.0
        while not ended and (not ready or self._gathers(len(rows), deadline)):
            events = self._events(max(0.0, deadline - time.monotonic()) if ready else inf)
            if not (events or ready):
                raise nothing_to_wait_for()
            began = clocks()
            for event in events:
                slot = self._slot.get(event.battle)
                if slot is None:
                    continue
                if type(event) is Asked:
                    seat = self._seats[slot][event.side]
                    tracker = seat.tracker
                    tracker.lines(event.lines.split("\n"))
                    tracker.request(event.request)
                    tracker.write(self._rows, len(rows))
                    rows.append(seat)
                    seat.state = is_ready
                    ready += 1
                    for told in self._ask_listeners:
                        told(slot, event.side, seat.rows == 0, event.lines, event.request)
                elif type(event) is Ended:
                    self._save_replay(event, self._names[slot])
                    for told_of_end in self._end_listeners:
                        told_of_end(slot, event.lines)
                    for told_of_log in self._log_listeners:
                        told_of_log(slot, event.winner, with_names(event.log, self._names[slot]))
                    ended.append((slot, event.winner, False))
                    self._start(slot)
                elif type(event) is Failed:
                    ready -= sum(seat.state is is_ready for seat in self._seats[slot])
                    if self._fail(slot, event):
                        ended.append((slot, -1, True))
                    self._start(slot)
                    deadline = time.monotonic()  # its rows are void: gather no others in their place
                elif type(event) is Refused:
                    raise IllegalAction(self._refusal(event))
            self.stages.add("encode/track", clocks() - began)
            if rows and not deadline:
                deadline = time.monotonic() + self._patience
        if ended:
            self._simulator.flush()
        results = self._results(ended)
        return self._decisions(rows), results

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Sends the rows' choices to their battles."""
        self._check_open()
        check_actions(decisions, actions)
        match, seat = decisions.match, decisions.seat
        if self._any_stale:
            fresh = self._stale.take(decisions.slots(self._spec), mode="clip") == 0
            void = match[~fresh], seat[~fresh]
            match, seat, actions = match[fresh], seat[fresh], actions[fresh]
        check_rows(match, seat, self._asked)
        inside = (actions >= 0) & (actions < self._spec.actions)
        legal = inside & self._legal[match, seat, np.where(inside, actions, 0)]
        if not legal.all():
            row = int(np.flatnonzero(~legal)[0])
            action = int(actions[row])
            said = f"{action} ({self._actions.describe(action)})" if inside[row] else action
            raise illegal_action(f"match {match[row]}, seat {seat[row]}", said, self._legal[match[row], seat[row]])
        if self._any_stale:
            self._stale[void] -= 1
            self._any_stale = bool(self._stale.any())
        self._asked[match, seat] = False
        choice, choose, battles, seats = self._actions.choice, self._simulator.choose, self._battle, self._seats
        with self.stages.time("env/choice"):
            for slot, side, action in zip(match.tolist(), seat.tolist(), actions.tolist(), strict=True):
                text = choice(seats[slot][side].tracker.offer, action)
                choose(battles[slot], side, text)
                for told in self._choice_listeners:
                    told(slot, side, text)
            self._simulator.flush()

    def gather(self, rows: int, seconds: float) -> None:
        """See `sparring.core.Gathering`; the end of a battle is never waited past."""
        self._least, self._patience = rows, seconds

    def helpers(self) -> Helpers:
        """The simulator's processes, as far as the system says how busy they are."""
        spent = [cpu_seconds(pid) for pid in self._simulator.pids]
        busy = {_SIMULATOR: sum(seconds for seconds in spent if seconds is not None)} if None not in spent else {}
        return Helpers(len(spent), busy, waits=_SIMULATOR, setting="settings.simulators")

    def name_seats(self, matches: Sequence[int], names: Sequence[Sequence[str]]) -> None:
        """See `sparring.core.Naming`; replays say who played."""
        for match, seats in zip(matches, names, strict=True):
            self._names[match] = seats

    def listen(self, asked: AskListener, ended: EndListener | None = None) -> None:
        """Calls `asked` and `ended` from now on: for players that keep a battle of their own or tell it to a person."""
        self._ask_listeners.append(asked)
        if ended is not None:
            self._end_listeners.append(ended)
            for battle in self._slot:
                self._simulator.tell_end(battle)

    def record(self, asked: AskListener, chosen: ChoiceListener, logged: LogListener) -> None:
        """Calls these from now on, for whoever keeps battles whole; before the first `wait`."""
        self._ask_listeners.append(asked)
        self._choice_listeners.append(chosen)
        self.keep_logs(logged)

    def keep_logs(self, logged: LogListener) -> None:
        """Calls `logged` from now on, for battles in play too."""
        self._log_listeners.append(logged)
        for battle in self._slot:
            self._simulator.send_log(battle)
        self._simulator.flush()

    def tracker(self, match: int, seat: int) -> Tracker:
        """What a seat knows and is offered: for players that see more than their rows, to read and not to write."""
        return self._seats[match][seat].tracker

    def report(self) -> dict[str, float]:
        """Since the last call: what was paid by component, and how many protocol lines nobody here knows."""
        lines = self.unknown_lines.total()
        unknown, self._reported_lines = lines - self._reported_lines, lines
        return self._shaping.report() | {"unknown_lines": float(unknown)}

    def close(self) -> None:
        """Ends all processes; may be called twice."""
        super().close()
        self._simulator.close()
        self._teams.close()

    def _events(self, timeout: float) -> list[Event]:
        """What the simulator says, if it owes anything; waiting for it, and reading it, are stages of their own."""
        began, waited = clocks(), self._simulator.waited
        events = self._simulator.wait(timeout)
        blocked = Spent(self._simulator.waited - waited, 0.0)
        self.stages.add(_SIMULATOR, blocked)
        self.stages.add("env/pipe", clocks() - began - blocked)
        return events

    def _gathers(self, rows: int, deadline: float) -> bool:
        """Whether to wait for more than these rows: too few, time left, and a simulator that still works."""
        return rows < self._least and self._simulator.owes and time.monotonic() < deadline

    def _new_seats(self, slot: int) -> tuple["_Seat", "_Seat"]:
        return _Seat(slot, 0, self._format, self._believing), _Seat(slot, 1, self._format, self._believing)

    def _start(self, slot: int) -> None:
        """Starts the next match of a slot."""
        battle = self._started
        self._started += 1
        self._slot.pop(self._battle[slot], None)
        self._slot[battle] = slot
        self._battle[slot] = battle
        for seat in self._seats[slot]:
            for kind, times in seat.tracker.unknown.items():
                if kind not in self.unknown_lines:
                    log.warning("%s: protocol lines that nobody here knows: %s", self._format.id, kind)
                self.unknown_lines[kind] += times
        self._seats[slot] = self._new_seats(slot)
        self._simulator.start(
            battle,
            format=self._format.id,
            seed=int(self._rng.integers(2**64, dtype=np.uint64)),
            teams=self._teams.draw(self._rng),
            log=bool(self._log_listeners) or self._keeps_replay(battle),
            tell_end=bool(self._end_listeners),
            open_sheets=self._settings.open_team_sheets,
            spacers=self._believing is not None,
        )

    def _fail(self, slot: int, event: Failed) -> bool:
        """Notes a failure; true if a seat had a row, so that the match must be reported."""
        self.failures.append(event.reason)
        if event.log:
            save_text(log_folder() / f"failed-{self._format.id}-{time.time_ns()}.log", f"{event.log}\n{event.reason}\n")
        for side, seat in enumerate(self._seats[slot]):
            if self._asked[slot, side]:
                self._asked[slot, side] = False
                self._stale[slot, side] += 1
                self._any_stale = True
            seat.state = SeatState.FAILED
        return any(seat.rows for seat in self._seats[slot])

    def _decisions(self, rows: "list[_Seat]") -> Decisions:
        """Hands out the rows, but for those of matches that failed meanwhile."""
        ready, watching = SeatState.READY, SeatState.WATCHING
        seats = [seat for seat in rows if seat.state is ready]
        match = np.array([seat.match for seat in seats], np.int32)
        side = np.array([seat.side for seat in seats], np.int32)
        first = np.array([seat.rows == 0 for seat in seats], np.bool_)
        observation = self._rows.first(len(rows))
        if self._estimate is not None:
            with self.stages.time("encode/damage"):
                self._estimate.write(observation, self._damage)
            observation |= {name: field[: len(rows)] for name, field in self._damage.items()}
        if len(seats) < len(rows):
            left = np.array([index for index, seat in enumerate(rows) if seat.state is ready], np.intp)
            observation = {name: field[left] for name, field in observation.items()}
        with self.stages.time("mask"):
            offers = np.frombuffer(b"".join([seat.tracker.offer for seat in seats]), np.uint8).reshape(-1, WIDTH)
            legal = self._legal[match, side] = self._actions.mask(offers)
        with self.stages.time("reward"):
            reward = self._shaping.reward(match, side, first, observation)
        for seat in seats:
            seat.rows += 1
            seat.state = watching
        self._asked[match, side] = True
        return Decisions(
            match=match,
            seat=side,
            observation=observation,
            legal=legal,
            reward=reward,
            first=first,
        )

    def _results(self, ended: list[tuple[int, int, bool]]) -> Results:
        if not ended:
            return Results.none(SEATS)
        match = np.array([slot for slot, _, _ in ended], np.int32)
        winner = np.array([winner for _, winner, _ in ended], np.int32)
        failed = np.array([failed for _, _, failed in ended], np.bool_)
        outcome = np.where(winner[:, None] == np.arange(SEATS), 1.0, -1.0).astype(np.float32)
        outcome[winner < 0] = 0.0
        reward = self._shaping.settle(match, outcome, failed)
        return Results(match=match, outcome=outcome, reward=reward, failed=failed)

    def _keeps_replay(self, battle: int) -> bool:
        return bool(self._settings.replays) and battle % self._settings.replay_every == 0

    def _save_replay(self, event: Ended, names: Sequence[str]) -> None:
        if event.log and self._keeps_replay(event.battle):
            name = f"{self._format.id}-{event.battle:07d}"
            save_replay(Path(self._settings.replays), name, with_names(event.log, names))

    def _refusal(self, event: Refused) -> str:
        path = log_folder() / f"refused-{self._format.id}-{time.time_ns()}.log"
        offer = named(self.tracker(self._slot[event.battle], event.side).offer)
        save_text(path, f"{event.log}\n{offer.dtype.names} {offer[0]}\n{_SIDES[event.side]}: {event.reason}\n")
        return f"Showdown refused {event.reason!r} of seat {event.side} in {self._format.id}; the log is in {path}"


class SeatState(Enum):
    """Where a seat of a match stands between its battle and its player."""

    WATCHING = auto()
    """Nothing is asked of it, or its row was handed out."""
    READY = auto()
    """Its row is written and not handed out yet."""
    FAILED = auto()
    """Its match broke off: a row of it is worth nothing any more, nor is the answer."""


class _Seat:
    """What the arena keeps of one seat of one match."""

    __slots__ = ("match", "rows", "side", "state", "tracker")

    def __init__(self, match: int, side: int, format: Format, believing: Believing | None) -> None:
        self.match = match
        self.side = side
        belief = None if believing is None else believing.seat(side)
        self.tracker = Tracker(format.tables, _SIDES[side], showdown=format.showdown, belief=belief)
        self.rows = 0
        """Rows handed out so far."""
        self.state = SeatState.WATCHING


def log_folder() -> Path:
    """Where the logs of refused and failed battles go."""
    return cache_folder() / "pokemon" / "logs"
