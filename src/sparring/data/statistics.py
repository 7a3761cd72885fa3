"""Counts of what is in episode stores: sizes, results, ratings, dates, actions, and what the game has names for."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from sparring.core import Episodes, GameSpec, InputError, load_game
from sparring.core.episodes import unpack_mask
from sparring.core.versions import lasting_settings
from sparring.core.words import Worded, Words
from sparring.data.catalogue import find_stores
from sparring.rollout.store import read_episodes

RATING_STEP = 100
"""Rating points per bar of the histogram."""
END_OF_CALENDAR = 253_402_300_800
"""The year 10,000 in seconds since 1970: anything later is not a date."""
_MOST_YEARS = 20
_BARS = 20
_TOP = 20


def words_for(spec: GameSpec, say: Callable[[str], None]) -> Words | None:
    """The game's words for episodes of `spec`; None if it has none, or is not set up, which `say` reports."""
    try:
        game = load_game(spec.game)
        return game.words(spec) if isinstance(game, Worded) else None
    except InputError as error:
        say(f"without words for what is in the episodes: {error}")
        return None


def store_statistics(paths: Sequence[Path | str], *, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Counts of all episodes in the stores at `paths`, separately for each spec; JSON-ready.

    Files are read one after the other; a damaged one raises `InputError`.
    """
    stores = find_stores(paths)
    found: list[_Counts] = []
    for store in stores:
        for episodes in read_episodes(store, say=say):
            own = next((counts for counts in found if counts.spec == episodes.spec), None)
            if own is None:
                own = _Counts(episodes.spec, words_for(episodes.spec, say))
                found.append(own)
            own.add(episodes)
    return {"stores": [str(store) for store in stores], "specs": [counts.to_json() for counts in found]}


@dataclass
class _Counts:
    """The counts of one spec."""

    spec: GameSpec
    words: Words | None
    matches: int = 0
    episodes: int = 0
    rows: int = 0
    truncated: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    ratings: Counter[int] = field(default_factory=Counter)
    """Rounded to whole points."""
    days: Counter[int] = field(default_factory=Counter)
    """Days since 1970."""
    players: set[str] = field(default_factory=set)
    actions: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    """Rows whose action is not known, only a set of candidates."""
    candidates: int = 0
    """The total size of those sets."""
    named: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, part: Episodes) -> None:
        """Counts the episodes of a file."""
        headers, steps = part.headers, part.steps
        self.matches += len(np.unique(headers.serial))
        self.episodes += len(part)
        self.rows += part.rows
        self.truncated += int((~headers.complete).sum())
        self.lengths.update(headers.lengths.tolist())
        names = {1: "won", 0: "drawn", -1: "lost"}
        self.results.update(names[int(sign)] for sign in np.sign(headers.outcome[headers.complete]))
        if headers.rating is not None:
            self.ratings.update(np.rint(headers.rating[~np.isnan(headers.rating)]).astype(int).tolist())
        if headers.played_at is not None:
            told = headers.played_at[(headers.played_at > 0) & (headers.played_at < END_OF_CALENDAR)]
            self.days.update((told // 86_400).tolist())
        self.players.update(part.players[player] for player in np.unique(headers.player))
        known = steps.action >= 0
        self.unknown += int((~known).sum())
        if steps.consistent is not None:
            self.candidates += int(unpack_mask(steps.consistent[~known], self.spec.actions).sum())
        if self.words is None:
            self.actions.update(map(str, steps.action[known].tolist()))
            return
        self.actions.update(self.words.kinds(part))
        for what, counts in self.words.named(part).items():
            self.named.setdefault(what, Counter()).update(counts)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {
            "game": self.spec.game,
            "settings": lasting_settings(self.spec),
            "matches": self.matches,
            "episodes": self.episodes,
            "decisions": self.rows,
            "truncated": self.truncated,
            "players": len(self.players),
            "results": {name: self.results[name] for name in ("won", "drawn", "lost")},
            "lengths": {**_summary(self.lengths), "histogram": _histogram(self.lengths, _step(self.lengths))},
            "ratings": {**_summary(self.ratings), "histogram": _histogram(self.ratings, RATING_STEP)},
            "dates": _dates(self.days),
            "actions": {"by": "kind" if self.words else "number", "counts": _most(self.actions)},
            "unknown": {
                "decisions": self.unknown,
                "share": self.unknown / self.rows,
                "mean_candidates": self.candidates / self.unknown if self.unknown else 0.0,
            },
            "top": {what: _most(counts, _TOP) for what, counts in self.named.items()},
        }


def _most(counts: Counter[str], most: int | None = None) -> dict[str, int]:
    """The most frequent first; equally frequent ones by name."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:most])


def _summary(counts: Counter[int]) -> dict[str, Any]:
    """The number of values, and their minimum, median, mean and maximum, which are None if there are none."""
    known = counts.total()
    if not known:
        return {"known": 0, "min": None, "median": None, "mean": None, "max": None}
    values = sorted(counts)
    upto = np.cumsum([counts[value] for value in values])
    return {
        "known": known,
        "min": values[0],
        "median": values[int(np.searchsorted(upto, known / 2))],
        "mean": sum(value * count for value, count in counts.items()) / known,
        "max": values[-1],
    }


def _step(counts: Counter[int]) -> int:
    """A round bar width with which the values make at most `_BARS` bars."""
    span = max(counts) - min(counts) + 1
    widths = (first * int(10**power) for power in range(12) for first in (1, 2, 5))
    return next(width for width in widths if span <= _BARS * width)


def _histogram(counts: Counter[int], step: int) -> list[dict[str, int]]:
    """Bars of width `step` from the smallest to the largest value, empty ones included."""
    bars = Counter[int]()
    for value, count in counts.items():
        bars[value // step] += count
    places: Iterable[int] = range(min(bars), max(bars) + 1) if bars else ()
    return [{"from": place * step, "below": (place + 1) * step, "count": bars[place]} for place in places]


def _dates(days: Counter[int]) -> dict[str, Any]:
    """How many episodes have a known date, the first and last day, and the number per month."""
    if not days:
        return {"known": 0, "first": None, "last": None, "months": {}}
    first, last = _date(min(days)), _date(max(days))
    months: Counter[str] = Counter()
    if last.year - first.year < _MOST_YEARS:  # months without episodes too
        for month in range(12 * first.year + first.month - 1, 12 * last.year + last.month):
            months[f"{month // 12}-{month % 12 + 1:02d}"] = 0
    for day in sorted(days):
        months[_date(day).isoformat()[:7]] += days[day]
    return {"known": days.total(), "first": first.isoformat(), "last": last.isoformat(), "months": dict(months)}


def _date(day: int) -> date:
    return datetime.fromtimestamp(day * 86_400, UTC).date()
