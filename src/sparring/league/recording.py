"""Matches between named players, recorded as text with the hidden truth beside it, to test what reads such text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparring.core import InputError
from sparring.core.files import write_file
from sparring.core.replays import Recordable
from sparring.league.entrants import Style
from sparring.league.seating import Seating
from sparring.rollout import Collector, taking_turns


def record_matches(
    seating: Seating,
    path: Path,
    *,
    matches: int,
    parallel: int = 16,
    seed: int = 0,
    style: Style | None = None,
    pulse: Callable[[int], None] = lambda ended: None,
    say: Callable[[str], None] = lambda text: None,
) -> int:
    """Plays `matches` matches and writes them to `path`, one JSON object per line; returns how many.

    `pulse` may raise to stop; the matches that have ended by then are written all the same.
    """
    if not isinstance(seating.game, Recordable):
        raise InputError(f"{seating.game.name} keeps no matches as text")
    lines: list[bytes] = []

    def keep(match: dict[str, Any]) -> None:
        if len(lines) < matches:
            lines.append(json.dumps(match).encode() + b"\n")

    with seating.seated(matches=min(parallel, matches), seed=seed, style=style, say=say) as (players, arena):
        seating.game.record(arena, keep)
        named = {
            f"{entrant.name} ({at})": player
            for at, (entrant, player) in enumerate(zip(seating.entrants, players, strict=True), 1)
        }
        collector = Collector(arena, named, taking_turns(range(len(players)), arena.spec.seats))
        try:
            collector.play(matches, pulse=pulse)
        finally:
            if lines:
                write_file(path, b"".join(lines))
    return len(lines)
