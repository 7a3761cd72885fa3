"""A request: the own team exactly as it is, and what the side may do."""

from typing import Any

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import TEAM
from sparring.games.pokemon.tracking.layout import SIDE_START
from sparring.games.pokemon.tracking.offered import write_offer
from sparring.games.pokemon.tracking.own_team import write_team
from sparring.games.pokemon.tracking.view import View


def apply_request(view: View, request: dict[str, Any]) -> None:
    """Writes a parsed `|request|` into the view. The lines that came with it must have been read before."""
    team = request["side"]["pokemon"]
    order = write_team(view, team, preview="teamPreview" in request)
    if view.requests == 0:
        view.floats[SIDE_START[0] + c.SIDE_TEAM_SIZE] = len(team) / TEAM
        view.count_fainted(0, 0)
    view.requests += 1
    write_offer(view, request, team, order)
