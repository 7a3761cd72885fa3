"""Bouts: pairs of matches between two entrants, each pair from one start with seats swapped.

A start is a number that stands for the opening, teams and chance of a match. Starts come in blocks, and a block is the
first matches of an arena's slots: two arenas with the same settings and seed begin the same matches in the same slots.
So all pairs of players meet in the same starts, and a match's start determines how it began.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.core import Followed, MatchRecord, Player, RandomPlayer, Results
from sparring.core.interrupts import ctrl_c_after
from sparring.league.entrants import Style, leaving
from sparring.league.keeping import Keeper
from sparring.league.ledger import Match, Seat
from sparring.league.rated import identity
from sparring.league.seating import Seating
from sparring.league.verdicts import judged
from sparring.rollout import Collector

BLOCK = 16
"""Starts per block: the matches that are played at the same time."""


@dataclass(frozen=True)
class Bout:
    """What two entrants are to play: starts from one block, by who sits first."""

    one: int
    """The number of an entrant."""
    other: int
    starts: tuple[tuple[int, ...], tuple[int, ...]]
    """Those in which `one` sits first, and those in which `other` does."""

    def __len__(self) -> int:
        return len(self.starts[0]) + len(self.starts[1])


@dataclass(frozen=True)
class Ended:
    """The result of a match."""

    start: int
    order: int
    """0 if `one` sat first."""
    points: float
    """Of `one`: 1, 0.5 or 0."""
    note: str = ""
    """Why a player forfeited, if one did."""


@dataclass
class Played:
    """The results of a bout."""

    bout: Bout
    ended: list[Ended] = field(default_factory=list)
    broken: list[tuple[int, int]] = field(default_factory=list)
    """(start, order) of matches that broke off."""
    seconds: float = 0.0

    @property
    def rest(self) -> Bout:
        """What is still to be played of the bout."""
        known = {*((one.start, one.order) for one in self.ended), *self.broken}
        one, other = (
            tuple(start for start in self.bout.starts[order] if (start, order) not in known) for order in (0, 1)
        )
        return Bout(self.bout.one, self.bout.other, (one, other))


class Series:
    """The ids of a tournament's matches, made of players, rules, seed and start, so that each is recognised."""

    def __init__(self, seating: Seating, style: Style, *, seed: int) -> None:
        self.identities = [identity(entrant, style) for entrant in seating.entrants]
        self.seed = seed
        self._game = seating.game.name
        settings: dict[str, Any] = msgspec.to_builtins(seating.settings)
        self.settings = settings

    def prefix(self, one: int, other: int) -> str:
        """The prefix of the ids of all matches between two entrants, however the entrants are numbered."""
        players = sorted(self.identities[number] for number in (one, other))
        facts = [self._game, self.settings, players, self.seed]
        return sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()[:24] + "-"

    @property
    def prefixes(self) -> list[str]:
        """The prefixes of the ids of all its matches."""
        return [self.prefix(*pair) for pair in combinations(range(len(self.identities)), 2)]

    def id(self, one: int, other: int, start: int, order: int) -> str:
        """The id of one match."""
        return f"{self.prefix(one, other)}{start}-{order ^ self._turned(one, other)}"

    def read(self, one: int, other: int, id: str) -> tuple[int, int] | None:
        """(start, order) of a match between two entrants, by its id."""
        _, start, order = id.split("-") if id.count("-") == 2 else ("", "", "")
        if not start.isdecimal() or order not in ("0", "1"):
            return None
        return int(start), int(order) ^ self._turned(one, other)

    def _turned(self, one: int, other: int) -> int:
        return int(self.identities[other] < self.identities[one])


class Table:
    """Where bouts are played: entrants are seated when they are first needed, and stay.

    `enter` gets matches as soon as they have ended, in the form of a ledger; a `keeper` is shown each.
    """

    def __init__(
        self,
        seating: Seating,
        style: Style,
        enter: Callable[[Sequence[Match]], object],
        *,
        seed: int,
        place: int = 0,
        keeper: Keeper | None = None,
    ) -> None:
        self._seating = seating
        self._style = style
        self._enter = enter
        self._series = Series(seating, style, seed=seed)
        self._place = place
        self._keeper = keeper
        self._seated: dict[int, Player] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets the players go; may be called twice."""
        self._seated.clear()
        self._stack.close()

    def seat(self, number: int, say: Callable[[str], None] = lambda text: None) -> Player:
        """The player of an entrant; raises `InputError` if it cannot play."""
        if number not in self._seated:
            seed = self._series.seed + 1_000_003 * self._place
            player = self._seating.player(number, matches=BLOCK, seed=seed, style=self._style, say=say)
            self._seated[number] = self._stack.enter_context(leaving(player))
        return self._seated[number]

    def play(self, bout: Bout, *, pulse: Callable[[int], None] = lambda ended: None) -> Played:
        """Plays a bout; `pulse` gets the number of ended matches before every wait, and may raise to stop."""
        played, began = Played(bout), time.perf_counter()
        with closing(self.waits(played)) as waits:
            for _ in waits:
                pulse(len(played.ended) + len(played.broken))
        played.seconds = time.perf_counter() - began
        return played

    def waits(self, played: Played) -> Generator[None]:
        """Plays the bout of `played` from its beginning and adds its results there; yields before every wait."""
        for order in (0, 1):
            if played.bout.starts[order]:
                yield from self._order_waits(played, order)

    def _order_waits(self, played: Played, order: int) -> Generator[None]:
        bout, seating = played.bout, self._seating
        starts = bout.starts[order]
        block = starts[0] // BLOCK
        slots = np.array([start % BLOCK for start in starts])
        matches = int(slots.max()) + 1
        sides = [bout.one, bout.other] if order == 0 else [bout.other, bout.one]
        players = {seating.entrants[number].name: self.seat(number) for number in sides}
        lineup = _lineup(slots, seating.spec.seats)
        before = len(played.ended) + len(played.broken)
        with ExitStack() as stack:
            arena = seating.game.arena(seating.settings, matches=matches, seed=block_seed(self._series.seed, block))
            stack.callback(arena.close)
            records: dict[int, MatchRecord] = {}
            if self._keeper is not None:
                assert isinstance(seating.game, Followed), "a keeper of a game that cannot be followed"
                seating.game.follow(arena, records.__setitem__)
            collector = Collector(arena, {**players, "": RandomPlayer(0)}, lineup)

            @ctrl_c_after()  # a match is entered whole
            def ended(serials: NDArray[np.int64], turns: NDArray[np.int32], results: Results) -> None:
                kept = []
                results, notes = judged(results, lineup(serials), players)
                for at, (serial, slot) in enumerate(zip(serials.tolist(), results.match.tolist(), strict=True)):
                    record = records.pop(slot, None)
                    if serial not in slots:
                        continue
                    start = block * BLOCK + serial
                    if results.failed[at]:
                        played.broken.append((start, order))
                        continue
                    outcome = results.outcome[at, :: seating.spec.seats // 2].tolist()
                    kept.append(self._match(bout, start, order, sides, outcome, int(turns[at]), notes[at]))
                    if self._keeper is not None and record is not None:
                        self._keeper.consider(kept[-1], record)
                    first = 0.5 + outcome[0] / 2
                    played.ended.append(Ended(start, order, first if order == 0 else 1 - first, notes[at]))
                self._enter(kept)

            wanted = before + len(starts)
            for _ in collector.waits(matches, ended):
                yield
                if len(played.ended) + len(played.broken) >= wanted:  # the remaining slots are not part of the bout
                    break

    def _match(
        self, bout: Bout, start: int, order: int, sides: list[int], outcome: list[float], turns: int, note: str
    ) -> Match:
        seats, series = self._seating.spec.seats, self._series
        block = seats // 2
        return Match(
            id=series.id(bout.one, bout.other, start, order),
            game=self._seating.game.name,
            settings=series.settings,
            team_set=str(series.settings.get("team_set", "")),
            opening=str(start),
            seats=tuple(
                Seat(
                    **msgspec.structs.asdict(series.identities[sides[seat // block]]),
                    team=seat // block,
                    outcome=outcome[seat // block],
                )
                for seat in range(seats)
            ),
            length=turns,
            seed=series.seed,
            time=time.time(),
            note=note,
        )


def block_seed(seed: int, block: int) -> int:
    """The seed of the arenas for a block's starts."""
    return int(np.random.SeedSequence([seed % 2**64, block]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _lineup(slots: NDArray[np.int64], seats: int) -> Callable[[NDArray[np.int64]], NDArray[np.int32]]:
    """Players 0 and 1 in the first matches of `slots`; player 2, who plays at random, in all others."""
    sides = np.repeat(np.array([0, 1], np.int32), seats // 2)

    def lineup(serials: NDArray[np.int64]) -> NDArray[np.int32]:
        return np.where(np.isin(serials, slots)[:, None], sides, np.int32(2)).astype(np.int32)

    return lineup
