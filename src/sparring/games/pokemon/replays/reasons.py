"""Why a battle cannot be read."""

from enum import StrEnum

from sparring.core.replays import FAILED


class Reason(StrEnum):
    """Codes of `Rejected.reason`."""

    EMPTY = "empty"
    NOT_A_LOG = "not a log"
    TOO_LONG = "too long"
    NOT_FOUND = "not found"
    MALFORMED = "malformed line"
    UNFINISHED = "unfinished"
    GAME_TYPE = "game type"
    GENERATION = "generation"
    FORMAT = "unknown format"
    TEAM_SIZE = "team size"
    NO_DECISIONS = "no decisions"
    NOTHING_ALLOWED = "nothing allowed"
    READER_FAILED = FAILED
    """A fault of ours: the detail is what to report."""
    FILTERED_FORMAT = "filtered: format"
    FILTERED_RATING = "filtered: rating"
    FILTERED_DATE = "filtered: date"
    FILTERED_TURNS = "filtered: turns"
    FILTERED_FORFEIT = "filtered: forfeit"
    FILTERED_RULES = "filtered: custom rules"
