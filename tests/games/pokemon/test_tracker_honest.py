"""A side's observation holds nothing that the side may not know."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from sparring.games.pokemon.columns import SLOTS, TEAM, ActiveId, PokemonColumn
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.tracker import Tracker
from tests.games.pokemon.truth import play


def observations(points: list[dict[str, Any]], tables: int | str, side: int) -> list[dict[str, np.ndarray]]:
    """What one side of one battle sees at each decision point."""
    tracker = Tracker(tables, f"p{side + 1}")
    seen = []
    for point in points:
        rows = ObservationRows(1)
        tracker.lines(point["sides"][side]["lines"])
        if point["sides"][side]["request"] is not None:
            tracker.request(point["sides"][side]["request"])
        tracker.write(rows, 0)
        seen.append({name: field[0] for name, field in rows.fields.items()})
    return seen


def by_battle(points: Any) -> Iterator[list[dict[str, Any]]]:
    for _, group in groupby(points, key=lambda point: point["battle"]):
        yield list(group)


def told(side: dict[str, Any]) -> tuple[list[str], list[bool]]:
    """What Showdown tells a side of the foe: lines, and of the first of two Pokémon, whether somebody traps it."""
    lines = [line for line in side["lines"] if not line.startswith("|t:|")]
    return lines, ["trapped" in place for place in (side["request"] or {}).get("active", [])]


def copies(lines: list[str]) -> bool:
    """Whether a Pokémon of the first side becomes a copy of a foe, all of whose moves its next request lists."""
    return any(line.startswith("|-transform|p1") for line in lines)


FAMILIES = [
    pytest.param("gen1randombattle", "", id="gen1"),
    pytest.param("gen9randombattle", "", id="gen9"),
    pytest.param("gen9randomdoublesbattle", "", id="gen9-doubles"),
    pytest.param("gen9vgc2024regg", "gen9randomdoublesbattle", id="gen9-vgc"),
    pytest.param("gen9championsvgc2026regmb", "gen9championsrandombattle", id="champions-vgc"),
]


def check_hidden_facts(format: str, teams: str, battles: int) -> None:
    """Plays battles twice with other hidden facts of the foe, and compares what is seen until they show."""
    tables = find_format(format).tables
    compared = 0
    pairs = zip(
        by_battle(play(format, battles, 5, teams, steps=12)),
        by_battle(play(format, battles, 5, teams, hidden=True, steps=12)),
        strict=True,
    )
    for one, other in pairs:
        assert one[0]["truth"]["sides"][1] != other[0]["truth"]["sides"][1]
        seen, seen_other = observations(one, tables, 0), observations(other, tables, 0)
        for index, (point, changed) in enumerate(zip(one, other, strict=False)):
            if told(point["sides"][0]) != told(changed["sides"][0]) or copies(point["sides"][0]["lines"]):
                break
            assert point["truth"]["sides"][1] != changed["truth"]["sides"][1]
            for name, field in seen[index].items():
                np.testing.assert_array_equal(field, seen_other[index][name], err_msg=name)
            compared += 1
    assert compared >= battles


@pytest.mark.parametrize(("format", "teams"), FAMILIES)
def test_hidden_facts_of_the_foe_leave_the_observation_unchanged_until_they_show(format: str, teams: str) -> None:
    check_hidden_facts(format, teams, battles=5)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("format", "teams"), FAMILIES)
def test_hidden_facts_leave_the_observation_unchanged_in_many_battles(format: str, teams: str) -> None:
    check_hidden_facts(format, teams, battles=500)


def test_foes_that_were_never_seen_are_empty_rows() -> None:
    for battle in by_battle(play("gen9randombattle", 2, 6)):
        for side in (0, 1):
            for point, seen in zip(battle, observations(battle, 9, side), strict=True):
                shown = {
                    line.split("|")[2][5:]
                    for earlier in battle[: point["step"] + 1]
                    for line in earlier["sides"][side]["lines"]
                    if line.startswith((f"|switch|p{2 - side}", f"|drag|p{2 - side}", f"|replace|p{2 - side}"))
                }
                known = seen["pokemon"][TEAM:, PokemonColumn.KNOWN] > 0
                assert known.sum() == len(shown)
                assert not seen["pokemon_ids"][TEAM:][~known].any()
                assert not seen["move_ids"][TEAM:][~known].any()
                assert not seen["pokemon"][TEAM:][~known].any()


@pytest.mark.parametrize("format", ["gen1randombattle", "gen9randomdoublesbattle"])
def test_when_both_sides_replace_neither_sees_the_others_choice_before_its_own(format: str) -> None:
    double = 0
    for battle in by_battle(play(format, 10, 9)):
        views = [observations(battle, int(format[3]), side) for side in (0, 1)]
        for step, point in enumerate(battle[:-1]):
            requests = [side["request"] for side in point["sides"]]
            if not all("forceSwitch" in request for request in requests):
                continue
            double += 1
            for side in (0, 1):
                for slot, must in enumerate(requests[1 - side]["forceSwitch"]):
                    gone = point["truth"]["sides"][1 - side]["pokemon"]
                    down = all(not foe["active"] or foe["position"] != slot for foe in gone)
                    if must and down:
                        assert views[side][step]["active_ids"][SLOTS + slot, ActiveId.POKEMON] == 0
                came = [line for line in battle[step + 1]["sides"][side]["lines"] if line.startswith("|switch|")]
                assert not any(line in point["sides"][side]["lines"] for line in came)
    assert double >= 1
