"""The summary of a tournament, as plain data: standings, cross table, curves, test, kept matches."""

from typing import Any

import numpy as np

from sparring.league.bouts import Series
from sparring.league.intransitivity import payoffs
from sparring.league.keeping import Keeper
from sparring.league.ledger import Identity, Ledger
from sparring.league.orders import orders
from sparring.league.ratings import labels
from sparring.league.schedules import ScoreSheet
from sparring.league.seating import Seating
from sparring.league.sprt import SCORES, Sprt, pair_result
from sparring.league.standings import pair_standings
from sparring.report.tables import forfeits_json


def summarise(
    sheet: ScoreSheet,
    seating: Seating,
    schedule: str,
    test: Sprt | None,
    book: Ledger,
    series: Series,
    *,
    complete: bool,
    confidence: float | None,
) -> dict[str, Any]:
    """The summary, without kept matches; with the orders of players if a `confidence` was asked for."""
    names = labels(sheet.players)
    notes = [one.note for found in sheet.ended.values() for one in found.values() if one.note]
    summary: dict[str, Any] = {
        "ledger": str(book.path),
        "game": seating.game.name,
        "settings": series.settings,
        "schedule": "sprt" if test else schedule,
        "complete": complete,
        "matches": 0,
        "forfeits": forfeits_json(notes),
    }
    counts = sheet.counts()
    if len(counts.first):
        ratings = sheet.ratings()
        summary |= pair_standings(counts, ratings)
        order = [names.index(one["player"]) for one in summary["players"]]
        expected = payoffs(counts)
        summary["cross_table"] = [[_cell(sheet, one, other, expected[one, other]) for other in order] for one in order]
        if confidence is not None and test is None:
            summary["orders"] = orders(sheet, confidence)
        summary["curves"] = _curves(seating, names, summary["players"])
    if test is not None:
        pairs = pentanomial(sheet)
        low, high = test.bounds
        summary["sprt"] = {
            "elo0": test.elo0,
            "elo1": test.elo1,
            "alpha": test.alpha,
            "beta": test.beta,
            "pairs": pairs.tolist(),
            "ratio": test.ratio(pairs),
            "bounds": [low, high],
            "accepted": test.verdict(pairs),
        }
    return summary


def _curves(seating: Seating, names: list[str], players: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """By run: the ratings of its checkpoints in order of updates, if there are several."""
    rated = {one["player"]: one for one in players}
    runs: dict[str, list[dict[str, Any]]] = {}
    for name, entrant in zip(names, seating.entrants, strict=True):
        checkpoint = entrant.checkpoint
        if checkpoint is not None and entrant.folder is not None and entrant.folder.parent.name == "checkpoints":
            one = rated[name]
            point = {"update": checkpoint.version, "rating": one["rating"], "interval": one["interval"]}
            runs.setdefault(str(entrant.folder.parent.parent), []).append(point)
    return {run: sorted(found, key=lambda one: int(one["update"])) for run, found in runs.items() if len(found) > 1}


def _cell(sheet: ScoreSheet, one: int, other: int, points: float) -> dict[str, Any] | None:
    """The results of `one` against `other`; None if they never met."""
    there, here = sheet.results[one, other], sheet.results[other, one]
    wins, draws, losses = (int(there[at] + here[2 - at]) for at in range(3))
    if wins + draws + losses == 0:
        return None
    return {"wins": wins, "draws": draws, "losses": losses, "score": float(points)}


def kept_matches(keeper: Keeper, sheet: ScoreSheet) -> list[dict[str, Any]]:
    """The matches that are kept, settled by the ratings at the end, as plain data."""
    if not sheet.results.any():
        return []
    expected, numbers = sheet.ratings().expected(), {player: at for at, player in enumerate(sheet.players)}
    names = labels(sheet.players)

    def surprise(winner: Identity, loser: Identity) -> float:
        return float(expected[numbers[winner], numbers[loser]])

    found = []
    for id, (kinds, one) in keeper.settle(surprise).items():
        seats, decided = one.match.seats, one.decided
        found.append(
            {
                "id": id,
                "kinds": kinds,
                "path": str(keeper.folder / one.file),
                "players": [names[numbers[seat.identity]] for seat in (seats[0], seats[-1])],
                "winner": None if decided is None else names[numbers[decided[0]]],
                "expected": None if decided is None else surprise(*decided),
                "margin": one.margin,
                "length": one.match.length,
            }
        )
    return found


def pentanomial(sheet: ScoreSheet) -> np.ndarray[Any, np.dtype[np.int64]]:
    """`int64[5]` pairs of matches of the first two players, by the points of the first."""
    found = [pair_result(points) for points in sheet.pair_points((0, 1))]
    return np.bincount(found, minlength=len(SCORES)).astype(np.int64)
