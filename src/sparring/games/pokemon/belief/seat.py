"""The posterior as an observation group: what anyone who watches can tell of each Pokémon, in a seat's own order.

Of the foes it is what they probably have; of the own team what the foe may believe of it. It follows from public lines
alone, so that a battle gives the same numbers to the seat that plays it and to whoever reads its log. What a seat is
told more exactly, the HP of its own Pokémon, is rounded as spectators are told it.
"""

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from sparring.core.rows import Array
from sparring.games.pokemon.belief.beliefs import Beliefs
from sparring.games.pokemon.belief.posterior import Posterior
from sparring.games.pokemon.belief.sources import format_pool
from sparring.games.pokemon.belief.weighing import Weighing
from sparring.games.pokemon.columns import (
    BELIEVED_ABILITIES,
    BELIEVED_ITEMS,
    BELIEVED_MOVES,
    BELIEVED_TERAS,
    POKEMON,
    STAT_SCALE,
    TEAM,
    BeliefColumn,
)
from sparring.games.pokemon.dex import STATS
from sparring.games.pokemon.formats import Format
from sparring.games.pokemon.observation import BELIEVED

_CONDITIONS = {"switch": 4, "drag": 4, "-damage": 3, "-heal": 3, "-sethp": 3}
"""Where lines say how a Pokémon is."""
_PERCENT_FROM = 7
"""From this generation on HP are shown in percent, whatever the rules say."""
_PIXELS = 48


class Believing:
    """What the beliefs of all battles of a format start from."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._pool = format_pool(format)
        self._weighing = Weighing(format)

    def rows(self) -> "BeliefRows":
        """The group of a new battle, of which a spectator's lines are read."""
        return BeliefRows(Beliefs(self._format, self._pool, weighing=self._weighing))

    def seat(self, side: int) -> "SeatBelief":
        """The group of a seat in a new battle."""
        return SeatBelief(self.rows(), side, percent=self._format.generation >= _PERCENT_FROM)


class BeliefRows:
    """Writes the group from a battle's beliefs; a Pokémon of which nothing new has shown is not worked out again."""

    def __init__(self, beliefs: Beliefs) -> None:
        self._beliefs = beliefs
        self._written: list[Posterior | None] = [None] * POKEMON
        # One row more, which stays empty, for Pokémon that nobody has seen.
        self._ids: NDArray[np.int16] = np.zeros((POKEMON + 1, BELIEVED), np.int16)
        self._shares: NDArray[np.float32] = np.zeros((POKEMON + 1, BELIEVED), np.float32)
        self._columns: NDArray[np.float32] = np.zeros((POKEMON + 1, len(BeliefColumn)), np.float32)

    def read(self, lines: Sequence[list[str]]) -> None:
        """Reads lines as spectators are told them, split at `|`."""
        self._beliefs.read(lines)

    def write(self, fields: Mapping[str, Array], row: int, names: Sequence[str], side: int) -> None:
        """Writes row `row` of `BELIEF_FIELDS` as side 0 or 1 sees it, whose tracker calls the Pokémon `names`."""
        for at in range(POKEMON):
            found = self._beliefs.of(at)
            if found is not self._written[at]:
                self._written[at] = found
                self._ids[at], self._shares[at], self._columns[at] = 0, 0.0, 0.0
                if found is not None:
                    _fill(found, self._ids[at], self._shares[at], self._columns[at])
        order = self._order(names, side)
        fields["belief_ids"][row] = self._ids[order]
        fields["belief_shares"][row] = self._shares[order]
        fields["belief"][row] = self._columns[order]

    def _order(self, names: Sequence[str], side: int) -> list[int]:
        """By row of the seat: the spectator's. Whom the preview shows and nobody has named has one place in both."""
        watched, order = self._beliefs.watcher.tracker.names, []
        for row, name in enumerate(names):
            first = (row // TEAM ^ side) * TEAM
            team = watched[first : first + TEAM]
            if name and name in team:
                order.append(first + team.index(name))
            else:
                order.append(POKEMON if team[row % TEAM] else first + row % TEAM)
        return order


class SeatBelief:
    """The group of one seat of one battle; a tracker carries it."""

    def __init__(self, rows: BeliefRows, side: int, *, percent: bool) -> None:
        """`percent`: whether spectators are told HP in percent, unless a rule says otherwise."""
        self._rows = rows
        self._side = side
        self._own = f"p{side + 1}"
        self._percent = percent
        self._exact = False

    def read(self, lines: Sequence[list[str]]) -> None:
        """Reads lines as the seat is told them, split at `|`."""
        self._rows.read([self._public(parts) for parts in lines])

    def write(self, fields: Mapping[str, Array], row: int, names: Sequence[str]) -> None:
        """Writes row `row` of `BELIEF_FIELDS`; `names` are those of the seat's tracker."""
        self._rows.write(fields, row, names, self._side)

    def _public(self, parts: list[str]) -> list[str]:
        """A line as spectators are told it."""
        kind = parts[1] if len(parts) > 1 else ""
        at = _CONDITIONS.get(kind)
        if at is None:
            if kind == "rule" and len(parts) > 2:
                self._percent |= parts[2].startswith("HP Percentage Mod")
                self._exact |= parts[2].startswith("Exact HP Mod")
            return parts
        if self._exact or len(parts) <= at or parts[2][:2] != self._own:
            return parts
        return [*parts[:at], public_condition(parts[at], percent=self._percent), *parts[at + 1 :]]


def public_condition(text: str, *, percent: bool) -> str:
    """`231/301 par`, which its owner is told, as everyone is: `77/100 par`, or in 48ths."""
    health, blank, status = text.partition(" ")
    left, slash, most = health.partition("/")
    if not slash or not left.isdecimal() or not most.isdecimal() or not int(left) or not int(most):
        return text
    share = int(left) / int(most)
    if percent:
        shown = f"{min(ceil(share * 100), 100 if share >= 1.0 else 99)}/100"
    else:
        pixels = int(share * _PIXELS) or 1
        colour = "y" if pixels == 9 and share > 0.2 else "g" if pixels == 24 and share > 0.5 else ""
        shown = f"{pixels}/{_PIXELS}{colour}"
    return shown + blank + status


def _fill(found: Posterior, ids: NDArray[np.int16], shares: NDArray[np.float32], columns: NDArray[np.float32]) -> None:
    """One Pokémon's part of the group."""
    start = 0
    for guesses, count in (
        (found.moves(), BELIEVED_MOVES),
        (found.items(), BELIEVED_ITEMS),
        (found.abilities(), BELIEVED_ABILITIES),
        (found.teras(), BELIEVED_TERAS),
    ):
        likeliest = list(guesses.items())[:count]
        ids[start : start + len(likeliest)] = [number for number, _ in likeliest]
        shares[start : start + len(likeliest)] = [share for _, share in likeliest]
        start += count
    columns[BeliefColumn.OTHER] = found.other
    total = found.weights.sum()
    if total > 0.0:
        weights, stats = found.weights / total, found.candidates.stats
        mean = weights @ stats
        columns[: len(STATS)] = mean / STAT_SCALE
        columns[BeliefColumn.SPEED_SPREAD] = np.sqrt(weights @ (stats[:, -1] - mean[-1]) ** 2) / STAT_SCALE
