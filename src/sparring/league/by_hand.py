"""A person against a player, in the terminal."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    Arena,
    Array,
    Attending,
    Decisions,
    ForwardModel,
    InputError,
    Naming,
    Player,
    Results,
    Resumable,
    RunError,
    installed_games,
)
from sparring.core.by_hand import Course, Recording, Resigned, Seated, Showing, TakenBack
from sparring.core.files import write_file
from sparring.league.entrants import HUMAN, Style
from sparring.league.seating import Seating


def play_by_hand(
    seating: Seating,
    *,
    seat: int,
    seed: int,
    style: Style,
    save: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> float | None:
    """The person's outcome of one match in seat `seat` against the one entrant; None if they left before the end.

    The match is kept in the new file `save`.
    """
    game, spec = seating.game, seating.spec
    if HUMAN not in game.players:
        can = ", ".join(name for name, game in installed_games().items() if HUMAN in game.players)
        raise InputError(f"{game.name} cannot be played in the terminal; allowed: {can}")
    if seat >= spec.seats:
        raise InputError(f"--seat {seat}: {game.name} has seats 0 to {spec.seats - 1}")
    human = game.players[HUMAN](seating.settings, seed)
    if save is not None and not isinstance(human, Recording):
        raise InputError(f"--save: {game.name} has no game records")
    if save is not None and save.exists():
        raise InputError(f"--save {save}: exists already")
    with seating.seated(matches=1, seed=seed, style=style, say=say) as ((rival,), arena):
        course = Course(seat=seat, rival=seating.entrants[0].name, hint=rival.act)
        match = _Match(arena, game.model(spec), human, rival, course, slow=seating.entrants[0].is_network)
        if isinstance(human, Attending):
            human.attend(arena)
        if isinstance(arena, Naming):
            arena.name_seats([0], [["you" if number == seat else course.rival for number in range(spec.seats)]])
        if isinstance(human, Seated):
            human.sit(course)
        outcome: float | None = None
        if save is not None and isinstance(human, Recording):
            write_file(save, human.record(None).encode())  # fails before the first move if it cannot be written
        with suppress(EOFError, KeyboardInterrupt):
            outcome = match.play()
        if save is not None and isinstance(human, Recording):
            write_file(save, human.record(outcome).encode())
    return outcome


@dataclass
class _Match:
    """The one match of a fresh arena, in which moves can be taken back if the arena is `Resumable`."""

    arena: Arena
    model: ForwardModel | None
    human: Player
    rival: Player
    course: Course
    slow: bool
    """The rival's first answer takes long: it is a network."""
    earlier: list[tuple[Mapping[str, Array], Decisions, int]] = field(default_factory=list)
    """For each decision of the person: the arena, the rows and the number of moves before it."""

    def play(self) -> float:
        """The person's outcome."""
        rows, results = self._wait()
        self._warm_up(rows)
        while not len(results):
            try:
                actions = self._ask(rows)
            except TakenBack:
                rows = self._back()
                continue
            except Resigned:
                if isinstance(self.human, Showing):
                    self.human.show(rows, seat=self.course.seat)
                return -1.0
            self.course.moves += zip(rows.seat.tolist(), actions.tolist(), strict=True)
            answered = rows
            self.arena.act(rows, actions)
            rows, results = self._wait()
        if results.failed[0]:
            raise RunError(f"{self.arena.spec.game}: the match broke off")
        if self.model is not None and isinstance(self.human, Showing):
            self.human.show(_after(self.model, answered, actions), seat=self.course.seat)
        return float(results.outcome[0, self.course.seat])

    def _warm_up(self, rows: Decisions) -> None:
        """Compiles and loads what the first moves and the end need, before the person is asked anything."""
        if self.model is not None and isinstance(self.human, Showing):
            _after(self.model, rows, rows.legal.argmax(axis=1).astype(np.int32))
        if self.slow and (rows.seat == self.course.seat).all():
            self.course.hint(rows)

    def _wait(self) -> tuple[Decisions, Results]:
        """The arena's rows, copied: the match may go back to them later."""
        rows, results = self.arena.wait()
        return rows.take(np.arange(len(rows))), results

    def _ask(self, rows: Decisions) -> NDArray[np.int32]:
        """`int32[k]` everyone's actions; the person is asked last, as they may take their time, or a move back."""
        mine = rows.seat == self.course.seat
        actions = np.empty(len(rows), np.int32)
        if not mine.all():
            actions[~mine] = self.rival.act(rows.take(np.flatnonzero(~mine))).action
        if mine.any():
            self.course.undoable = len(self.earlier)
            actions[mine] = self.human.act(rows.take(np.flatnonzero(mine))).action
            if isinstance(self.arena, Resumable):
                self.earlier.append((self.arena.snapshot(), rows, len(self.course.moves)))
        return actions

    def _back(self) -> Decisions:
        """Goes back to the person's previous decision; returns its rows, which wait for an answer again."""
        snapshot, rows, moves = self.earlier.pop()
        assert isinstance(self.arena, Resumable)
        self.arena.restore(snapshot)
        del self.course.moves[moves:]
        return rows


def _after(model: ForwardModel, rows: Decisions, actions: NDArray[np.int32]) -> Decisions:
    """The positions after `actions: int32[k]`. The arena does not show the final one: it starts the next match."""
    states = model.apply(model.states(rows.observation, rows.legal), actions)
    return Decisions(
        match=rows.match,
        seat=1 - rows.seat,
        observation=model.encode(states),
        legal=model.legal(states),
        reward=np.zeros_like(rows.reward),
        first=np.zeros_like(rows.first),
    )
