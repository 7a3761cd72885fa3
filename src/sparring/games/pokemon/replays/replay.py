"""A battle as it comes from outside: its log and what is known about it."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a replay was not turned into episodes."""

    EMPTY = "empty"
    NOT_A_LOG = "not-a-log"
    TOO_LONG = "too-long"
    MALFORMED = "malformed"
    UNFINISHED = "unfinished"
    GAME_TYPE = "game-type"
    GENERATION = "generation"
    FORMAT = "unknown-format"
    TEAM_SIZE = "team-size"
    CUSTOM_RULES = "custom-rules"
    NO_DECISIONS = "no-decisions"
    DUPLICATE = "duplicate"


class Rejected(Exception):
    """A replay that cannot be read; `reason` is its code, `detail` one line with the place."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Replay:
    """One battle's log."""

    id: str
    log: str
    format: str = ""
    """As the source names it; "" to take the log's own `tier`."""
    rating: float = float("nan")
    uploaded: int = 0
    """Seconds since 1970; 0 if unknown."""
