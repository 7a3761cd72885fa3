"""Scores: how one player did against another, and how certain that is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist

import numpy as np

from sparring.core.arguments import check_argument
from sparring.core.documented import documented
from sparring.core.errors import InputError
from sparring.core.settings import NonNegative, NonNegativeInt


@documented
@dataclass(frozen=True)
class Score:
    """Wins, draws and losses of one player against another."""

    wins: int
    """Matches that the player won."""
    draws: int
    """Matches that nobody won."""
    losses: int
    """Matches that the opponent won, forfeits included."""
    failed: int = 0
    """Matches that broke off; they count for nothing."""
    forfeits: tuple[str, ...] = ()
    """Why matches were forfeited, one text per match; a forfeit counts as a loss."""
    decisions_per_match: float = 0.0
    """Of all seats together, on average."""
    points_per_minute: tuple[float, float] | None = None
    """Scored by the player and by the opponent (goals), in games that count them; failed matches left out."""
    minutes: float = 0.0
    """Of game time in which they were scored."""
    endings: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many matches ended for which reason (`time`, `overtime`), in games that say so; failed matches left out."""

    def __post_init__(self) -> None:
        for name in ("wins", "draws", "losses", "failed"):
            check_argument(name, getattr(self, name), NonNegativeInt)
        check_argument("forfeits", self.forfeits, tuple[str, ...])
        check_argument("decisions_per_match", self.decisions_per_match, NonNegative)
        check_argument("points_per_minute", self.points_per_minute, tuple[float, float] | None)
        check_argument("minutes", self.minutes, NonNegative)

    def __str__(self) -> str:
        low, high = self.interval
        counts = f"{self.wins:,} won, {self.draws:,} drawn, {self.losses:,} lost"
        return f"{self.win_rate:.1%} ({low:.1%} - {high:.1%}): {counts}"

    def __add__(self, other: "Score") -> "Score":
        """Both sets of matches together."""
        if not isinstance(other, Score):
            return NotImplemented
        decisions = self.decisions_per_match * self.matches + other.decisions_per_match * other.matches
        return Score(
            wins=self.wins + other.wins,
            draws=self.draws + other.draws,
            losses=self.losses + other.losses,
            failed=self.failed + other.failed,
            forfeits=self.forfeits + other.forfeits,
            decisions_per_match=decisions / max(1, self.matches + other.matches),
            points_per_minute=_together(self, other),
            minutes=self.minutes + other.minutes,
            endings={
                why: self.endings.get(why, 0) + other.endings.get(why, 0) for why in {**self.endings, **other.endings}
            },
        )

    def __radd__(self, other: int) -> "Score":
        """What `sum` of scores begins with: 0."""
        return self if other == 0 else NotImplemented

    @property
    def matches(self) -> int:
        """Matches that count."""
        return self.wins + self.draws + self.losses

    @property
    def win_rate(self) -> float:
        """Points per match: a win is 1, a draw a half."""
        return (self.wins + 0.5 * self.draws) / self.matches if self.matches else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the win rate."""
        return wilson_interval(self.win_rate, self.matches)


def _together(one: Score, other: Score) -> tuple[float, float] | None:
    """The points per minute of both sets of matches, None if neither counts them; `InputError` without minutes."""
    counted = [score for score in (one, other) if score.points_per_minute is not None]
    if not counted:
        return None
    if not all(score.minutes for score in counted):
        raise InputError("scores with points_per_minute can only be added if they say in how many minutes")
    points = np.array([score.points_per_minute for score in counted])
    mine, theirs = np.average(points, axis=0, weights=[score.minutes for score in counted]).tolist()
    return mine, theirs


def wilson_interval(win_rate: float, matches: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval: it stays inside [0, 1] and is honest near both ends."""
    if matches == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    middle = win_rate + z * z / (2 * matches)
    spread = z * sqrt(win_rate * (1 - win_rate) / matches + z * z / (4 * matches * matches))
    scale = 1 + z * z / matches
    low = 0.0 if win_rate == 0 else (middle - spread) / scale
    return max(0.0, low), 1.0 if win_rate == 1 else min(1.0, (middle + spread) / scale)
