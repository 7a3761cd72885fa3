"""Playing ahead: the next episodes are collected in a thread while the learner works on the last ones.

The collector and the learner release the interpreter lock in their kernels, so that two cores are busy. Whoever comes
out of a kernel wants the lock back at once: while both run, Python hands it over after 0.5 ms instead of 5. New weights
reach the engine between two of its forwards, also in the middle of a collection: an episode may be begun by one version
and ended by another, which is what `Episodes.version`, importance weights and clipping are for. `young` drops what is
too old to learn from.
"""

import sys
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from sparring.core import Episodes, RunError
from sparring.rollout import Collector

_HAND_OVER_SECONDS = 0.0005


class Ahead:
    """Keeps one collection of `rows` rows running in a thread of its own."""

    def __init__(self, collector: Collector, rows: int) -> None:
        self._collector = collector
        self._rows = rows
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="collect")
        self._coming: Future[Episodes] | None = None
        self._usual_hand_over = sys.getswitchinterval()
        sys.setswitchinterval(_HAND_OVER_SECONDS)

    def take(self) -> Episodes:
        """The episodes collected meanwhile (waits for them if need be), and begins the next collection."""
        episodes = self._begin().result()
        self._coming = None
        self._begin()
        return episodes

    def pause(self) -> None:
        """Waits until nothing is being played; what was collected stays for the next `take`."""
        if self._coming is not None:
            self._coming.result()

    def close(self) -> None:
        """Waits for the thread and ends it."""
        self._thread.shutdown(wait=True)
        sys.setswitchinterval(self._usual_hand_over)

    def _begin(self) -> "Future[Episodes]":
        if self._coming is None:
            self._coming = self._thread.submit(self._collector.collect, self._rows)
        return self._coming


def young(episodes: Episodes, *, version: int, most_age: int) -> Episodes:
    """The episodes of matches in which every seat began with weights at most `most_age` versions before `version`.

    Raises `RunError` if none is left: then more matches are played at once than updates of this size can use up.
    """
    old = episodes.headers.serial[version - episodes.headers.version > most_age]
    if len(old) == 0:
        return episodes
    kept = np.flatnonzero(~np.isin(episodes.headers.serial, old))
    if len(kept) == 0:
        raise RunError(
            f"every episode was begun more than most_age = {most_age} updates ago; lower matches or raise it"
        )
    return episodes.take(kept)
