"""What GTP's analysing commands report while a player ponders, in Leela Zero's form and in KataGo's."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Any, Protocol

import numpy as np

from sparring.core import InputError
from sparring.games.hex.analysis import Position, Searcher, describe
from sparring.games.hex.text import parse_colour

_KEYS = ("interval", "minmoves", "maxmoves")
_SHORTEST = 0.01
"""Seconds between two reports."""

Form = Callable[[int, dict[str, Any]], str]
"""One candidate of an analysis by its rank; see `analysis.describe_search`."""


class Waiting(Protocol):
    """Whether the client has sent something more."""

    def __call__(self, *, block: bool = False) -> bool:
        """With `block` it waits until that is so."""
        ...


@dataclass(frozen=True)
class Request:
    """What a client asks an analysing command for: `[COLOUR] [INTERVAL] [KEY VALUE ...]`."""

    seat: int
    """Who is to move."""
    interval: float = 1.0
    """Seconds between two reports."""
    least: int = 0
    """Moves to report if there are so many, even those that have not been looked at."""
    most: int | None = None
    """The most moves to report."""


def read_request(words: Sequence[str], *, seat: int) -> Request:
    """The request that the words after a command make, for `seat` if they name none; intervals are in centiseconds."""
    left = list(words)
    if left and not left[0].isdecimal() and left[0] not in _KEYS:
        seat = parse_colour(left.pop(0))
    if left and left[0].isdecimal():
        left.insert(0, _KEYS[0])
    values: dict[str, int] = {}
    while left:
        key, *rest = left
        if key not in _KEYS:
            raise InputError(f"{key!r} cannot be asked for; allowed are {', '.join(_KEYS)}, each with a number")
        if not rest or not rest[0].isdecimal() or len(rest[0]) > 9:
            raise InputError(f"{key} takes a whole number")
        values[key] = int(rest[0])
        left = rest[1:]
    interval = max(values["interval"] / 100, _SHORTEST) if "interval" in values else Request.interval
    return Request(seat, interval, values.get("minmoves", 0), values.get("maxmoves"))


def leela_zero(order: int, one: dict[str, Any]) -> str:
    """Leela Zero's form: shares are in ten-thousandths."""
    winrate, prior = round(5000 * (1 + one["value"])), round(10_000 * one["prior"])
    line = " ".join(one["line"])
    return f"info move {one['move']} visits {one['visits']} winrate {winrate} prior {prior} order {order} pv {line}"


def katago(order: int, one: dict[str, Any]) -> str:
    """KataGo's form: shares are fractions; there is no score in Hex."""
    winrate, line = (1 + one["value"]) / 2, " ".join(one["line"])
    return (
        f"info move {one['move']} visits {one['visits']} utility {one['value']:.4f} winrate {winrate:.4f} "
        f"prior {one['prior']:.4f} order {order} pv {line}"
    )


def report(here: Position, searcher: Searcher, request: Request, form: Form) -> str:
    """One line: what `searcher` has found so far, the best move first."""
    candidates = describe(here, searcher)["candidates"]
    looked_at = [one for one in candidates if one["visits"]]
    others = [one | {"value": 0.0, "prior": one["policy"], "line": []} for one in candidates if not one["visits"]]
    shown = [*looked_at, *others[: max(0, request.least - len(looked_at))]][: request.most]
    return " ".join(form(order, one).rstrip() for order, one in enumerate(shown))


def reports(
    here: Position,
    searcher: Searcher,
    request: Request,
    form: Form,
    *,
    simulations: int,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[str]:
    """Ponders for so many `simulations` or until it is `stopped`; reports at the interval, and once at the least."""
    due, reported = monotonic() + request.interval, False
    for _ in islice(searcher.ponder(here.decisions(), np.random.default_rng(0)), simulations):
        if monotonic() >= due:
            yield report(here, searcher, request, form)
            due, reported = monotonic() + request.interval, True
        if stopped():
            break
    if not reported:
        yield report(here, searcher, request, form)
