"""Beliefs against the truth: battles of the simulator whose teams come from a known pool."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sparring.games.pokemon.belief import pool_of_teams
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.setup import Installation
from sparring.games.pokemon.teams import POOL_TEAMS, built_in_teams
from sparring.games.pokemon.tracking.tables import load_tables
from tests.games.pokemon.belief.honesty import Honesty
from tests.games.pokemon.belief.pools import varied_teams
from tests.games.pokemon.replays.truth import played

PARALLEL = 8
"""Battles that `played` has under way at the same time: so many more may have been begun."""


def judge(name: str, battles: list[dict[str, Any]], installed: Installation, *, weighing: bool = True) -> Honesty:
    format = find_format(name)
    if format.random_teams:
        pools = range(-(-(len(battles) + PARALLEL) // POOL_TEAMS))
        teams = [team for at in pools for team in (installed.pools / name / f"{at}.txt").read_text().splitlines()]
    else:
        teams = built_in_teams(format)
    honesty = Honesty(format, pool_of_teams(teams, load_tables(format.tables), other=0.0), weighing=weighing)
    for battle in battles:
        honesty.add(battle)
    return honesty


@cache
def few(name: str) -> list[dict[str, Any]]:
    """24 battles, the same every time."""
    return played(name, "heuristic", 24, 3)


@pytest.mark.parametrize("format", ["gen4ou", pytest.param("gen9ou", marks=pytest.mark.slow), "gen9randombattle"])
def test_the_posterior_is_better_than_usage_shares_and_its_probabilities_hold(
    format: str, installed: Installation
) -> None:
    honesty = judge(format, few(format), installed)
    losses = honesty.loss_by_turn()
    assert losses[1][0] <= losses[1][1] + 0.01  # little has shown
    assert all(posterior < 0.8 * usage for turn, (posterior, usage) in losses.items() if turn > 1)
    said, held, count = honesty.held(0.7, 0.9)
    assert count > 50
    assert abs(said - held) < 0.15  # 24 battles of six Pokémon a side are few


def test_damage_and_the_order_of_moves_tell_more(installed: Installation) -> None:
    """Of the same battles, read with and without them."""
    with_them, without = (
        sum(loss for loss, _ in judge("gen4ou", few("gen4ou"), installed, weighing=weighing).loss_by_turn().values())
        for weighing in (True, False)
    )
    assert with_them < 0.8 * without


def tell(name: str, honesty: Honesty) -> None:
    """Prints what docs/replays.md quotes."""
    print(name, "log loss by turn, posterior/usage:", end=" ")
    print(" ".join(f"{posterior:.3f}/{usage:.3f}" for posterior, usage in honesty.loss_by_turn().values()))
    for turns in (range(1, 21), *(range(first, first + 5) for first in range(1, 21, 5))):
        said, held, count = honesty.held(0.75, 0.85, turns)
        low, high = honesty.interval(0.75, 0.85, turns)
        print(f"  turns {turns[0]}-{turns[-1]}: {said:.1%} said, {held:.1%} held of {count:,}", end=" ")
        print(f"({low:+.1%} to {high:+.1%})")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("player", ["random", "heuristic"])
@pytest.mark.parametrize("format", ["gen9ou", "gen9randombattle"])
def test_the_posterior_is_honest_at_length(format: str, player: str, installed: Installation) -> None:
    honesty = judge(format, played(format, player, 1000, 1), installed)
    tell(f"{format} {player}", honesty)
    said, held, _ = honesty.held(0.75, 0.85)
    assert all(posterior < usage for posterior, usage in honesty.loss_by_turn().values())
    assert abs(said - held) <= 0.02


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("player", ["random", "heuristic"])
def test_the_posterior_is_honest_about_many_different_sets(player: str, tmp_path: Path) -> None:
    """The built-in teams of gen4ou are of so few sets that 97 items, abilities and moves come again and again."""
    format = find_format("gen4ou")
    teams = varied_teams(format, 1000, seed=1)
    (tmp_path / "teams.txt").write_text("\n".join(teams))
    honesty = Honesty(format, pool_of_teams(teams, load_tables(format.tables), other=0.0))
    for battle in played("gen4ou", player, 1500, 1, team_set=str(tmp_path / "teams.txt")):
        honesty.add(battle)
    tell(f"gen4ou {player}", honesty)
    said, held, _ = honesty.held(0.75, 0.85)
    assert all(posterior < usage for posterior, usage in honesty.loss_by_turn().values())
    assert abs(said - held) <= 0.02
