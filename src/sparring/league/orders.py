"""Who is proven stronger than whom, and how many more matches would settle what is open, as plain data."""

from math import ceil
from typing import Any

from scipy.special import ndtri

from sparring.league.ratings import ELO, labels
from sparring.league.schedules import Pair, ScoreSheet, knowledge


def orders(sheet: ScoreSheet, confidence: float) -> dict[str, Any]:
    """The orders that are at least so certain, each on its own, and those that are not, the surest first.

    An open order comes with the matches that would settle it if the two played only each other, and if the ratings are
    right; None if they are equal.
    """
    ratings, names = sheet.ratings(), labels(sheet.players)
    sure, told = ratings.superiority(), knowledge(sheet).told
    proven, open_ = [], []
    for one, other in sheet.pairs:
        pair: Pair = (one, other) if sure[one, other] >= sure[other, one] else (other, one)
        chance = float(sure[pair])
        found = {"stronger": names[pair[0]], "weaker": names[pair[1]], "chance": chance}
        if chance >= confidence:
            proven.append(found)
            continue
        gap, error = (ratings.rating[pair[0]] - ratings.rating[pair[1]]) / ELO, ratings.error(*pair) / ELO
        certain = float(ndtri(confidence)) / gap if gap > 0 else None  # 1 / the error at which the gap is proven
        more = None if certain is None else (certain**2 - error**-2) / told[pair]
        open_.append({**found, "matches": None if more is None else 2 * ceil(more / 2)})
    return {
        "confidence": confidence,
        "proven": sorted(proven, key=lambda one: -one["chance"]),
        "open": sorted(open_, key=lambda one: -one["chance"]),
    }
