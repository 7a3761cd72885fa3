"""Stopping before a time limit, early enough that the current update can end and be saved."""

import os
import time
from dataclasses import dataclass, field

from sparring.core import InputError

JOB_BEGAN = "SPARRING_JOB_BEGAN"
"""The environment variable in which a job's script says when it began, in seconds since the machine's start."""
_LEAST_SECONDS = 60.0
_LEAST_PART = 0.1


def _began() -> float:
    """When this process or, if the environment says so, its job began, by `time.monotonic`."""
    text = os.environ.get(JOB_BEGAN)
    if text is None:
        return time.monotonic()
    try:
        ago = time.clock_gettime(time.CLOCK_BOOTTIME) - float(text)
    except ValueError:
        ago = -1.0
    if ago < 0:
        raise InputError(f"{JOB_BEGAN} = {text!r}: no time since this machine's start")
    return time.monotonic() - ago


@dataclass
class Deadline:
    """A limit on how long this process, or its job, may train, by a monotonic clock.

    The margin is a minute (or a tenth of the limit, if that is less) and twice the longest update so far, as the next
    may take longer.
    """

    hours: float
    """0: no limit."""
    _began: float = field(default_factory=_began)
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
