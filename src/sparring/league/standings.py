"""Standings: everything there is to say about a ledger's players of one game, as plain data."""

from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np

from sparring.core import InputError
from sparring.core.errors import did_you_mean
from sparring.league.counts import PairCounts, pair_counts
from sparring.league.intransitivity import cycles, payoffs
from sparring.league.ledger import Ledger
from sparring.league.ratings import Floats, Ratings, default_anchor, find_player, labels, matches_of, rate
from sparring.league.subsets import AXES, Axis, Subset, holes, subsets

_MOST_VALUES = 200
"""The most values of an axis that is searched for holes unasked: there may be as many openings as matches."""
_FEWEST = 10
"""The fewest matches of a subset for a warning."""
_SURE = 0.001
"""A p-value below this is worth a warning."""


def standings(
    ledger: Ledger, *, game: str | None = None, anchor: str | None = None, by: Axis | None = None
) -> dict[str, Any]:
    """Ratings of all players of `ledger` at `game`, the strongest first, with what the ratings hide.

    Args:
        ledger: whose matches count.
        game: needed if the ledger has several.
        anchor: the player whose rating is 0; by default the built-in player with most matches.
        by: also rate every player on each value of this axis.
    """
    game = _game(ledger, game)
    counts = pair_counts(ledger.tallies(game))
    summary: dict[str, Any] = {"ledger": str(ledger.path), "game": game}
    if counts.players:
        named = find_player(counts.players, anchor) if anchor is not None else None
        ratings = rate(counts, anchor=default_anchor(counts) if named is None else named)
        summary |= pair_standings(counts, ratings, by)
    if counts.left_out:
        summary["teams"] = _teams(ledger, game)
    return summary


def _game(ledger: Ledger, game: str | None) -> str:
    games = ledger.games()
    if not games:
        raise InputError(f"{ledger.path}: no matches yet")
    if game is None and len(games) > 1:
        raise InputError(f"{ledger.path}: matches of {', '.join(games)}; say which with --game")
    if game is not None and game not in games:
        raise InputError(
            f"{ledger.path}: no matches of {game!r}{did_you_mean(game, games)}; it has: {', '.join(games)}"
        )
    return game or games[0]


def pair_standings(counts: PairCounts, ratings: Ratings, by: Axis | None = None) -> dict[str, Any]:
    """The standings of players who met in pairs."""
    names = labels(ratings.players)
    order = sorted(range(len(ratings)), key=lambda at: (-ratings.rating[at], at))
    found = {axis: subsets(counts, ratings, axis) for axis in AXES if axis == by or _is_small(counts, axis)}
    going_round = cycles(counts, ratings)
    summary = {
        "matches": int(counts.matches.sum()),
        "anchor": names[ratings.anchor],
        "advantage": asdict(ratings.advantage),
        "draw": ratings.draw,
        "players": _players(counts, ratings, names, order),
        "pools": [[names[at] for at in pool] for pool in ratings.pools],
        "superiority": _matrix(ratings.superiority(), order),
        "payoffs": _matrix(payoffs(counts), order),
        "cycles": {
            **asdict(going_round),
            "worst": None if going_round.worst is None else [names[at] for at in going_round.worst],
        },
        "warnings": _warnings(ratings, names, [one for cells in found.values() for one in cells])
        + _circle_warning(going_round.p_value, going_round.worst, going_round.cyclic, names),
    }
    if by is not None:
        place = {player: at for at, player in enumerate(order)}
        cells = sorted(found[by], key=lambda one: (place[one.player], one.value))
        summary["by"] = {"axis": by, "subsets": [_subset(one, names) for one in cells]}
    return summary


def _players(counts: PairCounts, ratings: Ratings, names: list[str], order: list[int]) -> list[dict[str, Any]]:
    apart = counts.first != counts.second
    points, gxe, played = np.zeros(len(ratings)), ratings.gxe(), matches_of(counts)
    np.add.at(points, counts.first[apart], (counts.wins + counts.draws / 2)[apart])
    np.add.at(points, counts.second[apart], (counts.losses + counts.draws / 2)[apart])
    return [
        {
            "player": names[at],
            **msgspec.structs.asdict(ratings.players[at]),
            **_interval(asdict(ratings.estimate(at))),
            "gxe": float(gxe[at]),
            "matches": int(played[at]),
            "score": float(points[at] / played[at]) if played[at] else None,
        }
        for at in order
    ]


def _subset(one: Subset, names: list[str]) -> dict[str, Any]:
    return {
        "player": names[one.player],
        "value": one.value,
        **_interval(asdict(one.rating)),
        "overall": one.overall,
        "matches": one.matches,
        "score": (one.wins + one.draws / 2) / one.matches,
    }


def _interval(estimate: dict[str, float]) -> dict[str, Any]:
    return {"rating": estimate["value"], "interval": [estimate["low"], estimate["high"]]}


def _matrix(values: Floats, order: list[int]) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values[np.ix_(order, order)]]


def _is_small(counts: PairCounts, axis: Axis) -> bool:
    if axis in ("seat", "opponent"):
        return True
    place = ("settings", "team_set", "opening").index(axis)
    return len({setup[place] for setup in counts.setups}) <= _MOST_VALUES


def _warnings(ratings: Ratings, names: list[str], found: list[Subset]) -> list[str]:
    said = [
        f"no matches connect {_list([names[at] for at in pool])} with {names[ratings.anchor]}: "
        "their ratings cannot be compared"
        for pool in ratings.pools[1:]
    ]
    for one in holes([cell for cell in found if cell.matches >= _FEWEST]):
        low, high = one.rating.low, one.rating.high
        said.append(
            f"{names[one.player]}: {one.axis.replace('_', ' ')} {one.value or 'none'}: {one.rating.value:+,.0f} "
            f"({low:+,.0f} to {high:+,.0f}), not {one.overall:+,.0f} as over all matches"
        )
    return said


def _circle_warning(p_value: float, worst: tuple[int, int, int] | None, cyclic: float, names: list[str]) -> list[str]:
    if p_value >= _SURE:
        return []
    example = "" if worst is None else ": " + " beats ".join(names[at] for at in (*worst, worst[0]))
    return [f"{cyclic:.0%} of who beats whom goes round in circles, which no rating shows{example}"]


def _list(words: list[str]) -> str:
    return ", ".join(words if len(words) <= 5 else [*words[:4], f"{len(words) - 4} others"])


def _teams(ledger: Ledger, game: str) -> list[dict[str, Any]]:
    from sparring.league.team_ratings import is_mixed, rate_teams

    rated = rate_teams(match for match in ledger.matches() if match.game == game and is_mixed(match))
    names = labels([one.player for one in rated])
    return [
        {
            "player": name,
            **msgspec.structs.asdict(one.player),
            **_interval(asdict(one.rating)),
            "matches": one.matches,
        }
        for name, one in zip(names, rated, strict=True)
    ]
