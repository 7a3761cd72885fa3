"""The dex tables, held against facts that every player knows."""

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.pokemon.dex import CATEGORIES, load_dex
from sparring.games.pokemon.formats import find_format, formats, random_battle_formats


def test_numbers_are_the_same_in_every_generation() -> None:
    first, last = load_dex(1), load_dex(9)
    assert first.species.ids == last.species.ids
    assert first.moves.ids == last.moves.ids
    assert first.items.ids == last.items.ids
    assert first.abilities.ids == last.abilities.ids
    assert first.types.ids == last.types.ids


def test_names_are_found_in_any_spelling_and_unknown_ones_are_0() -> None:
    dex = load_dex(9)
    assert dex.species["Mr. Mime"] == dex.species["mrmime"] != 0
    assert dex.species["Gastrodon-East"] == dex.species["gastrodon"]
    assert dex.species["Missingno."] != dex.species["no such thing"] == 0
    assert dex.species.ids[dex.species["Garchomp-Mega"]] == "garchompmega"
    assert dex.moves["hiddenpowerfire"] not in (0, dex.moves["hiddenpower"])


def test_names_print_what_they_are() -> None:
    assert repr(load_dex(9).types).startswith("<Names: ")
    assert "bug" in repr(load_dex(9).types)


def test_row_0_is_the_unknown_thing() -> None:
    dex = load_dex(9)
    assert not dex.species_stats[0].any()
    assert not dex.move_power[0].any()
    assert (dex.effectiveness[0] == 1).all()
    assert (dex.effectiveness[:, 0] == 1).all()


def test_generations_differ_where_the_games_did() -> None:
    first, third, last = load_dex(1), load_dex(3), load_dex(9)
    ghost, psychic = first.types["ghost"], first.types["psychic"]
    assert first.effectiveness[ghost, psychic] == 0
    assert last.effectiveness[ghost, psychic] == 2
    bite = last.moves["bite"]
    assert first.types.ids[first.move_type[bite]] == "normal"
    assert CATEGORIES[third.move_category[bite]] == "Special"
    assert CATEGORIES[last.move_category[bite]] == "Physical"
    assert not first.species_exists[first.species["chikorita"]]
    assert third.species_exists[third.species["chikorita"]]


def test_facts_of_well_known_things() -> None:
    dex = load_dex(9)
    garchomp = dex.species["garchomp"]
    np.testing.assert_array_equal(dex.species_stats[garchomp], [108, 130, 95, 80, 85, 102])
    assert [dex.types.ids[number] for number in dex.species_types[garchomp]] == ["dragon", "ground"]
    scald = dex.moves["scald"]
    assert (dex.move_power[scald], dex.move_pp[scald], dex.move_accuracy[scald]) == (80, 24, 1.0)
    assert tuple(dex.move_hits[dex.moves["bulletseed"]]) == (2, 5)
    assert dex.move_drain[dex.moves["gigadrain"]] == 0.5
    assert dex.move_drain[dex.moves["bravebird"]] == pytest.approx(-0.33)
    assert dex.move_sure[dex.moves["swift"]]


def test_champions_has_its_own_moves_under_the_same_numbers() -> None:
    champions, nine = load_dex(find_format("gen9championsvgc2026regmb").tables), load_dex(9)
    assert load_dex(find_format("gen9vgc2025regi").tables) is nine
    assert champions.generation == 9
    for names in ("species", "moves", "abilities", "items", "types"):
        assert getattr(champions, names).ids == getattr(nine, names).ids
    protect, fang = nine.moves["protect"], nine.moves["fishiousrend"]
    assert (nine.move_pp[protect], champions.move_pp[protect]) == (16, 8)
    assert (nine.move_power[fang], champions.move_power[fang]) == (85, 80)
    assert champions.move_pp.max() == 20


def test_a_generation_that_does_not_exist_is_refused() -> None:
    for tables in (10, 0, "1", "gen10", None, 1.0):
        with pytest.raises(InputError, match=f"generation {tables!r}; allowed: 1 to 9, or a format's tables"):
            load_dex(tables)  # type: ignore[arg-type]


def test_formats_know_their_rules() -> None:
    vgc = find_format("gen9vgc2025regi")
    assert (vgc.active, vgc.team_preview, vgc.picked_team_size, vgc.adjust_level) == (2, True, 4, 50)
    for kind in ("A", "B"):
        champions = find_format(f"[Gen 9 Champions] VGC 2026 Reg M-{kind}")
        assert (champions.active, champions.team_preview, champions.picked_team_size) == (2, True, 4)
        assert champions.open_team_sheets
    gen1 = find_format("[Gen 1] Random Battle")
    assert (gen1.id, gen1.generation, gen1.active, gen1.random_teams) == ("gen1randombattle", 1, 1, True)
    assert not gen1.team_preview
    assert {f"gen{number}ou" for number in range(1, 10)} <= set(formats())
    assert {f"gen{number}randombattle" for number in range(1, 10)} <= set(random_battle_formats())


def test_an_unknown_format_is_named_with_near_ones() -> None:
    with pytest.raises(InputError, match=r"unknown Pokémon format 'gen9random'; near: .*gen9randombattle"):
        find_format("gen9random")
    with pytest.raises(InputError, match=r"'gen10ou'; near: gen9ou, gen8ou, .*, gen1ou$"):
        find_format("gen10ou")
    with pytest.raises(InputError, match=r"near: gen9championsvgc2026regmb$"):
        find_format("gen9vgc2026regmb")
    with pytest.raises(InputError, match=r"'xyz'; e\.g\. gen1randombattle"):
        find_format("xyz")
