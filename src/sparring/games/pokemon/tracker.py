"""The battle tracker: reads Showdown protocol lines and requests, and keeps one side's view as an observation.

The same class reads the embedded simulator, a live server and the logs of human battles:

    tracker = Tracker(9, "p1")
    for line in lines:                 # as p1 sees them: of |split| pairs, its own
        tracker.line(line)
    tracker.request(request)           # the parsed |request|, after the lines that came with it
    tracker.write(rows, 3)             # row 3 of an ObservationRows: two copies, nothing is rebuilt
    tracker.offer                      # what the side may do, for masks and choices: see actions.offer

Nothing else reads requests. A spectator's log has none; the side's own team is then known as far as it was shown, and
whoever follows the log writes the offer.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparring.core import InputError
from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.actions import Names
from sparring.games.pokemon.columns import MOVES, SLOTS, TEAM
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.settings import PINNED
from sparring.games.pokemon.tracking import (
    effect_lines,
    field_lines,
    health_lines,
    move_lines,
    pokemon_lines,
    team_lines,
)
from sparring.games.pokemon.tracking.layout import PLACE_MOVE_IDS_START, SIDE_START
from sparring.games.pokemon.tracking.request import apply_request
from sparring.games.pokemon.tracking.tables import Tables
from sparring.games.pokemon.tracking.view import View

if TYPE_CHECKING:
    from sparring.games.pokemon.belief.seat import SeatBelief

_HANDLERS = {
    **team_lines.HANDLERS,
    **health_lines.HANDLERS,
    **pokemon_lines.HANDLERS,
    **move_lines.HANDLERS,
    **effect_lines.HANDLERS,
    **field_lines.HANDLERS,
}

NEWS: frozenset[str] = frozenset(
    (
        *("-center", "-combine", "-crit", "-hitcount", "-message", "-notarget", "-nothing", "-ohko"),
        *("-resisted", "-supereffective", "-waiting", "-zbroken", "-candynamax", "clearpoke"),
        *("gen", "tier", "rated", "rule", "player", "updatepoke", "request", "seed", "message", "debug", "error"),
        *("bigerror", "init", "deinit", "title", "raw", "html", "uhtml", "uhtmlchange", "t:", "inactive"),
        *("inactiveoff", "j", "J", "join", "l", "L", "leave", "n", "N", "name", "c", "c:", "chat", "unlink", "askreg"),
    )
)
"""Kinds of lines that change nothing a side sees of the battle: chat, timers, rules, comments."""


class Tracker:
    """One side's view of one battle."""

    def __init__(
        self, tables: int | str, side: str, *, showdown: str = PINNED, belief: "SeatBelief | None" = None
    ) -> None:
        """`tables` is a generation or `Format.tables`, in version `showdown`; `side` (`p1`, `p2`): whose view.

        `belief` reads the same lines, and its part of a row is written with the others.
        """
        if side not in ("p1", "p2"):
            raise InputError(f"there is no side {side!r} to track; allowed: p1, p2")
        self._view = View(tables, side, showdown)
        self._ids: NDArray[np.int16] = np.frombuffer(self._view.ids, np.int16)
        self._floats: NDArray[np.float32] = np.frombuffer(self._view.floats, np.float32)
        self._id_bytes = memoryview(self._view.ids).cast("B")
        self._float_bytes = memoryview(self._view.floats).cast("B")
        self._belief = belief

    def line(self, line: str) -> None:
        """Reads one protocol line. What it does not know or cannot make sense of is counted in `unknown`, no error."""
        self.lines((line,))

    def lines(self, lines: Iterable[str]) -> None:
        """Reads several lines."""
        self.split_lines([line.split("|") for line in lines])

    def split_lines(self, lines: Iterable[list[str]]) -> None:
        """Reads several lines that are split at `|` already."""
        view, handlers = self._view, _HANDLERS
        if self._belief is not None:
            lines = list(lines)
            self._belief.read(lines)
        for parts in lines:
            if len(parts) < 2:
                continue
            kind = parts[1]
            handler = handlers.get(kind)
            if handler is None:
                if kind and kind not in NEWS:
                    view.unknown[kind] += 1
                continue
            try:
                handler(view, parts)
            except (LookupError, ValueError, ArithmeticError):
                view.unknown[f"malformed {kind}"] += 1

    def request(self, request: dict[str, Any]) -> None:
        """Reads a parsed `|request|`: the own team exactly, and what may be done.

        Of a server's request, `requests.read_request` makes sure that it can be read.
        """
        apply_request(self._view, request)

    def own_team(self, team: Sequence[tuple[str, str]], *, known: "Tracker | None" = None) -> None:
        """Tells the name and details of the own Pokémon by team slot, where no request will: before the first line.

        `known` has read the same battle before: what it saw of the own sets is known from the start.
        """
        view = self._view
        for row, (name, details) in enumerate(team):
            if name:
                view.name_row(row, name)
            view.describe(row, details)
            if known is not None:
                known._view.tell_set(row, view)
        view.floats[SIDE_START[0] + c.SIDE_TEAM_SIZE] = len(team) / TEAM
        view.count_fainted(0, 0)

    def write(self, rows: ObservationRows, row: int) -> None:
        """Copies the view into a row."""
        rows.write(row, self._id_bytes, self._float_bytes)
        if self._belief is not None:
            self._belief.write(rows.fields, row, self._view.names)

    @property
    def ids(self) -> NDArray[np.int16]:
        """`int16[ID_COUNT]` the view as it is now, not a copy."""
        return self._ids

    @property
    def floats(self) -> NDArray[np.float32]:
        """`float32[FLOAT_COUNT]` the view as it is now, not a copy."""
        return self._floats

    @property
    def tables(self) -> Tables:
        """The dex of the battle's generation."""
        return self._view.tables

    @property
    def first_items(self) -> list[int]:
        """By row: the item it held as the battle began, 0 for none, negative where that has not shown."""
        return self._view.first_items

    @property
    def first_abilities(self) -> list[int]:
        """By row: the ability it had as the battle began; 0 where that has not shown."""
        return self._view.first_abilities

    @property
    def sheets(self) -> set[int]:
        """The rows whose moves a team sheet lists, in the Pokémon's own order."""
        return self._view.sheets

    @property
    def unknown(self) -> Counter[str]:
        """How often each line or effect came that nobody here knows."""
        return self._view.unknown

    @property
    def offer(self) -> bytearray:
        """`uint8[offer.WIDTH]` what the side may do as of the last request, not a copy; see `actions.offer`."""
        return self._view.offer

    @property
    def called(self) -> Names:
        """What the own Pokémon and the moves of those on the field are called now."""
        view, dex = self._view, self._view.tables.dex
        moves = [
            [dex.moves.ids[number] for number in view.ids[start : start + MOVES]]
            for start in PLACE_MOVE_IDS_START[:SLOTS]
        ]
        return Names(dex, view.names[:TEAM], moves)

    @property
    def names(self) -> list[str]:
        """The name of the Pokémon in each row, "" where none has shown itself."""
        return self._view.names

    @property
    def turn(self) -> int:
        """The turn, 0 before the first."""
        return self._view.turn

    @property
    def ended(self) -> bool:
        """The battle is over."""
        return self._view.ended

    @property
    def winner(self) -> str | None:
        """The name of the player who won, if one did."""
        return self._view.winner
