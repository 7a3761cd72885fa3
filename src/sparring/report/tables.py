"""Results as tables for people and as plain data for programs."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from sparring.core import Score


def score_table(title: str, scores: Mapping[str, Score]) -> Table:
    """One line an opponent."""
    table = Table("opponent", "win rate", "95% interval", "wins", "draws", "losses", title=title, title_justify="left")
    for name, score in scores.items():
        low, high = score.interval
        counts = map(str, (score.wins, score.draws, score.losses))
        table.add_row(name, f"{score.win_rate:.1%}", f"{low:.1%} - {high:.1%}", *counts)
    return table


def score_json(score: Score) -> dict[str, Any]:
    """The same as plain data."""
    names = ("matches", "wins", "draws", "losses", "failed", "win_rate", "interval", "decisions_per_match")
    return {name: getattr(score, name) for name in names}
