"""The tracker's state is the simulator's own, as far as a side may know it, at every decision of random battles."""

from collections.abc import Sequence

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

PASSING = (
    *("allyswitch", "protect", "detect", "endure", "followme", "ragepowder", "helpinghand", "feint"),
    *("focuspunch", "roost", "magiccoat", "destinybond", "grudge", "charge", "lockon", "meanlook", "taunt", "encore"),
    *("disable", "wrap", "leechseed", "uturn", "voltswitch", "batonpass", "partingshot", "skillswap", "transform"),
    *("futuresight", "wish", "healingwish", "yawn", "confuseray", "hyperbeam", "fly", "explosion", "earthquake"),
)
"""Ally Switch, and moves whose effects last a turn or hang on a place or on another Pokémon."""
# In generation 5 the second Quick Guard of a side shows neither that it worked nor that it failed.
GENERATION_6 = ("quickguard", "wideguard", "kingsshield", "spikyshield", "matblock", "craftyshield")
GENERATION_7 = ("beakblast", "shelltrap", "spotlight", "banefulbunker", "laserfocus")
GENERATION_9 = ("silktrap", "burningbulwark", "glaiverush", "obstruct", "dragoncheer", "shedtail")
SWITCHING_ALLIES = [
    pytest.param("gen5doublesou", "gen5randombattle", PASSING, id="gen5"),
    pytest.param("gen7doublesou", "gen7randombattle", (*PASSING, *GENERATION_6, *GENERATION_7), id="gen7"),
    pytest.param("gen8doublesou", "gen8randombattle", (*PASSING, *GENERATION_6, *GENERATION_7), id="gen8"),
    pytest.param(
        "gen9doublesou",
        "gen9randomdoublesbattle",
        (*PASSING, *GENERATION_6, *GENERATION_7, *GENERATION_9),
        id="gen9",
    ),
]


def check(format: str, teams: str, battles: int, seed: int, moves: Sequence[str] = ()) -> None:
    checker = Checker(find_format(format).tables)
    for point in play(format, battles, seed, teams, moves=moves):
        checker.step(point)
    assert checker.decisions > 20 * battles
    assert checker.differences == []
    assert checker.unknown == {}


@pytest.mark.parametrize(("format", "teams"), FAMILIES)
def test_the_state_is_the_simulators_own(format: str, teams: str) -> None:
    check(format, teams, battles=2, seed=7)


@pytest.mark.parametrize(("format", "teams", "moves"), SWITCHING_ALLIES)
def test_what_lasts_a_turn_goes_with_allies_that_switch_places(format: str, teams: str, moves: Sequence[str]) -> None:
    check(format, teams, battles=3, seed=7, moves=moves)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("format", "teams"), FAMILIES)
def test_the_state_is_the_simulators_own_in_many_battles(format: str, teams: str) -> None:
    check(format, teams, battles=500, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("format", "teams", "moves"), SWITCHING_ALLIES)
def test_what_lasts_a_turn_goes_with_allies_that_switch_places_in_many_battles(
    format: str, teams: str, moves: Sequence[str]
) -> None:
    check(format, teams, battles=500, seed=1, moves=moves)
