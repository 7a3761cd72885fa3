"""The tracker's state is the simulator's own, as far as a side may know it, at every decision of random battles."""

import pytest

from sparring.games.pokemon.formats import find_format
from tests.games.pokemon.truth import Checker, play

FAMILIES = [
    pytest.param("gen1randombattle", "", id="gen1"),
    pytest.param("gen2randombattle", "", id="gen2"),
    pytest.param("gen3randombattle", "", id="gen3"),
    pytest.param("gen4randombattle", "", id="gen4"),
    pytest.param("gen5doublesou", "gen5randombattle", id="gen5-doubles"),
    pytest.param("gen6ou", "gen6randombattle", id="gen6-mega"),
    pytest.param("gen7ou", "gen7randombattle", id="gen7-mega-z"),
    pytest.param("gen8randombattle", "", id="gen8-dynamax"),
    pytest.param("gen8doublesou", "gen8randombattle", id="gen8-doubles"),
    pytest.param("gen9randombattle", "", id="gen9"),
    pytest.param("gen9randomdoublesbattle", "", id="gen9-doubles"),
    pytest.param("gen9vgc2024regg", "gen9randomdoublesbattle", id="gen9-vgc"),
    pytest.param("gen9nationaldex", "gen7randombattle", id="gen9-nationaldex"),
    pytest.param("gen9nationaldexdoubles", "gen7randombattle", id="gen9-nationaldex-doubles"),
    pytest.param("gen9championsrandombattle", "", id="champions"),
    pytest.param("gen9championsvgc2026regma", "gen9championsrandombattle", id="champions-vgc-regma"),
    pytest.param("gen9championsvgc2026regmb", "gen9championsrandombattle", id="champions-vgc-regmb"),
]


def check(format: str, teams: str, battles: int, seed: int) -> None:
    checker = Checker(find_format(format).tables)
    for point in play(format, battles, seed, teams):
        checker.step(point)
    assert checker.decisions > 20 * battles
    assert checker.differences == []
    assert checker.unknown == {}


@pytest.mark.parametrize(("format", "teams"), FAMILIES)
def test_the_state_is_the_simulators_own(format: str, teams: str) -> None:
    check(format, teams, battles=2, seed=7)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("format", "teams"), FAMILIES)
def test_the_state_is_the_simulators_own_in_many_battles(format: str, teams: str) -> None:
    check(format, teams, battles=500, seed=1)
