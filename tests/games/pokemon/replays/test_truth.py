"""Parsed logs against the truth: battles of the simulator, of which we know what players saw and chose."""

import pytest

from tests.games.pokemon.replays.truth import Comparison, played

FAMILIES = [
    "gen1randombattle",
    "gen2randombattle",
    "gen4randombattle",
    "gen7randombattle",
    "gen8randombattle",
    "gen9randombattle",
    "gen9ou",
    "gen9randomdoublesbattle",
    "gen9vgc2025regi",
]


def compare(format: str, player: str, battles: int, seed: int) -> Comparison:
    comparison = Comparison(format)
    for battle in played(format, player, battles, seed):
        comparison.add(battle)
    return comparison


@pytest.mark.parametrize("format", FAMILIES)
def test_the_true_choice_is_always_among_the_parsed_and_what_shows_is_as_it_was_seen(format: str) -> None:
    for player in ("random", "heuristic"):
        comparison = compare(format, player, 4, seed=5)
        assert comparison.missing == []
        assert {kind: times for kind, times in comparison.differences.items() if times} == {}
        assert comparison.exact > comparison.decisions / 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("player", ["random", "heuristic"])
@pytest.mark.parametrize("format", FAMILIES)
def test_the_truth_at_length(format: str, player: str) -> None:
    comparison = compare(format, player, 500, seed=1)
    print(f"{format} {player}: {comparison.exact / comparison.decisions:.1%} exact, {comparison.unbroken} unbroken")
    assert comparison.missing == []
    assert {kind: times for kind, times in comparison.differences.items() if times} == {}
