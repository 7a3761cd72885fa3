"""What a person sees while an agent trains: how far it is, how fast, what it learns and how well it plays.

On a terminal this is a panel of a few rows, redrawn in place. Elsewhere it is a table that grows by a line whenever an
evaluation came in, and every half minute in between.
"""

import sys
from collections.abc import Mapping
from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.table import Table

from sparring.core.rows import nested
from sparring.core.score import Score
from sparring.core.text import printable_lines
from sparring.report.progress import PLAIN_SECONDS, Pace, bar, duration, live_display

_LINE_SECONDS = 30.0
_LINES_A_HEADING = 20
_LEARNING = {"policy_loss": "policy loss", "value_loss": "value loss", "entropy": "entropy", "approx_kl": "KL"}
"""Metrics of `loss/` that the panel shows, and what it calls them."""
_COLUMNS = {
    "decisions": 11, "done": 4, "left": 7, "decisions/s": 11, "policy": 9, "value": 8, "entropy": 7, "KL": 8,
}  # fmt: skip


class TrainingPanel:
    """Shows a run that trains on `total` decisions, `done` of them and `update` updates behind it."""

    def __init__(self, *, total: int, done: int = 0, update: int = 0) -> None:
        self._console = Console(stderr=True)
        self._pace = Pace(total, done)
        self._update = update
        self._figures: Mapping[str, float] = {}
        self._rated = ""
        self._doing = ""
        self._lines = 0
        self._last_line = monotonic()
        self._live = live_display(self._console, self._render)

    def __enter__(self) -> "TrainingPanel":
        if self._live is not None:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *failure: object) -> None:
        self._doing = ""
        if self._live is not None:
            self._live.stop()

    def update(self, update: int, decisions: int, figures: Mapping[str, float]) -> None:
        """Shows update number `update`, with its metrics, after `decisions` in all."""
        self._update, self._pace.done, self._figures = update, decisions, figures
        self._doing = ""
        if self._live is None and monotonic() - self._last_line >= _LINE_SECONDS:
            self._print_line("")

    def rated(self, update: int, scores: Mapping[str, Score], nash_conv: float | None = None) -> None:
        """Shows how the policy after update number `update` did, by opponent."""
        self._rated = f"{rating_text(scores, nash_conv)}  (update {update:,})"
        self._doing = ""
        if self._live is None and self._figures:
            self._print_line(self._rated)

    def doing(self, text: str) -> None:
        """Shows what keeps the run from its next update, such as a rating's matches."""
        self._doing = text
        if self._live is None and monotonic() - self._last_line >= PLAIN_SECONDS:
            self._print(text)

    def _render(self) -> RenderableType:
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column(no_wrap=True, style="dim", min_width=len("training"))
        rows.add_column(overflow="fold")
        if self._figures:
            groups = nested(self._figures)
            play, stages = groups["play"], groups.get("time", {})
            rows.add_row("speed", speed_text(play))
            rows.add_row("time", "  ".join(f"{stage} {part:.0%}" for stage, part in stages.items() if part >= 0.005))
            learning = [f"{name} {groups['loss'][key]:.3g}" for key, name in _LEARNING.items() if key in groups["loss"]]
            rows.add_row("learning", "  ".join(learning))
        else:
            rows.add_row(
                "speed", f"update {self._update + 1:,} under way for {duration(monotonic() - self._pace.started)}"
            )
        if self._rated:
            rows.add_row("win rate", self._rated)
        if self._doing:
            rows.add_row("now", printable_lines(self._doing))
        return Group(bar("training", self._pace, f"update {self._update:,}"), rows)

    def _print_line(self, rated: str) -> None:
        """One line of the table, with its headings every now and then."""
        if self._lines % _LINES_A_HEADING == 0:
            self._print("  ".join(name.rjust(width) for name, width in _COLUMNS.items()) + "  win rate")
        self._lines += 1
        groups = nested(self._figures)
        loss = groups["loss"]
        values = [
            f"{self._pace.done:,}",
            f"{self._pace.share:.0%}",
            self._pace.left,
            f"{groups['play']['decisions_per_second']:,.0f}",
            *(f"{loss[key]:.3g}" if key in loss else "-" for key in _LEARNING),
        ]
        cells = (value.rjust(width) for value, width in zip(values, _COLUMNS.values(), strict=True))
        self._print(f"{'  '.join(cells)}  {rated}".rstrip())

    def _print(self, text: str) -> None:
        self._last_line = monotonic()
        print(printable_lines(text), file=sys.stderr, flush=True)


def speed_text(play: Mapping[str, float]) -> str:
    """How fast an update was, by its metrics of `play/`."""
    return (
        f"{play['matches_per_second']:,.0f} matches/s  {play['decisions_per_second']:,.0f} decisions/s  "
        f"batch {play['mean_batch']:.0f}"
    )


def rating_text(scores: Mapping[str, Score], nash_conv: float | None = None) -> str:
    """Win rates with their 95% intervals, by opponent."""
    texts = []
    for name, score in scores.items():
        low, high = score.interval
        texts.append(f"{name} {score.win_rate:.1%} [{100 * low:.1f}, {100 * high:.1f}]")
    if nash_conv is not None:
        texts.append(f"NashConv {nash_conv:.3g}")
    return "  ".join(texts)
