"""Ratings of players in mixed teams, by openskill: a mean and a deviation for each, updated match by match.

The model is Bradley-Terry with full pairing: there a draw brings two teams closer, whereas in openskill's
Thurstone-Mosteller models it can reverse the order of unequal teams. Matches are taken by time and id, so that the
order in which they were added to the ledger does not matter.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from openskill.models import BradleyTerryFull

from sparring.league.ledger import Identity, Match
from sparring.league.ratings import Estimate, Z


@dataclass(frozen=True)
class TeamRating:
    """One player's, on openskill's scale: a newcomer has 25."""

    player: Identity
    rating: Estimate
    matches: int


def is_mixed(match: Match) -> bool:
    """Whether a match is not between two players: a team has several, or there are more than two teams."""
    return len({(seat.team, seat.identity) for seat in match.seats}) > 2


def rate_teams(matches: Iterable[Match]) -> list[TeamRating]:
    """Everyone in `matches`, the strongest first. A player in several seats of a match is rated by their mean."""
    model = BradleyTerryFull()
    known: dict[Identity, tuple[float, float]] = {}
    played: dict[Identity, int] = {}
    for match in sorted(matches, key=lambda match: (match.time, match.id)):
        teams: dict[int, list[Identity]] = {}
        outcome: dict[int, float] = {}
        for seat in match.seats:
            teams.setdefault(seat.team, []).append(seat.identity)
            outcome[seat.team] = seat.outcome
        before = [
            [model.rating(*known.get(player, (model.mu, model.sigma))) for player in team] for team in teams.values()
        ]
        after = model.rate(before, ranks=[-outcome[team] for team in teams])
        changed: dict[Identity, list[tuple[float, float]]] = {}
        for team, ratings in zip(teams.values(), after, strict=True):
            for player, rating in zip(team, ratings, strict=True):
                changed.setdefault(player, []).append((rating.mu, rating.sigma))
        for player, values in changed.items():
            mus, sigmas = zip(*values, strict=True)
            known[player] = (sum(mus) / len(mus), sum(sigmas) / len(sigmas))
            played[player] = played.get(player, 0) + 1
    rated = [
        TeamRating(player, Estimate(mu, mu - Z * sigma, mu + Z * sigma), played[player])
        for player, (mu, sigma) in known.items()
    ]
    return sorted(rated, key=lambda one: (-one.rating.value, one.player))
