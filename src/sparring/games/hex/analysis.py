"""Asking a player about a line of moves: what it would play next, and why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Decisions, IllegalAction, InputError
from sparring.games.hex.arena import hex_spec
from sparring.games.hex.model import HexModel
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import COLOURS, Record, cell_name, mirrored


class Searcher(Protocol):
    """Looks ahead from rows (see `sparring.search.SearchPlayer`)."""

    def look(self, decisions: Decisions, rng: np.random.Generator) -> Any:
        """`action`, `value`, `policy` and `visits` of each row."""
        ...

    def lines(self, match: int) -> Mapping[int, tuple[float, list[int]]]:
        """Value and principal variation by action, of what was looked at last."""
        ...


@dataclass(frozen=True)
class Position:
    """A position that moves lead to, as a row for a player and in the absolute frame for people."""

    settings: HexSettings
    moves: tuple[int, ...]
    state: NDArray[np.uint8]
    """`uint8[1, cells + 1]`"""

    @property
    def seat(self) -> int:
        """Who must move."""
        return len(self.moves) % 2

    @property
    def winner(self) -> int | None:
        """The seat that has connected its edges, None while the match goes on."""
        over = HexModel(hex_spec(self.settings)).outcome(self.state)[0][0]
        return 1 - self.seat if over else None

    def decisions(self) -> Decisions:
        """The one row of the seat to move."""
        model = HexModel(hex_spec(self.settings))
        observation: dict[str, Array] = model.encode(self.state)
        return Decisions(
            match=np.zeros(1, np.int32),
            seat=np.array([self.seat], np.int32),
            observation=observation,
            legal=model.legal(self.state),
            reward=np.zeros(1, np.float32),
            first=np.array([len(self.moves) < 2]),
        )

    def move(self, action: int) -> int:
        """The absolute move that the seat's action is."""
        return action if self.seat == 0 else mirrored(self.settings.size, action)

    def after(self, move: int) -> "Position":
        """The position after one more move; raises `InputError` if it is not allowed."""
        model = HexModel(hex_spec(self.settings))
        size = self.settings.size
        action = move if self.seat == 0 else mirrored(size, move)
        try:
            state = model.apply(self.state, np.array([action], np.int32))
        except IllegalAction:
            raise InputError(f"{COLOURS[self.seat]} cannot play {cell_name(size, move)} here") from None
        return Position(self.settings, (*self.moves, move), state)


def position(settings: HexSettings, moves: Sequence[int]) -> Position:
    """The position after `moves` from the empty board."""
    spec = hex_spec(settings)
    empty = {"planes": np.zeros((1, 2, settings.size, settings.size), np.uint8)}
    state = HexModel(spec).states(empty, np.zeros((1, spec.actions), np.bool_))
    here = Position(settings, (), state)
    for move in moves:
        here = here.after(move)
    return here


def analyse_record(
    record: Record, make_searcher: Callable[[HexSettings], Searcher], *, seed: int
) -> Iterator[dict[str, Any]]:
    """An analysis of every position of `record`, by the search that `make_searcher` makes for its board."""
    settings = HexSettings(size=record.size, swap=record.size**2 in record.moves)
    searcher = make_searcher(settings)
    here = position(settings, ())
    for move in [*record.moves, None]:
        if here.winner is not None:
            break
        found = searcher.look(here.decisions(), np.random.default_rng(seed))
        yield describe_search(
            here,
            action=int(found.action[0]),
            value=float(found.value[0]),
            policy=found.policy[0],
            visits=found.visits[0],
            lines=searcher.lines(0),
        )
        if move is not None:
            here = here.after(move)


def describe_search(
    here: Position,
    *,
    action: int,
    value: float,
    policy: NDArray[np.float32],
    visits: NDArray[np.int32],
    lines: Mapping[int, tuple[float, list[int]]],
) -> dict[str, Any]:
    """One analysis as plain data: moves by name, best first. Values and actions are the mover's.

    A candidate that was looked at has its own value, and its principal variation as `line`.
    """
    size = here.settings.size
    order = np.lexsort((-policy, -visits))
    shown = [int(a) for a in order if visits[a] or policy[a] >= 0.001]
    return {
        "ply": len(here.moves),
        "moves": [cell_name(size, move) for move in here.moves],
        "to_move": COLOURS[here.seat],
        "best": cell_name(size, here.move(action)),
        "value": round(float(value), 4),
        "candidates": [
            {
                "move": cell_name(size, here.move(a)),
                "policy": round(float(policy[a]), 4),
                "visits": int(visits[a]),
                **(_line(here, *lines[a]) if a in lines else {}),
            }
            for a in shown
        ],
    }


def _line(here: Position, value: float, actions: Sequence[int]) -> dict[str, Any]:
    """A line of play from `here`: each action is in the frame of the seat that moves then."""
    size = here.settings.size
    moves = [a if (here.seat + ply) % 2 == 0 else mirrored(size, a) for ply, a in enumerate(actions)]
    return {"value": round(value, 4), "line": [cell_name(size, move) for move in moves]}
