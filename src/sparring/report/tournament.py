"""A tournament on the screen: the current table while it is played, and the results."""

import sys
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparring.core.text import printable
from sparring.report.progress import PLAIN_SECONDS, Display, Pace, bar
from sparring.report.ratings import standings_table
from sparring.report.tables import forfeits_text, plain_table

_MOST_COLUMNS = 10
"""Players of a cross table that fits 80 columns."""
_MOST_LIVE = 20
_MOST_OPEN = 10
_MOST_MATCHES = 1_000_000


class TournamentScreen(Display):
    """A bar and the current ratings, redrawn in place; elsewhere a plain line every ten seconds."""

    def __init__(self) -> None:
        self._pace: Pace | None = None
        self._detail = ""
        self._rows: Sequence[tuple[str, float, float, int]] = ()
        self._last_plain = monotonic()
        super().__init__(transient=True)

    def update(
        self, matches: int, total: int, detail: str, rows: Sequence[tuple[str, float, float, int]] | None
    ) -> None:
        """Shows the progress; new `rows` are (player, rating, half of its interval, matches), the strongest first."""
        if self._pace is None:
            self._pace = Pace(total, matches)
        self._pace.done, self._pace.total, self._detail = matches, total, detail
        if rows is not None:
            self._rows = rows
        now = monotonic()
        if self._live is None and now - self._last_plain >= PLAIN_SECONDS:
            self._last_plain = now
            leader = f"  {self._rows[0][0]} leads" if self._rows else ""
            text = f"tournament {self._pace.share:4.0%}  {matches:,} of {total:,} matches  {detail}{leader}"
            print(printable(text), file=sys.stderr, flush=True)

    def _render(self) -> RenderableType:
        if self._pace is None:
            return Text("tournament", style="dim")
        parts: list[RenderableType] = [bar("tournament", self._pace)]
        if self._rows:
            table = plain_table("player", "rating", "±", "matches", right=("rating", "±", "matches"))
            for name, rating, half, matches in self._rows[:_MOST_LIVE]:
                shown = Text(printable(name, 50), overflow="ellipsis", no_wrap=True)
                table.add_row(shown, f"{rating:+,.0f}", f"{half:,.0f}", f"{matches:,}")
            parts.append(table)
        about = f"{self._pace.done:,.0f} of at most {self._pace.total:,.0f} matches  {self._detail}"
        return Group(*parts, Text(printable(about), style="dim", overflow="ellipsis", no_wrap=True))


def tournament_table(summary: Mapping[str, Any]) -> Group:
    """Ratings, the cross table and everything else, at most 80 columns wide."""
    parts: list[RenderableType] = []
    if "players" in summary:
        parts.append(standings_table(summary))
        if len(summary["players"]) <= _MOST_COLUMNS:
            parts += ["", Text("points of the row's player against the column's", style="bold"), _cross(summary)]
    if "orders" in summary:
        parts += ["", *orders_text(summary["orders"], [one["player"] for one in summary["players"]])]
    if "sprt" in summary:
        parts += ["", Text(sprt_text(summary["sprt"]), style="bold")]
    parts += forfeits_text(summary["forfeits"])
    if summary.get("kept"):
        parts += ["", Text("matches worth looking at", style="bold")]
        parts += [Text("  " + printable(f"{kept_text(one)}: {one['path']}", 400)) for one in summary["kept"]]
    return Group(*parts)


def orders_text(found: Mapping[str, Any], players: Sequence[str]) -> list[Text]:
    """Who of `players`, from the strongest to the weakest, is proven stronger than whom, and what is still open."""
    lines = [Text(f"who is stronger, each order at {100 * found['confidence']:g}% confidence", style="bold")]
    weaker = {name: [one["weaker"] for one in found["proven"] if one["stronger"] == name] for name in players}
    for at, name in enumerate(players):
        beaten = [other for other in players if other in weaker[name]]
        if beaten:
            whom = "all others" if at == 0 and len(beaten) == len(players) - 1 > 1 else _listed(beaten)
            lines.append(Text("  " + printable(f"{name} is stronger than {whom}")))
    lines += [Text("  " + printable(f"open: {_open_text(one)}"), style="yellow") for one in found["open"][:_MOST_OPEN]]
    if len(found["open"]) > _MOST_OPEN:
        lines.append(Text(f"  and {len(found['open']) - _MOST_OPEN:,} more pairs are open", style="yellow"))
    return lines


def _open_text(one: Mapping[str, Any]) -> str:
    stronger, weaker, matches = one["stronger"], one["weaker"], one["matches"]
    if matches is None:
        return f"{stronger} or {weaker}: nothing between them"
    more = "more than a million" if matches > _MOST_MATCHES else f"about {matches:,}"
    return f"{stronger} over {weaker}, {one['chance']:.0%} certain; {more} more matches"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def sprt_text(found: Mapping[str, Any]) -> str:
    """The state of a test."""
    low, high = found["bounds"]
    verdicts = {
        "elo0": f"accepted: no stronger than {found['elo0']:+g} Elo",
        "elo1": f"accepted: stronger by {found['elo1']:+g} Elo or more",
        None: "not decided yet",
    }
    return (
        f"SPRT {found['elo0']:+g} against {found['elo1']:+g} Elo: {verdicts[found['accepted']]} "
        f"(ratio {found['ratio']:.2f} of {low:.2f} to {high:.2f}, {sum(found['pairs']):,} pairs)"
    )


def kept_text(one: Mapping[str, Any]) -> str:
    """Why a match is kept, who played it, and how it ended."""
    first, second = one["players"]
    result = "drawn" if one["winner"] is None else f"{one['winner']} won, expected {one['expected']:.0%}"
    return f"{', '.join(one['kinds'])}: {first} - {second}, {result}, {one['length']:,} decisions"


def _cross(summary: Mapping[str, Any]) -> Table:
    players = summary["players"]
    numbers = [str(at) for at in range(1, len(players) + 1)]
    table = plain_table("player", *numbers, right=numbers)
    for at, (one, cells) in enumerate(zip(players, summary["cross_table"], strict=True), 1):
        name = Text(printable(f"{at} {one['player']}", 60), overflow="fold")
        table.add_row(name, *("·" if cell is None else f"{cell['score']:.0%}" for cell in cells))
    for column in table.columns[1:]:
        column.no_wrap = True
    return table
