"""What a person sees while an agent trains: progress, speed, use of the machine, losses, and how well it plays.

On a terminal this is a panel of a few rows, redrawn in place. Elsewhere it is a table of at most 80 columns that grows
by a line with every evaluation, whose win rates follow below, and every half minute in between.
"""

import sys
from collections.abc import Mapping
from time import monotonic

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.table import Table
from rich.text import Text

from sparring.core.machine import cores
from sparring.core.rows import nested
from sparring.core.score import Score
from sparring.core.text import printable_lines
from sparring.report.progress import PLAIN_SECONDS, WIDEST, Display, Pace, bar, duration
from sparring.report.usage import ProcessTree, Usage

_LINE_SECONDS = 30.0
_LINES_A_HEADING = 20
_SAMPLE_SECONDS = 2.0
"""CPU and memory are sampled no more often than this."""
_SHADES = "█▓▒░"
_COLOURS = ("cyan", "green", "yellow", "magenta")
"""Of the stages in the time bar, in the order of their names above it."""
_LEARNING = {"policy_loss": "policy loss", "value_loss": "value loss", "entropy": "entropy", "approx_kl": "KL"}
"""Metrics of `loss/` that the panel shows, with their labels."""
_TITLE = len("training")
_CELLS = (19, 18, 14, 11)
"""Least widths of the panel's columns of figures: with the titles of its rows they fit 78 columns."""
_GAP = 2
_ECHO = len("^C")
"""Columns left free on the right: a terminal that echoes Ctrl-C there must not begin another line."""
_RATE = len("100.0%")
_NOTED = 72
"""Columns from which on a rating says after which update it was."""
_COLUMNS = {
    "decisions": 11, "done": 4, "left": 7, "a second": 8, "CPU": 4, "MB": 6,
    "policy": 8, "value": 7, "entropy": 7, "KL": 7,
}  # fmt: skip
"""Of the table, with their widths: with a space between each two they fit 78 columns."""
_LINE = 78
_INDENT = "  "


class TrainingPanel(Display):
    """Shows a run of `total` decisions, of which `done` decisions and `update` updates are done."""

    def __init__(self, *, total: int, done: int = 0, update: int = 0) -> None:
        self._pace = Pace(total, done)
        self._update = update
        self._figures: Mapping[str, float] = {}
        self._rated: tuple[int, Mapping[str, Score], float | None] | None = None
        self._doing = ""
        self._doing_since = 0.0
        self._lines = 0
        self._printed = update
        """The update of the last line."""
        self._last_line = monotonic()
        self._tree = ProcessTree()
        self._usage = Usage(0.0, 0)
        self._sampled = monotonic()
        super().__init__()

    def __exit__(self, *failure: object) -> None:
        self._doing = ""
        super().__exit__(*failure)

    def update(self, update: int, decisions: int, figures: Mapping[str, float]) -> None:
        """Shows update number `update`, with its metrics, after `decisions` in all."""
        self._update, self._pace.done, self._figures = update, decisions, figures
        self._doing = ""
        if self._live is None and monotonic() - self._last_line >= _LINE_SECONDS:
            self._print_line()

    def rated(self, update: int, scores: Mapping[str, Score], nash_conv: float | None = None) -> None:
        """Shows how the policy after update number `update` did, by opponent, if it was rated at all."""
        if not scores and nash_conv is None:
            return
        self._rated = (update, scores, nash_conv)
        self._doing = ""
        if self._live is None and self._figures:
            self._print_line()
            for line in rating_lines(update, scores, nash_conv):
                self._print(line)

    def doing(self, text: str) -> None:
        """Shows what keeps the run from its next update, such as a rating's matches; a line only if it takes long."""
        if not self._doing:
            self._doing_since = monotonic()
        self._doing = text
        if self._live is None and monotonic() - max(self._last_line, self._doing_since) >= PLAIN_SECONDS:
            self._print(text)

    def _render(self) -> RenderableType:
        columns = min(self._console.width - _ECHO, WIDEST)
        parts: list[RenderableType] = [bar("training", self._pace, f"update {self._update:,}")]
        doing = self._doing
        if self._figures:
            parts += _figures(self._figures, self._sample(), columns)
        elif not doing and self._pace.share < 1:
            doing = f"update {self._update + 1:,} under way for {duration(monotonic() - self._pace.started)}"
        if self._rated is not None:
            parts.append(_rating_grid(*self._rated, columns))
        if doing:
            row = _titled()
            row.add_column()
            row.add_row("now", Text(printable_lines(doing)))
            parts.append(row)
        return Constrain(Group(*parts), columns)

    def _sample(self) -> Usage:
        """CPU and memory of the run and of all its processes over the last seconds."""
        if not self._usage.memory or monotonic() - self._sampled >= _SAMPLE_SECONDS:
            self._usage, self._sampled = self._tree.sample(), monotonic()
        return self._usage

    def _print_line(self) -> None:
        """The update's line of the table, once, with the headings every now and then."""
        if self._printed == self._update:
            return
        self._printed = self._update
        if self._lines % _LINES_A_HEADING == 0:
            self._print(" ".join(name.rjust(width) for name, width in _COLUMNS.items()))
        self._lines += 1
        groups = nested(self._figures)
        loss, usage = groups["loss"], self._sample()
        values = [
            f"{self._pace.done:,}",
            f"{self._pace.share:.0%}",
            self._pace.left,
            f"{groups['play']['decisions_per_second']:,.0f}",
            f"{usage.cores:.1f}",
            f"{usage.memory / 2**20:,.0f}",
            *(f"{loss[key]:.3g}" if key in loss else "-" for key in _LEARNING),
        ]
        self._print(" ".join(value.rjust(width) for value, width in zip(values, _COLUMNS.values(), strict=True)))

    def _print(self, text: str) -> None:
        self._last_line = monotonic()
        print(printable_lines(text), file=sys.stderr, flush=True)


def _figures(figures: Mapping[str, float], usage: Usage, columns: int) -> list[RenderableType]:
    """An update's metrics and its use of the machine, for a terminal of this many columns."""
    groups = nested(figures)
    play, loss, stages, gpu = (groups.get(group, {}) for group in ("play", "loss", "time", "gpu"))
    longest = sorted(stages, key=lambda stage: -stages[stage])[: len(_CELLS)]
    shown = {stage: part for stage, part in stages.items() if stage in longest and part >= 0.005}
    work = {
        "speed": {
            "decisions/s": f"{play['decisions_per_second']:,.0f}",
            **({"matches/s": f"{play['matches_per_second']:,.0f}"} if "matches_per_second" in play else {}),
            **({"batch": f"{play['mean_batch']:,.0f}"} if "mean_batch" in play else {}),
        },
        "machine": {
            f"CPU of {cores()}": f"{usage.cores:.1f}",
            "memory": _megabytes(usage.memory),
            **({"GPU": f"{gpu['memory']:,.0f} MB"} if "memory" in gpu else {}),
            **({"load": f"{gpu['utilisation']:.0%}"} if "utilisation" in gpu else {}),
        },
        "time": {stage: f"{part:.0%}" for stage, part in shown.items()},
    }
    learning = {name: _figure(loss[key]) for key, name in _LEARNING.items() if key in loss}
    return [_grid(work, columns), _stage_bar(stages, columns), _grid({"learning": learning}, columns)]


def _titled() -> Table:
    """A grid that begins with a column of titles."""
    grid = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
    grid.add_column(style="dim", width=_TITLE, no_wrap=True)
    return grid


def _grid(lines: Mapping[str, Mapping[str, str]], columns: int) -> Table:
    """Figures in columns, so that they stand still while they change: names left, values right.

    A narrow terminal shows fewer of them side by side, a wide one sets them further apart.
    """
    widths = _widths(columns)
    grid = _titled()
    for width in widths:
        grid.add_column(no_wrap=True, width=width)
    for title, cells in lines.items():
        texts = []
        for number, (name, value) in enumerate(cells.items()):
            room = widths[number % len(widths)] - len(name) - 1
            texts.append(Text(name, "dim").append(f" {value:>{max(0, room)}}", "not dim"))
        for start in range(0, len(texts), len(widths)):
            grid.add_row("" if start else title, *texts[start : start + len(widths)])
    return grid


def _widths(columns: int) -> list[int]:
    """The widths of the columns of figures, which together with the titles take all `columns`."""
    room = columns - _TITLE - _GAP
    fitting = [count for count in (1, 2, 4) if sum(_CELLS[:count]) + _GAP * (count - 1) <= room]
    count = max(fitting, default=1)
    spare = max(0, room - sum(_CELLS[:count]) - _GAP * (count - 1))
    return [width + spare // count + (number < spare % count) for number, width in enumerate(_CELLS[:count])]


def _stage_bar(stages: Mapping[str, float], columns: int) -> Text:
    """The shares of a run's longest stages as one bar, in the order in which they are named."""
    longest = sorted(stages.items(), key=lambda item: -item[1])[: len(_SHADES)]
    width = columns - _TITLE - _GAP
    drawn = Text(" " * (_TITLE + _GAP))
    done = share = 0.0
    for (_, part), shade, colour in zip(longest, _SHADES, _COLOURS, strict=False):
        share += part
        length = round(share * width) - round(done * width)
        done = share
        drawn.append(shade * length, colour)
    return drawn


def _megabytes(memory: int) -> str:
    return f"{memory / 2**20:,.0f} MB"


def _rating_grid(update: int, scores: Mapping[str, Score], nash_conv: float | None, columns: int) -> Table:
    """One line per opponent: the win rate and its 95% interval; names that are too long go on below."""
    grid = _titled()
    grid.add_column(overflow="fold", min_width=_widths(columns)[0] - _RATE - _GAP, max_width=columns // 2)
    grid.add_column(justify="right", no_wrap=True, min_width=_RATE)
    grid.add_column(no_wrap=True, style="dim")
    rows = [
        (name, f"{score.win_rate:.1%}", "{:.1%} - {:.1%}".format(*score.interval)) for name, score in scores.items()
    ]
    if nash_conv is not None:
        rows.append(("NashConv", f"{nash_conv:.3g}", ""))
    for number, (name, value, interval) in enumerate(rows):
        note = f"{interval:16}after update {update:,}" if number == 0 and columns >= _NOTED else interval
        grid.add_row("" if number else "win rate", Text(printable_lines(name)), value, note)
    return grid


def _figure(value: float) -> str:
    """Four decimals, or an exponent where those would be too few or too many; at most seven signs."""
    if value == 0 or 1e-3 <= abs(value) < 1000:
        return f"{value:.{4 if abs(value) < 10 else 3 if abs(value) < 100 else 2}f}"
    return f"{value:.1e}" if value > 0 else f"{value:.0e}"


def rating_lines(update: int, scores: Mapping[str, Score], nash_conv: float | None = None) -> list[str]:
    """Win rates with their 95% intervals, by opponent: as many in a line as fit."""
    texts = []
    for name, score in scores.items():
        low, high = score.interval
        texts.append(f"{name} {score.win_rate:.1%} [{100 * low:.1f}, {100 * high:.1f}]")
    if nash_conv is not None:
        texts.append(f"NashConv {nash_conv:.3g}")
    lines = [f"{_INDENT}update {update:,}:"]
    for text in texts:
        if len(lines[-1]) + len(_INDENT) + len(text) > _LINE:
            lines.append(_INDENT)
        lines[-1] += f"{_INDENT}{text}"
    return lines
