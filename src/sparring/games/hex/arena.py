"""The Hex arena: all matches are rows of a few arrays; showing and playing them is one call each to a numba kernel."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from sparring.core import (
    Array,
    ClosingArena,
    Decisions,
    Field,
    GameSpec,
    Results,
    Stages,
    check_actions,
    check_argument,
    check_settings,
    illegal_action,
    no_row,
    nothing_to_wait_for,
)
from sparring.core.settings import Count, NonNegativeInt
from sparring.games.hex.rules import OUT, Rows, Rules, Slots, absolute, answer, begin, collect, is_legal
from sparring.games.hex.settings import HexSettings

EndListener = Callable[[int, list[int], int], None]
"""Told of every match that ended: its slot, its moves as `HexArena.history` gives them, and the seat that won."""


def hex_spec(settings: HexSettings) -> GameSpec:
    """What rows look like: `planes` are the stones of the mover, who connects top and bottom, and of the other."""
    check_settings(settings, HexSettings)
    size = settings.size
    return GameSpec(
        game="hex",
        settings={"size": size, "swap": settings.swap},
        seats=2,
        actions=size * size + settings.swap,
        observation={"planes": Field((2, size, size), "uint8", most=1)},
    )


class HexArena(ClosingArena):
    """`matches` matches of Hex at the same time. Rows come in slot order; a slot has one row, since seats alternate.

    A slot's opening depends only on the seed, the slot and how many matches it has played: two arenas with the same
    seed lay the same openings, whoever plays.
    """

    def __init__(self, settings: HexSettings, *, matches: int, seed: int) -> None:
        self.spec = hex_spec(settings)
        check_argument("matches", matches, Count)
        check_argument("seed", seed, NonNegativeInt)
        self.matches = matches
        self.opening = settings.opening
        """Random stones at the start of each match."""
        self.stages = Stages()
        cells = settings.size**2
        self._rules = Rules(settings.size, settings.swap, settings.opening)
        self._slots = Slots.empty(matches, cells, seed=seed)
        self._rows = Decisions(
            match=np.zeros(matches, np.int32),
            seat=np.zeros(matches, np.int32),
            observation={"planes": self.spec.observation["planes"].zeros(matches)},
            legal=np.zeros((matches, self.spec.actions), np.bool_),
            reward=np.zeros(matches, np.float32),
            first=np.zeros(matches, np.bool_),
        )
        self._buffers = Rows(
            match=self._rows.match,
            seat=self._rows.seat,
            planes=self._rows.observation["planes"].reshape(matches, 2, cells),
            legal=self._rows.legal,
            first=self._rows.first,
        )
        self._end_listeners: list[EndListener] = []
        begin(self._slots, self._rules)

    def wait(self) -> tuple[Decisions, Results]:
        """The row of every slot that is ready, and the matches that ended since the last call."""
        self._check_open()
        rows = self._rows
        with self.stages.time("encode"):  # the masks too: one kernel writes both
            k = collect(tuple(self._slots), self._rules.opening, tuple(self._buffers))
        with self.stages.time("env"):
            results = self._take_results()
        if k == self.matches:
            return rows, results
        if k == 0 and len(results) == 0:
            raise nothing_to_wait_for()
        return rows.take(slice(k)), results

    def act(self, decisions: Decisions, actions: NDArray[np.int32]) -> None:
        """Plays `actions: int32[k]`; if one is refused nothing is played."""
        self._check_open()
        check_actions(decisions, actions)
        with self.stages.time("env"):
            match = np.ascontiguousarray(decisions.match)
            seat = np.ascontiguousarray(decisions.seat)
            action = np.ascontiguousarray(actions, np.intp)
            told = int(self._slots.ended_count[0])
            before = [self.history(slot) for slot in match.tolist()] if self._end_listeners else []
            refused = answer(tuple(self._slots), tuple(self._rules), match, seat, action)
        if refused >= 0:
            raise self._refusal(int(match[refused]), int(seat[refused]), int(action[refused]))
        if before:
            self._tell_ended(told, before, match, seat, action)

    def listen(self, ended: EndListener) -> None:
        """Calls `ended` from now on."""
        self._end_listeners.append(ended)

    def history(self, match: int) -> list[int]:
        """The moves of the match that slot `match` is playing, the opening included; seats alternate from seat 0.

        Cells are row * size + column as seat 0 sees the board, whoever moved; size * size is the swap.
        """
        moves: list[int] = self._slots.history[match, : self._slots.moves[match]].tolist()
        return moves

    def snapshot(self) -> dict[str, Array]:
        """Every slot, its random stream, and results not yet told. Rows that are out stay out."""
        return {name: array.copy() for name, array in self._slots._asdict().items()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Goes back to `snapshot`, taken from an arena with the same settings and number of matches."""
        slots: dict[str, Array] = self._slots._asdict()
        for name, array in slots.items():
            if name not in snapshot or snapshot[name].shape != array.shape or snapshot[name].dtype != array.dtype:
                raise ValueError(f"snapshot lacks {name}: {array.dtype}{list(array.shape)}; is it of another arena?")
        for name, array in slots.items():
            array[...] = snapshot[name]

    def _tell_ended(
        self,
        told: int,
        before: list[list[int]],
        match: NDArray[np.int32],
        seat: NDArray[np.int32],
        action: NDArray[np.intp],
    ) -> None:
        """Tells of the matches that ended in this `act`, by the moves `before` it: their slots have begun others."""
        row = {slot: number for number, slot in enumerate(match.tolist())}
        for at in range(told, int(self._slots.ended_count[0])):
            slot = int(self._slots.ended[at])
            last = absolute(self._rules.size, int(action[row[slot]]), int(seat[row[slot]]))
            for listener in self._end_listeners:
                listener(slot, [*before[row[slot]], int(last)], int(self._slots.winner[at]))

    def _take_results(self) -> Results:
        slots = self._slots
        n = int(slots.ended_count[0])
        if n == 0:
            return Results.none(2)
        slots.ended_count[0] = 0
        outcome = np.full((n, 2), -1, np.float32)
        outcome[np.arange(n), slots.winner[:n]] = 1
        return Results(
            match=slots.ended[:n].copy(),
            outcome=outcome,
            reward=outcome.copy(),
            failed=np.zeros(n, np.bool_),
        )

    def _refusal(self, match: int, seat: int, action: int) -> Exception:
        slots = self._slots
        if not 0 <= match < self.matches or slots.status[match] != OUT or slots.seat[match] != seat:
            return no_row(match, seat)
        if is_legal(slots.state[match], action):  # so it is there twice
            return no_row(match, seat)
        legal = np.array([is_legal(slots.state[match], number) for number in range(self.spec.actions)])
        return illegal_action(f"match {match}, seat {seat}", action, legal)
