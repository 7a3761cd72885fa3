"""Candidate sets: what teams are unpacked into, what is expected of a format, and what a corpus says of usage."""

import pytest

from sparring.games.pokemon.belief import SetPool, format_pool, pool_of_teams, with_usage
from sparring.games.pokemon.belief.notes import Known
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.teams import built_in_teams
from sparring.games.pokemon.tracking.tables import load_tables
from tests.games.pokemon.belief.honesty import true_set
from tests.games.pokemon.replays.truth import played


@pytest.mark.parametrize("name", ["gen1ou", "gen4ou", "gen8ou", "gen9ou"])
def test_unpacked_sets_are_what_the_simulator_makes_of_them(name: str) -> None:
    tables = load_tables(find_format(name).tables)
    sets = pool_of_teams(built_in_teams(find_format(name)), tables).sets
    for battle in played(name, "random", 2, seed=2):
        for side in battle["sides"]:
            for entry in side[0]["request"]["side"]["pokemon"]:
                assert true_set(entry, tables) in sets


def test_a_preview_hides_formes_and_the_field_shows_them() -> None:
    tables = load_tables(9)
    species = tables.dex.species
    pool = pool_of_teams(["Urshifu||Leftovers|||||||||]Urshifu-Rapid-Strike||Leftovers|||||||||"], tables)
    assert len(pool.candidates(species["Urshifu"], 100, forme_shown=False)) == 2
    assert [one.species for one in pool.candidates(species["Urshifu"], 100).sets] == [species["Urshifu"]]
    assert len(pool.candidates(species["Urshifu-Gmax"], 100)) == 2


def test_a_sample_leaves_room_for_what_it_missed() -> None:
    tables = load_tables(9)
    often = pool_of_teams(["Mew||Leftovers|||||||||"] * 50, tables).candidates(tables.dex.species["Mew"], 100)
    once = pool_of_teams(["Mew||Leftovers|||||||||"], tables).candidates(tables.dex.species["Mew"], 100)
    assert often.other < 0.02 < 0.5 < once.other


@pytest.mark.parametrize("name", ["gen1ou", "gen8ou", "gen8doublesou", "gen9ou", "gen9vgc2025regi", "gen9randombattle"])
def test_every_format_has_candidates(name: str) -> None:
    format = find_format(name)
    pool = format_pool(format)
    assert len(pool.sets) > 100
    assert all(one.species and one.moves for one in pool.sets)
    if format.adjust_level:
        assert {one.level for one in pool.sets} == {format.adjust_level}


def _known(pool: SetPool, item: str, move: str) -> Known:
    dex = pool.dex
    number = -1 if not item else dex.items[item]
    return Known(dex.species["Mew"], True, 100, number, 0, (dex.moves[move],), 0)


def test_usage_is_counted_from_what_battles_show() -> None:
    tables = load_tables(9)
    dex = tables.dex
    pool = pool_of_teams(["Mew||Leftovers||surf,roost|||||||]Mew||Life Orb||surf,psychic|||||||"], tables, other=0.5)
    shown = (
        [_known(pool, "Leftovers", "surf")] * 6
        + [_known(pool, "Life Orb", "surf")] * 2
        + [_known(pool, "", "surf")] * 4
    )
    counted = with_usage(pool, shown).candidates(dex.species["Mew"], 100)
    shares = {one.item: share for one, share in zip(counted.sets, counted.prior.tolist(), strict=True)}
    assert shares[dex.items["Leftovers"]] == pytest.approx(9.5 / 13, abs=0.05)
    strange = with_usage(pool, [_known(pool, "Choice Band", "explosion")] * 20).candidates(dex.species["Mew"], 100)
    assert strange.other > 0.8
