"""What the simulator tells a side instead of whole requests and all lines: nothing is lost by it."""

from typing import Any

import numpy as np
import pytest

from sparring.games.pokemon.requests import next_request
from sparring.games.pokemon.tracker import Tracker
from tests.games.pokemon.truth import play

FAMILIES = [
    pytest.param("gen1randombattle", "", 2, "|-transform|", id="gen1-transform"),
    pytest.param("gen4randombattle", "", 7, "|switch|", id="gen4"),
    pytest.param("gen7ou", "gen7randombattle", 0, "|-mega|", id="gen7-mega"),
    pytest.param("gen8doublesou", "gen8randombattle", 0, "|Dynamax", id="gen8-dynamax"),
    pytest.param("gen9randombattle", "", 4, "|replace|", id="gen9-illusion"),
    pytest.param("gen9randomdoublesbattle", "", 7, "|-terastallize|", id="gen9-doubles"),
    pytest.param("gen9vgc2024regg", "gen9randomdoublesbattle", 7, "|teampreview", id="gen9-vgc"),
]


@pytest.fixture(scope="module", params=[pytest.param(entry.values, id=entry.id) for entry in FAMILIES])
def family(request: pytest.FixtureRequest) -> tuple[str, str, list[dict[str, Any]]]:
    """A format, what its battles must show, and the decision points of three."""
    format, teams, seed, shown = request.param
    return format, shown, list(play(format, 3, seed, teams))


def test_changes_make_the_request_that_showdown_had(family: tuple[str, str, list[dict[str, Any]]]) -> None:
    _, shown, points = family
    battle, seen, compared = -1, False, 0
    last: list[dict] = [{}, {}]
    for point in points:
        if point["battle"] != battle:
            battle, last = point["battle"], [{}, {}]
        for side, told in enumerate(point["sides"]):
            seen |= any(shown in line for line in told["lines"])
            if told["told"] is None:
                continue
            before = last[side]
            kept = repr(before)
            last[side] = next_request(told["told"]["request"], before)
            assert last[side] == told["request"]
            assert repr(before) == kept
            compared += 1
    assert seen
    assert compared > 50


def test_a_tracker_sees_the_same_by_what_is_told(family: tuple[str, str, list[dict[str, Any]]]) -> None:
    format, _, points = family
    battle = -1
    for point in points:
        if point["battle"] != battle:
            battle, last = point["battle"], [{}, {}]
            whole, short = ([Tracker(int(format[3]), side) for side in ("p1", "p2")] for _ in range(2))
        for side, sent in enumerate(point["sides"]):
            whole[side].lines(sent["lines"])
            if sent["told"] is None:
                continue
            whole[side].request(sent["request"])
            last[side] = next_request(sent["told"]["request"], last[side])
            short[side].lines(sent["told"]["lines"].split("\n"))
            short[side].request(last[side])
            assert np.array_equal(whole[side].ids, short[side].ids)
            assert np.array_equal(whole[side].floats, short[side].floats)
            assert whole[side].offer == short[side].offer


def test_what_did_not_change_is_the_same_object() -> None:
    whole = '{"active":[1],"side":{"name":"A","id":"p1","pokemon":[{"ident":"x","hp":1},{"ident":"y","hp":2}]}}'
    first = next_request(whole, {})
    second = next_request('[[1,0],[[1,{"hp":0}]],{"forceSwitch":[true]}]', first)
    team = [{"ident": "y", "hp": 2}, {"ident": "x", "hp": 0}]
    assert second == {"forceSwitch": [True], "side": {"name": "A", "id": "p1", "pokemon": team}}
    assert second["side"]["pokemon"][0] is first["side"]["pokemon"][1]
    assert first["side"]["pokemon"][0] == {"ident": "x", "hp": 1}
    third = next_request('[0,[],{"wait":true}]', second)
    assert third["side"]["pokemon"] == team
