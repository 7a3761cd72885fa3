"""Asking a player about a line of moves: what it would play next, and why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparring.core import Array, Decisions, InputError
from sparring.games.hex.arena import hex_spec
from sparring.games.hex.settings import HexSettings
from sparring.games.hex.text import COLOURS, Record, cell_name, mirrored, winning_chain


class Searcher(Protocol):
    """Looks ahead from rows, one simulation after the other (see `sparring.search.SearchPlayer`)."""

    def ponder(self, decisions: Decisions, rng: np.random.Generator) -> Iterator[None]:
        """Looks at the rows, one simulation further with each step."""
        ...

    def found(self, match: int) -> Any:
        """`action`, `value`, `policy` and `visits` of the one row of `match`, as pondering has left them."""
        ...

    def lines(self, match: int) -> Mapping[int, tuple[float, float, list[int]]]:
        """Value, prior and principal variation by action."""
        ...


@dataclass(frozen=True)
class Position:
    """Where a record ends, with a seat to move: whose turn it is, or whoever is asked about."""

    settings: HexSettings
    record: Record
    seat: int

    @property
    def winner(self) -> int | None:
        """The seat that has connected its edges, None while the match goes on."""
        size, stones = self.settings.size, self.record.stones()
        return next((seat for seat in (0, 1) if winning_chain(size, stones, seat)), None)

    @property
    def swap_open(self) -> bool:
        """Whether the seat may swap: one stone has been played, by the other, and none was set up."""
        return self.settings.swap and not self.record.setup and self.record.seats == (1 - self.seat,)

    def decisions(self) -> Decisions:
        """The one row of the seat, as an arena shows the position to it."""
        size, spec = self.settings.size, hex_spec(self.settings)
        board = np.array(self.record.stones(), np.uint8).reshape(size, size)
        board = board.T if self.seat == 1 else board
        planes = np.stack([board == 1 + self.seat, board == 2 - self.seat]).astype(np.uint8)
        legal = np.full((1, spec.actions), self.swap_open)
        legal[0, : size * size] = board.ravel() == 0 if self.winner is None else False
        observation: dict[str, Array] = {"planes": planes[None]}
        return Decisions(
            match=np.zeros(1, np.int32),
            seat=np.array([self.seat], np.int32),
            observation=observation,
            legal=legal,
            reward=np.zeros(1, np.float32),
            first=np.array([self.seat not in self.record.seats]),
        )

    def move(self, action: int) -> int:
        """The absolute move that the seat's action is."""
        return action if self.seat == 0 else mirrored(self.settings.size, action)

    def as_seen_by(self, seat: int) -> "Position":
        """The same position with `seat` to move."""
        return replace(self, seat=seat)

    def after(self, move: int) -> "Position":
        """The position after one more move of the seat; raises `InputError` if it is not allowed."""
        size, record = self.settings.size, self.record
        allowed = self.swap_open if move == size * size else not record.stones()[move]
        if not allowed:
            raise InputError(f"{COLOURS[self.seat]} cannot play {cell_name(size, move)} here")
        grown = replace(record, moves=(*record.moves, move), seats=(*record.seats, self.seat), to_move=None)
        return Position(self.settings, grown, 1 - self.seat)

    def undone(self) -> "Position":
        """The position before the last move; raises `InputError` if there is none."""
        if not self.record.moves:
            raise InputError("cannot undo: no move has been played")
        record = self.record.before(len(self.record.moves) - 1)
        return Position(self.settings, record, record.seat)


def position(settings: HexSettings, moves: Sequence[int]) -> Position:
    """The position after `moves` in turns from the empty board; raises `InputError` if one is not allowed."""
    here = Position(settings, Record(settings.size, ()), 0)
    for move in moves:
        here = here.after(move)
    return here


def analyse_record(
    record: Record,
    make_searcher: Callable[[HexSettings], Searcher],
    *,
    simulations: int,
    seed: int,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[dict[str, Any]]:
    """An analysis of every position of `record`, by the search that `make_searcher` makes for its board.

    Tells after each simulation how many are done, of how many in all.
    """
    settings = HexSettings(size=record.size, swap=record.size**2 in record.moves)
    searcher = make_searcher(settings)
    parts = [record.before(number) for number in range(len(record.moves) + 1)]
    positions = [Position(settings, part, part.seat) for part in parts]
    over = next((number for number, here in enumerate(positions) if here.winner is not None), len(positions))
    for number, here in enumerate(positions[:over]):
        for done, _ in enumerate(islice(searcher.ponder(here.decisions(), np.random.default_rng(seed)), simulations)):
            tell(number * simulations + done + 1, over * simulations)
        yield describe(here, searcher)


def describe(here: Position, searcher: Searcher) -> dict[str, Any]:
    """What `searcher` has found in a position so far; see `describe_search`."""
    found = searcher.found(0)
    return describe_search(
        here,
        action=int(found.action[0]),
        value=float(found.value[0]),
        policy=found.policy[0],
        visits=found.visits[0],
        lines=searcher.lines(0),
    )


def describe_search(
    here: Position,
    *,
    action: int,
    value: float,
    policy: NDArray[np.float32],
    visits: NDArray[np.int32],
    lines: Mapping[int, tuple[float, float, list[int]]],
) -> dict[str, Any]:
    """One analysis as plain data: moves by name, the best first, then by visits. Values and actions are the mover's.

    A candidate that was looked at has its own value, the network's `prior`, and its principal variation as `line`.
    """
    size, record = here.settings.size, here.record
    order = np.lexsort((-policy, -visits, np.arange(len(visits)) != action))
    shown = [int(a) for a in order if visits[a] or policy[a] >= 0.001]
    return {
        "ply": len(record.moves),
        "setup": {
            colour: [cell_name(size, cell) for owner, cell in record.setup if owner == seat]
            for seat, colour in enumerate(COLOURS)
        },
        "moves": [cell_name(size, move) for move in record.moves],
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


def _line(here: Position, value: float, prior: float, actions: Sequence[int]) -> dict[str, Any]:
    """A line of play from `here`: each action is in the frame of the seat that moves then."""
    size = here.settings.size
    moves = [a if (here.seat + ply) % 2 == 0 else mirrored(size, a) for ply, a in enumerate(actions)]
    return {"value": round(value, 4), "prior": round(prior, 4), "line": [cell_name(size, move) for move in moves]}
