"""Stopping before a time limit: early enough that what is under way can end and be saved."""

import time
from dataclasses import dataclass, field

_LEAST_SECONDS = 60.0
_LEAST_PART = 0.1


@dataclass
class Deadline:
    """A limit on how long this process may train, by a clock that nobody can set.

    The margin is a minute (or a tenth of the limit, if that is less) and twice the longest update so far, as the next
    may take longer.
    """

    hours: float
    """0: there is none."""
    _began: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)
    _longest: float = 0.0

    def update_ended(self) -> None:
        """Notes how long the update took, with everything around it."""
        now = time.monotonic()
        self._longest, self._last = max(self._longest, now - self._last), now

    @property
    def reached(self) -> bool:
        """Whether no further update should begin."""
        limit = self.hours * 3600
        margin = min(_LEAST_SECONDS, _LEAST_PART * limit) + 2 * self._longest
        return limit > 0 and time.monotonic() - self._began + margin >= limit
