"""Action numbers and masks, held against requests recorded from the real simulator (scenarios.py)."""

import json
from typing import Any

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.pokemon.actions import DoublesActions, SinglesActions, TeamSlots, gimmicks_of
from tests.games.pokemon.scenarios import RECORDED, SCENARIOS

REQUESTS: dict[str, Any] = json.loads(RECORDED.read_text())
SWITCH = 4
TERA = 10


def space_of(name: str) -> SinglesActions | DoublesActions:
    gimmicks = gimmicks_of(SCENARIOS[name].format_id)
    return DoublesActions(gimmicks) if SCENARIOS[name].doubles else SinglesActions(gimmicks)


def legal_choices(name: str) -> dict[int, str]:
    """Action number to choice string of everything the mask allows in a recorded request."""
    space, slots = space_of(name), TeamSlots()
    slots.order(REQUESTS[name]["first"])
    request = REQUESTS[name]["request"]
    order = slots.order(request)
    row = np.ones(space.actions, np.bool_)
    space.mask(request, order, row)
    return {int(action): space.choice(request, order, int(action)) for action in np.flatnonzero(row)}


def names(name: str) -> list[str]:
    return [space_of(name).describe(action) for action in legal_choices(name)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_mask_is_exactly_what_showdown_takes(name: str) -> None:
    judged = REQUESTS[name]["choices"]
    ours = legal_choices(name).values()
    assert len(set(ours)) == len(ours), "two actions with one choice string"
    refused = [choice for choice in ours if choice not in judged]
    assert not refused, "the mask allows what Showdown calls invalid"
    understood = {judged[choice][1] for choice in ours if judged[choice][0] == "ok"}
    lost = [choice for choice, (verdict, what) in judged.items() if verdict == "ok" and what not in understood]
    assert not lost, "Showdown takes what the mask forbids"


def test_switch_numbers_follow_the_team_slot_not_the_request_order() -> None:
    assert legal_choices("switch order kept") == {
        0: "move 1",
        4: "switch 3",
        5: "switch 4",
        6: "switch 2",
        10: "move 1 terastallize",
    }


def test_pokemon_of_one_name_keep_their_slots() -> None:
    order = TeamSlots()
    assert order.order(REQUESTS["two of one name"]["first"]) == [0, 1, 2, 3]
    request = REQUESTS["two of one name"]["request"]
    species = [entry["details"].split(",")[0] for entry in request["side"]["pokemon"]]
    assert order.order(request) == [["Mew", "Eevee", "Pikachu", "Snorlax"].index(name) for name in species]


def test_a_transformed_pokemon_has_the_moves_of_the_request() -> None:
    assert set(legal_choices("transform")) == {0, 1, 2, 3, SWITCH + 1, TERA, TERA + 1, TERA + 2, TERA + 3}


@pytest.mark.parametrize("name", ["encore, gen 9", "encore, gen 4", "choice lock", "locked rampage"])
def test_the_one_move_left_keeps_its_number(name: str) -> None:
    assert [action for action in legal_choices(name) if action < SWITCH] == [2]


@pytest.mark.parametrize("name", ["recharge", "struggle", "gen 1 asleep", "gen 1 wrapped", "move called by another"])
def test_orders_outside_the_move_list_have_number_0(name: str) -> None:
    assert [action for action in legal_choices(name) if action < SWITCH] == [0]


def test_a_two_turn_move_keeps_its_number_and_forbids_switching() -> None:
    assert legal_choices("two-turn move") == {1: "move 1"}


def test_known_trapping_forbids_switches() -> None:
    assert not [action for action in legal_choices("trapped") if SWITCH <= action < TERA]


@pytest.mark.parametrize("name", ["maybe trapped", "maybe trapped, and is"])
def test_suspected_trapping_leaves_switches_open_whatever_is_true(name: str) -> None:
    assert SWITCH + 1 in legal_choices(name)


def test_hidden_refusals_are_unavailable_not_invalid() -> None:
    assert REQUESTS["maybe trapped, and is"]["choices"]["switch 2"][0] == "unavailable"
    assert REQUESTS["imprison"]["choices"]["move 2"][0] == "unavailable"


def test_a_z_move_is_open_where_its_plain_move_is_taunted() -> None:
    legal = legal_choices("z-move past a taunt")
    assert legal[14 + 3] == "move 4 zmove"
    assert 3 not in legal


def test_a_choice_locked_pokemon_may_dynamax_with_any_move() -> None:
    assert set(legal_choices("choice locked, dynamax still open")) == {2, SWITCH + 1, 10, 11, 12, 13}


def test_a_dynamaxed_pokemon_has_only_plain_numbers() -> None:
    assert set(legal_choices("dynamaxed")) == {0, 1, 2, 3, SWITCH + 1}


def test_revival_names_a_fainted_pokemon_by_its_slot() -> None:
    assert legal_choices("revival blessing") == {SWITCH + 0: "switch 2"}


def test_one_reserve_for_two_slots_makes_exactly_one_pass() -> None:
    assert sorted(names("doubles, one reserve for two slots")) == ["pass; switch to slot 3", "switch to slot 3; pass"]


def test_one_reserve_never_switches_in_twice() -> None:
    chosen = names("doubles, both must switch")
    assert len(chosen) == 6
    assert all(left != right for left, right in (name.split("; ") for name in chosen))


@pytest.mark.parametrize("name", ["doubles, commander", "doubles, fainted slot"])
def test_a_slot_that_cannot_act_passes(name: str) -> None:
    assert all(chosen.startswith("pass; ") for chosen in names(name))


def test_each_gimmick_once_a_turn_but_different_ones_together() -> None:
    plain = names("doubles, plain")
    assert not [name for name in plain if name.count("terastallize") == 2]
    assert [name for name in names("doubles, two gimmicks") if "mega" in name and "zmove" in name]
    assert [name for name in names("doubles, mega beside burst") if name.count("mega") == 2]


def test_the_two_stones_of_lets_go_are_one_mega_evolution() -> None:
    space = DoublesActions(gimmicks_of("gen7letsgodoublesou"))
    request = REQUESTS["doubles, plain"]["request"]
    active = [
        {**entry, "canTerastallize": None, "canMegaEvoX": True, "canMegaEvoY": True} for entry in request["active"]
    ]
    row = np.zeros(space.actions, np.bool_)
    space.mask({**request, "active": active}, range(3), row)
    legal = [space.describe(int(action)) for action in np.flatnonzero(row)]
    assert any("megay" in name for name in legal)
    assert not [name for name in legal if name.count("mega") > 1]


def test_vgc_preview_has_90_choices() -> None:
    space = DoublesActions(gimmicks_of("gen9vgc2025regi"), bring=4)
    request = {
        "teamPreview": True,
        "maxChosenTeamSize": 4,
        "side": {"pokemon": [{"ident": f"p1: {n}"} for n in "abcdef"]},
    }
    row = np.zeros(space.actions, np.bool_)
    space.mask(request, range(6), row)
    chosen = [space.choice(request, range(6), int(action)) for action in np.flatnonzero(row)]
    assert (len(chosen), space.actions, chosen[0], chosen[-1]) == (90, 1521 + 90, "team 1234", "team 5634")
    assert len({(frozenset(c[5:7]), frozenset(c[7:9])) for c in chosen}) == 90
    assert space.describe(space.actions - 1) == "lead 5 and 6, bring 3 and 4"


def test_a_vgc_team_of_three_brings_all() -> None:
    space = DoublesActions((), bring=4)
    request = {"teamPreview": True, "side": {"pokemon": [{"ident": f"p1: {n}"} for n in "abc"]}}
    row = np.zeros(space.actions, np.bool_)
    space.mask(request, range(3), row)
    chosen = [space.choice(request, range(3), int(action)) for action in np.flatnonzero(row)]
    assert chosen == ["team 123", "team 132", "team 231"]


def test_preview_of_a_whole_team_reuses_switch_numbers() -> None:
    request = {"teamPreview": True, "side": {"pokemon": [{"ident": f"p1: {n}"} for n in "abcdef"]}}
    singles, doubles = SinglesActions(("terastallize",)), DoublesActions(("terastallize",))
    row = np.zeros(singles.actions, np.bool_)
    singles.mask(request, range(6), row)
    assert np.flatnonzero(row).tolist() == [4, 5, 6, 7, 8, 9]
    assert singles.choice(request, range(6), 6) == "team 312456"
    row = np.zeros(doubles.actions, np.bool_)
    doubles.mask(request, range(6), row)
    assert row.sum() == 15
    assert doubles.choice(request, range(6), int(np.flatnonzero(row)[-1])) == "team 561234"


@pytest.mark.parametrize(
    ("format_id", "singles", "doubles"),
    [
        ("gen1randombattle", 10, 529),
        ("gen6ou", 14, 1521),
        ("gen7ou", 18, 3025),
        ("gen8ou", 14, 1521),
        ("gen9ou", 14, 1521),
        ("gen9nationaldex", 22, 5041),
    ],
)
def test_action_counts(format_id: str, singles: int, doubles: int) -> None:
    gimmicks = gimmicks_of(format_id)
    assert (SinglesActions(gimmicks).actions, DoublesActions(gimmicks).actions) == (singles, doubles)


def test_a_request_to_wait_has_no_mask() -> None:
    with pytest.raises(ValueError, match="wait"):
        SinglesActions(()).mask({"wait": True, "side": {"pokemon": []}}, [], np.zeros(10, np.bool_))


def test_a_team_of_seven_is_refused() -> None:
    with pytest.raises(InputError, match="at most 6"):
        TeamSlots().order({"side": {"pokemon": [{"ident": str(n)} for n in range(7)]}})
