"""What the Pokémon of a battle probably have, as tables."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

_MOST_ITEMS = 3
_MOST_MOVES = 7


def belief_tables(believed: Mapping[str, Any]) -> list[Table]:
    """One table per team; `believed` is what `believed_teams` returns."""
    return [
        _team_table(team, believed["names"], f"{team['player']}  {believed['format']}, turn {believed['turn']}")
        for team in believed["teams"]
    ]


def _team_table(team: Mapping[str, Any], names: Mapping[str, str], title: str) -> Table:
    table = Table("Pokémon", "item", "ability", "moves", title=title, title_justify="left", show_lines=True)
    for one in team["pokemon"]:
        table.add_row(
            names[one["species"]] + ("" if one["level"] == 100 else f" L{one['level']}"),
            _lines(one["items"], names, _MOST_ITEMS),
            _lines(one["abilities"], names, _MOST_ITEMS),
            ", ".join(_lines(one["moves"], names, _MOST_MOVES).split("\n")),
        )
    return table


def _lines(shares: Mapping[str, float], names: Mapping[str, str], most: int) -> str:
    """The likeliest, each with its probability unless it is certain."""
    return "\n".join(
        names.get(id, "none") + ("" if share >= 1 else f" {min(share, 0.99):.0%}")
        for id, share in list(shares.items())[:most]
    )
