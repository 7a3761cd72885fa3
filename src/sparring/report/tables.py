"""Results as tables for people and as plain data for programs."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from sparring.core import Score


def score_table(title: str, scores: Mapping[str, Score]) -> Table:
    """One line an opponent."""
    table = Table("opponent", "win rate", "95% interval", "wins", "draws", "losses", title=title, title_justify="left")
    if any(score.points_per_minute is not None for score in scores.values()):
        table.add_column("for : against a minute")
    for name, score in scores.items():
        low, high = score.interval
        table.add_row(
            name,
            f"{score.win_rate:.1%}",
            f"{low:.1%} - {high:.1%}",
            str(score.wins),
            str(score.draws),
            str(score.losses),
            *([] if score.points_per_minute is None else ["{:.2f} : {:.2f}".format(*score.points_per_minute)]),
        )
    return table


def score_json(score: Score) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "matches": score.matches,
        "wins": score.wins,
        "draws": score.draws,
        "losses": score.losses,
        "failed": score.failed,
        "win_rate": score.win_rate,
        "interval": list(score.interval),
        "decisions_per_match": score.decisions_per_match,
        "points_per_minute": None if score.points_per_minute is None else list(score.points_per_minute),
    }
