"""Which orders are proven, and what would settle the others."""

import numpy as np
import pytest

from sparring.league.ledger import Identity
from sparring.league.orders import orders
from sparring.league.schedules import ScoreSheet
from sparring.report.tournament import orders_text

NAMES = ("ann", "ben", "cid")


def sheet(results):
    """(wins, losses) of the first of each two players in either seat."""
    found = ScoreSheet.empty(tuple(Identity(name=name) for name in NAMES[: 1 + max(map(max, results))]), 0)
    for (one, other), (wins, losses) in results.items():
        found.results[one, other] += [wins, 0, losses]
        found.results[other, one] += [losses, 0, wins]
    return found


def test_orders_are_proven_or_open():
    found = orders(sheet({(0, 1): (27, 23), (1, 2): (45, 5)}), 0.95)
    assert [(one["stronger"], one["weaker"]) for one in found["proven"]] == [("ben", "cid"), ("ann", "cid")]
    (left,) = found["open"]
    assert (left["stronger"], left["weaker"]) == ("ann", "ben")
    assert 0.7 < left["chance"] < 0.95
    assert [line.plain for line in orders_text(found, NAMES)] == [
        "who is stronger, each order at 95% confidence",
        "  ann is stronger than cid",
        "  ben is stronger than cid",
        f"  open: ann over ben, {left['chance']:.0%} certain; about {left['matches']:,} more matches",
    ]


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_the_matches_that_would_settle_an_order_do_if_they_go_on_like_this(confidence):
    (left,) = orders(sheet({(0, 1): (54, 46)}), confidence)["open"]
    scale = 1 + left["matches"] / 200
    more, fewer = (
        sheet({(0, 1): tuple(np.round(np.array([54, 46]) * part).astype(int))}) for part in (scale, 0.8 * scale)
    )
    assert orders(sheet({(0, 1): (54, 46)}), confidence)["proven"] == []
    assert orders(fewer, confidence)["open"]
    (settled,) = [*orders(more, confidence)["proven"], *orders(more, confidence)["open"]]
    assert settled["chance"] == pytest.approx(confidence, abs=0.015)


def test_equals_are_told_as_equals():
    found = orders(sheet({(0, 1): (10, 10)}), 0.95)
    assert found["open"][0]["matches"] is None or found["open"][0]["matches"] > 1_000_000
    told = orders_text(found, NAMES[:2])[1].plain
    assert "more than a million more matches" in told or "nothing between them" in told


def test_the_strongest_of_several_is_said_to_be_stronger_than_all_others():
    found = orders(sheet({(0, 1): (45, 5), (1, 2): (45, 5)}), 0.95)
    assert [line.plain for line in orders_text(found, NAMES)][1:] == [
        "  ann is stronger than all others",
        "  ben is stronger than cid",
    ]
