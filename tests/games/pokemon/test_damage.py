"""The damage formula against @smogon/calc, and the estimate of whole observation rows."""

from enum import IntEnum

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.pokemon.columns import (
    LEVEL_SCALE,
    SLOTS,
    STAT_SCALE,
    TEAM,
    ActiveColumn,
    ActiveId,
    FieldColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.damage import DAMAGE_FIELDS, DamageEstimate
from sparring.games.pokemon.damage.effects import Ability, Item, Kind, codes
from sparring.games.pokemon.damage.tables import T, load_tables
from sparring.games.pokemon.dex import Names, load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.setup import Installation, installation
from tests.games.pokemon.matchups import Matchups, smogon


@pytest.fixture(scope="module")
def found() -> Installation:
    try:
        return installation()
    except InputError as error:
        pytest.skip(str(error))


def compare(found: Installation, tables: int | str, count: int) -> tuple[float, float, float]:
    """(median, 95th percentile of the relative error of mean damage, share of match-ups where only one sees none)."""
    draw = Matchups(tables, seed=tables if isinstance(tables, int) else 0)
    matches = [draw.draw() for _ in range(count)]
    errors, disagree = [], 0
    for match, said in zip(matches, smogon(found, matches), strict=True):
        if said is None:
            count -= 1
            continue
        low, high, hits = draw.kernel(match)
        ours, theirs = (low + high) / 2 * (said[2] / hits if hits > 1 else 1.0), (said[0] + said[1]) / 2
        if (ours == 0) != (theirs == 0):
            disagree += 1
        elif theirs > 0:
            errors.append(abs(ours - theirs) / max(theirs, 1.0))
    assert len(errors) > 0.7 * count
    median, most = np.quantile(errors, [0.5, 0.95])
    print(f"{tables}: {len(errors)} match-ups, median {median:.4f}, 95% {most:.4f}, {disagree} differ in kind")
    return float(median), float(most), disagree / count


@pytest.mark.parametrize("tables", [*range(2, 10), "champions"])
def test_every_description_of_an_item_that_tells_of_damage_is_understood(tables: int | str) -> None:
    items, ids, raw = load_tables(tables).items, load_dex(tables).items.ids, load_dex(tables).raw["items"]
    raised = {id for id, row in zip(ids, items, strict=True) if row[T.RAISED]}
    resisted = {id for id, row in zip(ids, items, strict=True) if row[T.RESISTED]}
    texts = {id: raw[id].get("shortDesc", "") for id in ids[1:]}
    by_category = {"muscleband", "punchingglove", "wiseglasses"}  # not by type: the formula knows them by name
    assert {id for id, text in texts.items() if "x power" in text} == raised | by_category
    assert {id for id, text in texts.items() if "Halves damage" in text} == resisted
    assert len(raised) == (71 if tables == "champions" or int(tables) > 6 else 70)
    assert len(resisted) == 18


@pytest.mark.parametrize("kinds", [Kind, Item, Ability])
def test_all_effects_of_the_kernel_are_there_in_the_pinned_showdown(kinds: type[IntEnum]) -> None:
    dex = load_dex(9)
    names = {Kind: dex.moves, Item: dex.items, Ability: dex.abilities}[kinds]
    assert set(kinds) <= set(codes(kinds, names).tolist())


def test_a_showdown_that_lacks_an_effect_does_without_it() -> None:
    abilities = load_dex(9).abilities
    older = Names([id for id in abilities.ids[1:] if id != "hugepower"], {})
    table = codes(Ability, older)
    assert Ability.HUGE_POWER not in table
    assert table[older["purepower"]] == Ability.PURE_POWER
    assert table[0] == 0


def test_the_incense_of_generation_3_raises_by_a_twentieth() -> None:
    for generation, percent in ((3, 105), (4, 120)):
        number = load_dex(generation).items["seaincense"]
        assert load_tables(generation).items[number, T.PERCENT_RAISED] == percent


@pytest.mark.parametrize("tables", [1, 4, 9, "champions"])
def test_the_formula_agrees_with_smogons_calculator(found: Installation, tables: int | str) -> None:
    median, most, disagree = compare(found, tables, 400)
    assert median < 0.005
    assert most < 0.05
    assert disagree < 0.01


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tables", [*range(1, 10), "champions"])
def test_the_formula_agrees_with_smogons_calculator_over_thousands(found: Installation, tables: int | str) -> None:
    median, most, disagree = compare(found, tables, 4000)
    assert median < 0.002
    assert most < 0.03
    assert disagree < 0.002


class Scene:
    """One observation row, set by name."""

    def __init__(self, format_id: str) -> None:
        self.format = find_format(format_id)
        self.dex = load_dex(self.format.tables)
        self.rows = ObservationRows(2)
        self.fields = self.rows.first(1)
        self.fields["field"][0, FieldColumn.DOUBLES] = self.format.active == 2

    def put(self, row: int, species: str, *, moves: tuple[str, ...] = (), place: int = -1, stat: int = 0) -> None:
        number = self.dex.species[species]
        ids, numbers = self.fields["pokemon_ids"][0, row], self.fields["pokemon"][0, row]
        ids[PokemonId.SPECIES] = number
        ids[[PokemonId.TYPE_1, PokemonId.TYPE_2]] = self.dex.species_types[number]
        numbers[[PokemonColumn.KNOWN, PokemonColumn.HP]] = 1.0
        numbers[PokemonColumn.LEVEL] = 100 / LEVEL_SCALE
        if stat:
            numbers[PokemonColumn.STAT_ATK : PokemonColumn.STAT_SPE + 1] = stat / STAT_SCALE
            numbers[PokemonColumn.MAX_HP] = stat / STAT_SCALE
        known = [self.dex.moves[move] for move in moves]
        self.fields["move_ids"][0, row, : len(known)] = known
        if place >= 0:
            self.fields["active_ids"][0, place, ActiveId.POKEMON] = row + 1
            self.fields["active_ids"][0, place, ActiveId.SPECIES] = number
            self.fields["active_ids"][0, place, [ActiveId.TYPE_1, ActiveId.TYPE_2]] = self.dex.species_types[number]
            self.fields["active"][0, place, ActiveColumn.PRESENT] = 1
            self.fields["active_move_ids"][0, place, : len(known)] = known

    def estimate(self) -> dict[str, np.ndarray]:
        out = {name: field.zeros(2) for name, field in DAMAGE_FIELDS.items()}
        DamageEstimate(self.format).write(self.fields, out)
        return {name: array[0] for name, array in out.items()}


FOE = TEAM


def test_own_and_foe_moves_are_estimated_both_ways(found: Installation) -> None:
    scene = Scene("gen9randombattle")
    scene.put(0, "Pikachu", moves=("thunderbolt", "surf", "growl"), place=0, stat=250)
    scene.put(3, "Dugtrio", moves=("earthquake",), stat=300)
    scene.put(FOE, "Gyarados", moves=("waterfall", "earthquake"), place=SLOTS)
    seen = scene.estimate()
    assert seen["damage"][0, 0, 0] > 4 * seen["damage"][0, 1, 0] > 0
    assert seen["damage"][0, 2, 0] == 0
    assert seen["damage"][3, 0, 0] == 0, "Ground does not reach a Flying type"
    assert seen["damage_back"][0, 1, 0] > seen["damage_back"][0, 0, 0] > 0
    assert seen["damage"][:, :, 1].sum() == 0, "the second place is empty in singles"
    assert seen["damage"][1].sum() == 0, "there is no Pokémon in row 1"


def test_ranges_are_the_rolls_around_the_expected_damage(found: Installation) -> None:
    scene = Scene("gen9randomdoublesbattle")
    scene.put(0, "Pikachu", moves=("thunderbolt", "surf", "growl", "nuzzle"), place=0, stat=250)
    scene.put(2, "Gengar", moves=("nightshade",), place=1, stat=250)
    scene.put(FOE, "Gyarados", place=SLOTS)
    scene.put(FOE + 1, "Dugtrio", place=SLOTS + 1)
    expected, ranges = scene.estimate()["damage"], DamageEstimate(scene.format).ranges(scene.fields, 0)
    for place, row in ((0, 0), (1, 2)):
        for move in range(4):
            for foe in range(SLOTS):
                low, high = ranges[place, move, foe]
                if expected[row, move, foe] == 0:
                    assert low == high == 0
                    continue
                assert 0 < low <= high <= 1.3 * low
                mean = min(2.0, (low + high) / 2 * (1 + 0.5 / 24))
                assert mean == pytest.approx(expected[row, move, foe], rel=1e-4)
    assert ranges[1, 0, 0, 0] == ranges[1, 0, 0, 1] > 0, "Night Shade does not vary"
    assert ranges[0, 0, 1].tolist() == [0, 0], "Electric does not reach Ground"


def test_a_weak_target_is_a_sure_ko_and_accuracy_counts(found: Installation) -> None:
    scene = Scene("gen9randombattle")
    scene.put(0, "Mewtwo", moves=("psychic", "focusblast", "tackle"), place=0, stat=400)
    scene.put(FOE, "Machop", place=SLOTS)
    scene.fields["pokemon"][0, FOE, PokemonColumn.HP] = 0.3
    seen = scene.estimate()
    assert seen["ko"][0, 0, 0] == 1.0
    assert seen["ko"][0, 1, 0] == pytest.approx(0.7)


def test_boosts_screens_and_weather_show(found: Installation) -> None:
    scene = Scene("gen9randombattle")
    scene.put(0, "Charizard", moves=("flamethrower",), place=0, stat=250)
    scene.put(FOE, "Snorlax", place=SLOTS)
    plain = scene.estimate()["damage"][0, 0, 0]
    scene.fields["active"][0, 0, ActiveColumn.BOOST_SPA] = 2 / 6
    assert scene.estimate()["damage"][0, 0, 0] == pytest.approx(2 * plain, rel=0.03)
    scene.fields["side"][0, 1, SideColumn.LIGHT_SCREEN] = 1
    assert scene.estimate()["damage"][0, 0, 0] == pytest.approx(plain, rel=0.03)
    scene.fields["field"][0, FieldColumn.SUN] = 1
    assert scene.estimate()["damage"][0, 0, 0] == pytest.approx(1.5 * plain, rel=0.03)


def test_speed_order_and_trick_room(found: Installation) -> None:
    scene = Scene("gen9randombattle")
    scene.put(0, "Electrode", place=0)
    scene.put(1, "Shuckle")
    scene.put(FOE, "Snorlax", place=SLOTS)
    assert scene.estimate()["faster"][:2, 0].tolist() == [1.0, 0.0]
    scene.fields["field"][0, FieldColumn.TRICK_ROOM] = 1
    assert scene.estimate()["faster"][:2, 0].tolist() == [0.0, 1.0]


def test_a_spread_move_is_weaker_against_two(found: Installation) -> None:
    scene = Scene("gen9randomdoublesbattle")
    scene.put(0, "Garchomp", moves=("rockslide",), place=0, stat=300)
    scene.put(FOE, "Snorlax", place=SLOTS)
    alone = scene.estimate()["damage"][0, 0, 0]
    scene.put(FOE + 1, "Blissey", place=SLOTS + 1)
    seen = scene.estimate()["damage"][0, 0]
    assert seen[0] == pytest.approx(0.75 * alone, rel=0.03)
    assert seen[1] > 0
