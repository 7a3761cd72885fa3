"""The progress line of long work: how far, how fast, where the time goes, how long still."""

import sys
from collections.abc import Mapping
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from sparring.core.rows import nested
from sparring.core.text import printable_lines

_PLAIN_SECONDS = 10.0


class ProgressLine:
    """A live bar on a terminal; elsewhere a plain line every ten seconds."""

    def __init__(self, title: str, *, total: float, done: float = 0.0) -> None:
        self._console = Console(stderr=True)
        self._live = self._console.is_terminal
        self._title = title
        self._total = total
        self._started = monotonic()
        self._done_at_start = done
        self._last_plain = 0.0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:3.0f}%"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[detail]}"),
            console=self._console,
            disable=not self._live,
        )
        self._task = self._bar.add_task(title, total=total, completed=int(done), detail="")

    def __enter__(self) -> "ProgressLine":
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def update(self, done: float, detail: str) -> None:
        """Shows that `done` of the total is finished."""
        done = min(done, self._total)
        self._bar.update(self._task, completed=done, detail=detail)
        now = monotonic()
        if not self._live and (now - self._last_plain >= _PLAIN_SECONDS or done >= self._total):
            self._last_plain = now
            per_second = self.per_second(done)
            left = (self._total - done) / per_second if per_second > 0 else 0.0
            share = 100 * done / self._total
            print(f"{self._title} {share:3.0f}%  {left:.0f} s left  {detail}", file=sys.stderr, flush=True)

    def per_second(self, done: float) -> float:
        """What has been done a second since the line began."""
        return (done - self._done_at_start) / max(monotonic() - self._started, 1e-9)

    def say(self, text: str) -> None:
        """A line of its own, above the bar."""
        self._console.print(printable_lines(text), highlight=False, markup=False, soft_wrap=True)


def training_text(metrics: Mapping[str, float]) -> str:
    """What the progress line says of an update: its speed, and each stage's share of the time."""
    groups = nested(metrics)
    play, stages = groups["play"], groups["time"].items()
    return (
        f"{play['matches_per_second']:,.0f} matches/s  {play['decisions_per_second']:,.0f} decisions/s  "
        f"batch {play['mean_batch']:.0f}  "
        + " ".join(f"{stage} {100 * share:.0f}%" for stage, share in stages if share >= 0.005)
    )
