"""What single lines say of sets, and what it says that lines are missing."""

from functools import cache

import numpy as np
import pytest

from sparring.games.pokemon.belief import Beliefs, SetPool, Weighing, pool_of_teams
from sparring.games.pokemon.belief.facts import Weighed
from sparring.games.pokemon.belief.posterior import Posterior
from sparring.games.pokemon.dex import Dex
from sparring.games.pokemon.formats import Format, find_format
from sparring.games.pokemon.tracking.tables import Tables, load_tables
from tests.games.pokemon.replays.logs import battle

UPKEEP = ("|", "|upkeep", "|turn|2")
MEW, ONIX = 0, 6


@cache
def played() -> Format:
    return find_format("gen9nationaldex")


def tables() -> Tables:
    return load_tables(played().tables)


def dex() -> Dex:
    return tables().dex


def packed(
    species: str, item: str, *, ability: str = "", moves: str = "psychic,surf,flamethrower,icebeam", evs: str = ""
) -> str:
    return f"{species}||{item}|{ability}|{moves}|Serious|{evs}|||||"


def mew(*items: str) -> SetPool:
    return pool_of_teams(
        [packed("Mew", item) for item in items] + [packed("Onix", "Eviolite", ability="Sturdy")], tables(), other=0.0
    )


def believe(pool: SetPool, *lines: str, row: int = MEW, weighing: bool = False) -> Posterior:
    beliefs = Beliefs(played(), pool, weighing=Weighing(played()) if weighing else None)
    beliefs.read([line.split("|") for line in battle(*lines).split("\n")])
    found = beliefs.of(row)
    assert found is not None
    return found


def item(belief: Posterior, name: str) -> float:
    return belief.items().get(dex().items[name], 0.0)


def test_before_anything_shows_sets_are_as_likely_as_they_are_used() -> None:
    belief = believe(mew("Leftovers", "Life Orb", "Leftovers", "Leftovers"))
    assert item(belief, "Leftovers") == pytest.approx(0.75, abs=0.01)
    assert belief.weights.sum() + belief.other == pytest.approx(1.0)


def test_a_move_leaves_the_sets_that_have_it() -> None:
    pool = pool_of_teams(
        [packed("Mew", "Leftovers"), packed("Mew", "Life Orb", moves="roost,surf,toxic,protect")], tables(), other=0.0
    )
    belief = believe(pool, "|", "|move|p1a: Mew|Roost|p1a: Mew")
    assert item(belief, "Life Orb") > 0.95
    assert belief.moves()[dex().moves["roost"]] == 1.0
    assert belief.moves()[dex().moves["toxic"]] > 0.95


def test_an_item_that_shows_is_known() -> None:
    belief = believe(
        mew("Leftovers", "Life Orb"),
        "|",
        "|-damage|p1a: Mew|50/100",
        "|",
        "|-heal|p1a: Mew|56/100|[from] item: Leftovers",
        "|upkeep",
    )
    assert belief.items() == {dex().items["Leftovers"]: 1.0}


HURT = ("|", "|move|p2a: Onix|Rock Slide|p1a: Mew", "|-damage|p1a: Mew|70/100")
STRUCK = ("|", "|move|p2a: Onix|Double-Edge|p1a: Mew")
HITS = ("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|-damage|p2a: Onix|50/100")
CASES = {
    "no healing at the turn's end": ("Leftovers", (*HURT, *UPKEEP)),
    "no recoil after a hit": ("Life Orb", (*HITS, "|move|p2a: Onix|Harden|p2a: Onix")),
    "another move in the same stay": ("Choice Specs", (*HITS, *UPKEEP, "|", "|move|p1a: Mew|Surf|p2a: Onix")),
    "a status move": ("Assault Vest", ("|", "|move|p1a: Mew|Roost|p1a: Mew")),
    "no balloon on coming in": ("Air Balloon", UPKEEP),
    "fainting from full HP": ("Focus Sash", (*STRUCK, "|-damage|p1a: Mew|0 fnt", "|faint|p1a: Mew")),
    "no berry at half HP": ("Sitrus Berry", (*STRUCK, "|-damage|p1a: Mew|40/100", *UPKEEP)),
    "no burn": ("Flame Orb", UPKEEP),
    "a status that stays": ("Lum Berry", ("|", "|-status|p1a: Mew|par", *UPKEEP)),
    "no harm to who touches it": ("Rocky Helmet", (*STRUCK, "|-damage|p1a: Mew|70/100", "|cant|p1a: Mew|flinch")),
    "hurt by rocks": (
        "Heavy-Duty Boots",
        ("|-sidestart|p1: Ann|move: Stealth Rock", "|", "|switch|p1a: Jynx|Jynx, F|100/100", "|turn|2", "|",
         "|switch|p1a: Mew|Mew|100/100", "|-damage|p1a: Mew|88/100|[from] Stealth Rock", "|turn|3"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_item_that_should_have_shown_is_hardly_there(case: str) -> None:
    name, lines = CASES[case]
    assert item(believe(mew(name, "Quick Claw"), *lines), name) < 0.05


def test_the_same_move_again_speaks_for_a_choice_item() -> None:
    belief = believe(mew("Choice Specs", "Quick Claw"), *HITS, *UPKEEP, *HITS, "|", "|upkeep", "|turn|3", *HITS)
    assert item(belief, "Choice Specs") > 0.8


def test_who_is_not_hurt_by_rocks_wears_boots() -> None:
    lines = (
        *("|-sidestart|p1: Ann|move: Stealth Rock", "|", "|switch|p1a: Jynx|Jynx, F|100/100", "|turn|2", "|"),
        *("|switch|p1a: Mew|Mew|100/100", "|turn|3"),
    )
    assert item(believe(mew("Heavy-Duty Boots", "Quick Claw"), *lines), "Heavy-Duty Boots") > 0.95


def ability_pool(species: str, *abilities: str) -> SetPool:
    return pool_of_teams([packed(species, "Quick Claw", ability=ability) for ability in abilities], tables(), other=0.0)


@pytest.mark.parametrize(
    ("species", "abilities", "lines", "left"),
    [
        ("Gyarados", ("Intimidate", "Moxie"), ("|", "|switch|p1a: X|Gyarados, M|100/100", *UPKEEP), "Moxie"),
        (
            "Slowbro",
            ("Regenerator", "Own Tempo"),
            (
                *("|", "|switch|p1a: X|Slowbro, M|100/100", "|-damage|p1a: X|40/100", "|turn|2"),
                *("|", "|switch|p1a: Mew|Mew|100/100", "|turn|3", "|", "|switch|p1a: X|Slowbro, M|73/100", "|turn|4"),
            ),
            "Regenerator",
        ),
        (
            "Vaporeon",
            ("Water Absorb", "Hydration"),
            ("|", "|switch|p1a: X|Vaporeon, M|100/100", "|move|p2a: Onix|Surf|p1a: X", "|-damage|p1a: X|80/100"),
            "Hydration",
        ),
        (
            "Clefable",
            ("Magic Guard", "Unaware"),
            ("|", "|switch|p1a: X|Clefable, F|100/100", "|-status|p1a: X|psn", "|-damage|p1a: X|88/100 psn|[from] psn"),
            "Unaware",
        ),
    ],
)  # fmt: skip
def test_abilities_show_themselves_or_are_not_there(
    species: str, abilities: tuple[str, ...], lines: tuple[str, ...], left: str
) -> None:
    belief = believe(ability_pool(species, *abilities), *lines, row=1)
    assert belief.abilities()[dex().abilities[left]] > 0.95


def test_an_illusion_that_ends_takes_back_what_was_noted_of_its_model() -> None:
    lines = (*HITS, *UPKEEP, "|", "|replace|p1a: Zoroark|Zoroark, M", "|-end|p1a: Zoroark|Illusion")
    assert item(believe(mew("Life Orb", "Quick Claw"), *lines), "Life Orb") == pytest.approx(0.5, abs=0.01)


def test_damage_tells_strong_from_weak() -> None:
    attackers = [packed("Mew", "Quick Claw", moves="surf,psychic", evs=evs) for evs in (",,,252,,", "252,,,,,")]
    pool = pool_of_teams(
        [*attackers, packed("Onix", "Quick Claw", ability="Sturdy", evs="252,,,,252,")], tables(), other=0.0
    )
    # 252 Sp. Atk Mew's Psychic does 55.4 to 65.5% to Onix with 252 HP and Sp. Def, without it 44.0 to 52.1%.
    strong = believe(pool, "|", "|move|p1a: Mew|Psychic|p2a: Onix", "|-damage|p2a: Onix|40/100", weighing=True)
    weak = believe(pool, "|", "|move|p1a: Mew|Psychic|p2a: Onix", "|-damage|p2a: Onix|52/100", weighing=True)
    assert strong.weights[0] > 0.9
    assert weak.weights[1] > 0.9


def test_the_order_of_moves_tells_fast_from_slow() -> None:
    pool = pool_of_teams(
        [
            packed("Mew", "Choice Scarf"),
            packed("Mew", "Quick Claw"),
            packed("Jynx", "Quick Claw", ability="Oblivious", evs=",,,,,252"),
        ],
        tables(),
        other=0.0,
    )
    lines = (
        *("|", "|switch|p2a: Jynx|Jynx, F|100/100", "|turn|2", "|"),
        *("|move|p1a: Mew|Psychic|p2a: Jynx", "|-damage|p2a: Jynx|80/100", "|move|p2a: Jynx|Psychic|p1a: Mew"),
    )
    assert item(believe(pool, *lines, weighing=True), "Choice Scarf") > 0.9
    behind = (*lines[:4], "|move|p2a: Jynx|Psychic|p1a: Mew", "|move|p1a: Mew|Psychic|p2a: Jynx")
    assert item(believe(pool, *behind, weighing=True), "Choice Scarf") < 0.1


def test_probabilities_are_never_all_nought() -> None:
    belief = believe(
        mew("Leftovers"), "|", *(f"|move|p1a: Mew|{name}|p2a: Onix" for name in ("Roost", "Toxic", "Spikes"))
    )
    assert belief.other > 0.9
    assert np.isfinite(belief.weights).all()
    unknown = believe(ability_pool("Onix", "Sturdy"))
    assert (len(unknown.weights), unknown.other) == (0, 1.0)
    assert unknown.items() == {}


def test_long_battles_do_not_overflow() -> None:
    candidates = mew("Leftovers", "Life Orb", "Quick Claw").candidates(dex().species["Mew"], 100)
    first, second, _ = candidates.sets
    likelihood = Weighed({first: 5000.0, second: -5000.0}).likelihood(candidates)
    assert np.isfinite(np.log(likelihood)).all()
    assert likelihood[0] == 1.0
    assert likelihood[1] < 1e-200


def test_lines_that_make_no_sense_are_passed_over() -> None:
    belief = believe(
        mew("Leftovers", "Life Orb"), "|move|p9z: Mew", "|switch", "|-damage|p1a: Mew|nonsense", "|replace|p1a: X"
    )
    assert item(belief, "Leftovers") == pytest.approx(0.5, abs=0.01)
