"""Battles with the truth beside the log: what a parser of logs can be tested on.

Each battle is a JSON object: `id`, `format`, `log` (what spectators saw), `winner`, and `sides`, of each player
every decision as it was: the lines and the request that came before it, and the choice.
"""

from collections.abc import Callable
from typing import Any

from sparring.games.pokemon.arena import PokemonArena


class BattleRecorder:
    """Follows the battles of a fresh arena, and hands each to `keep` when it has ended."""

    def __init__(self, arena: PokemonArena, keep: Callable[[dict[str, Any]], None]) -> None:
        self._format = str(arena.spec.settings["format"])
        self._keep = keep
        self._sides: dict[int, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {}
        self.battles = 0
        """Battles that have ended."""
        arena.record(self._asked, self._chosen, self._ended)

    def _asked(self, match: int, seat: int, first: bool, lines: str, request: dict[str, Any]) -> None:
        decisions = self._sides.setdefault(match, ([], []))[seat]
        if decisions and "|error|[Unavailable choice]" in lines:
            # Showdown did not take the choice: the same decision is asked again by a request that says more.
            lines = decisions.pop()["lines"] + "\n" + lines
        decisions.append({"lines": lines, "request": request})

    def _chosen(self, match: int, seat: int, choice: str) -> None:
        self._sides[match][seat][-1]["choice"] = choice

    def _ended(self, match: int, winner: int, log: str) -> None:
        self.battles += 1
        sides = self._sides.pop(match, ([], []))
        self._keep(
            {
                "id": f"{self._format}-{self.battles}",
                "format": self._format,
                "log": log,
                "winner": winner,
                "sides": [[decision for decision in side if "choice" in decision] for side in sides],
            }
        )
