"""The progress of long work: how far, how fast, how much longer; and a message when something keeps people waiting."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Timer
from time import monotonic
from typing import Any, Self

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, Segment
from rich.table import Table
from rich.text import Text

from sparring.core.text import printable_lines, wrapped

PLAIN_SECONDS = 10.0
"""Where nothing can be redrawn: the least time between two lines."""
PATIENCE = 2.0
"""Seconds after which people wonder whether anything is happening."""
_KNOWN_SECONDS = 1000 * 3600.0
"""Times beyond this are those of work without an end of its own."""
WIDEST = 120
"""The most columns that a display takes, however wide the terminal is."""


class Pace:
    """How fast work goes of which `done` of `total` is done."""

    def __init__(self, total: float, done: float = 0.0) -> None:
        self.total = total
        self.done = done
        self.started = monotonic()
        self._done_at_start = done

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        return min(1.0, self.done / self.total)

    @property
    def per_second(self) -> float:
        """What has been done per second since the start."""
        return (self.done - self._done_at_start) / self.seconds

    @property
    def seconds(self) -> float:
        """Since the start; above 0."""
        return max(monotonic() - self.started, 1e-9)

    @property
    def left(self) -> str:
        """The time left at this pace, as people write it; nobody knows for work that something else will end."""
        if self.done >= self.total:
            return duration(0)
        seconds = (self.total - self.done) / self.per_second if self.per_second > 0 else inf
        return duration(seconds) if seconds < _KNOWN_SECONDS else "?"


class _Measured:
    """Something to draw, which tells the `lengths` of the lines that it is drawn as."""

    def __init__(self, content: RenderableType, lengths: list[int]) -> None:
        self._content = content
        self._lengths = lengths

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._content, options, pad=False)
        self._lengths[:] = map(Segment.get_line_length, lines)
        for line in lines:
            yield from line
            yield Segment.line()


class _Live(Live):
    """Something redrawn in place, also after its terminal became narrower and broke the lines that were longer."""

    def __init__(self, **options: Any) -> None:
        self._lengths: list[int] = []
        super().__init__(**options)

    def get_renderable(self) -> RenderableType:
        """What is drawn next."""
        return _Measured(super().get_renderable(), self._lengths)

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """`renderables` and the display, which begin where it stood; rows that the terminal has added are wiped."""
        width = self.console.width
        added = sum(max(0, length - 1) // width for length in self._lengths)
        wiped = Control(*(((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)) * added))
        return [wiped, *super().process_renderables(renderables)]


class Display(ABC):
    """Something on the terminal's standard error, redrawn in place a few times a second inside a `with` block.

    Where nothing can be redrawn, `_live` is None. What is `transient` is wiped in the end.
    """

    def __init__(self, *, transient: bool = False) -> None:
        self._console = Console(stderr=True)
        self._live: Live | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = _Live(
                get_renderable=self._render,
                console=self._console,
                refresh_per_second=4,
                transient=transient,
                redirect_stdout=sys.stdout.isatty(),  # what goes into a file or a pipe stays there
            )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """A line of its own, above the display."""
        shown = printable_lines(text)
        if self._console.is_terminal:
            shown = wrapped(shown, self._console.width)
        self._console.print(shown, highlight=False, markup=False, soft_wrap=True)

    @abstractmethod
    def _render(self) -> RenderableType: ...


class ProgressLine(Display):
    """A live bar with a line of details below it, gone in the end; elsewhere a plain line every ten seconds."""

    def __init__(self, title: str, *, total: float, done: float = 0.0) -> None:
        self._title = title
        self._pace = Pace(total, done)
        self._detail = ""
        self._last_plain = self._pace.started
        super().__init__(transient=True)

    def update(self, done: float, detail: str) -> None:
        """Shows that `done` of the total is finished."""
        self._pace.done, self._detail = done, detail
        now = monotonic()
        if self._live is None and (now - self._last_plain >= PLAIN_SECONDS or done >= self._pace.total):
            self._last_plain = now
            text = f"{self._title} {self._pace.share:4.0%}  {self._pace.left} left  {detail}"
            print(printable_lines(text), file=sys.stderr, flush=True)

    @property
    def done(self) -> float:
        """How much of the total is finished."""
        return self._pace.done

    @property
    def per_second(self) -> float:
        """What has been done per second since the line began."""
        return self._pace.per_second

    @property
    def seconds(self) -> float:
        """Since the line began."""
        return self._pace.seconds

    def _render(self) -> RenderableType:
        return Group(bar(self._title, self._pace), Text(printable_lines(self._detail), style="dim"))


def bar(title: str, pace: Pace, note: str = "") -> Constrain:
    """A row that fits any width: the title, a bar, the share done, the time left, and a `note`."""
    row = Table.grid(padding=(0, 2, 0, 0), expand=True)
    row.add_column(no_wrap=True)
    row.add_column(ratio=1)
    for _ in range(3):
        row.add_column(no_wrap=True, justify="right")
    drawn = ProgressBar(total=1.0, completed=pace.share, complete_style="green", finished_style="green")
    row.add_row(title, drawn, f"{pace.share:4.0%}", f"{pace.left:>5} left", note)
    return Constrain(row, WIDEST)


def duration(seconds: float) -> str:
    """`0:42`, `12:05` or `3:07:00`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@contextmanager
def announced(text: str, say: Callable[[str], None]) -> Iterator[None]:
    """Says `text` if the block is not over in two seconds."""
    timer = Timer(PATIENCE, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
