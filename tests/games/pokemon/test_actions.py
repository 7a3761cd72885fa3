"""Action numbers and masks, held against requests recorded from the real simulator (scenarios.py)."""

from typing import Any

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.pokemon.actions import ActionSpace, gimmicks_of
from sparring.games.pokemon.actions.mask import write_masks
from sparring.games.pokemon.actions.offer import AIM_NONE, CALLED, FIGHT, OFFER, PREVIEW, RECHARGE, STRUGGLE, TURN, flat
from sparring.games.pokemon.actions.offer import named as offer_named
from sparring.games.pokemon.tracker import Tracker
from tests.games.pokemon.scenarios import SCENARIOS, asked, requests

SWITCH = 4
TERA = 10


def space_of(name: str) -> ActionSpace:
    return ActionSpace(1 + SCENARIOS[name].doubles, gimmicks_of(SCENARIOS[name].format_id))


def test_an_action_that_there_is_not_has_no_name() -> None:
    singles, doubles = ActionSpace(1, ["terastallize"]), ActionSpace(2, [])
    for space in (singles, doubles):
        assert space.describe(space.actions - 1)
        for action in (-1, space.actions):
            with pytest.raises(InputError, match=f"action = {action}: allowed: a whole number, 0 to "):
                space.describe(action)
    assert repr(singles) == f"<ActionSpace: {singles.actions} actions of singles with terastallize>"
    assert repr(doubles) == f"<ActionSpace: {doubles.actions} actions of doubles>"


def last_request(name: str) -> dict[str, Any]:
    request: dict[str, Any] = requests()[name]["steps"][-1][1]
    return request


def choices(space: ActionSpace, offer: bytes | bytearray) -> dict[int, str]:
    """Action number to choice string of everything that the mask allows."""
    legal = space.legal(offer)
    return {int(action): space.choice(offer, int(action)) for action in np.flatnonzero(legal)}


def legal_choices(name: str) -> dict[int, str]:
    """`choices` of a recorded request."""
    return choices(space_of(name), asked(name).offer)


def preview(size: int) -> bytes:
    """The offer of a team preview, written without a request."""
    offer = np.zeros(1, OFFER)
    offer["kind"], offer["size"] = PREVIEW, size
    return offer.tobytes()


def names(name: str) -> list[str]:
    return [space_of(name).describe(action) for action in legal_choices(name)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_mask_is_exactly_what_showdown_takes(name: str) -> None:
    judged = requests()[name]["choices"]
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
    request = last_request("two of one name")
    species = [entry["details"].split(",")[0] for entry in request["side"]["pokemon"]]
    position = offer_named(asked("two of one name").offer)["position"][0].tolist()
    assert position == [1 + species.index(name) for name in ("Mew", "Eevee", "Pikachu", "Snorlax")] + [0, 0]


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
    assert requests()["maybe trapped, and is"]["choices"]["switch 2"][0] == "unavailable"
    assert requests()["imprison"]["choices"]["move 2"][0] == "unavailable"


def test_a_z_move_is_open_where_its_plain_move_is_taunted() -> None:
    legal = legal_choices("z-move past a taunt")
    assert legal[14 + 3] == "move 4 zmove"
    assert 3 not in legal


def test_a_choice_locked_pokemon_may_dynamax_with_any_move() -> None:
    assert set(legal_choices("choice locked, dynamax still open")) == {2, SWITCH + 1, 10, 11, 12, 13}


def test_a_dynamaxed_pokemon_has_only_plain_numbers() -> None:
    assert set(legal_choices("dynamaxed")) == {0, 1, 2, 3, SWITCH + 1}


def test_after_ally_switch_orders_go_by_place_and_switches_by_team_slot() -> None:
    offer = offer_named(asked("doubles, ally switch").offer)
    assert offer["position"][0, :3].tolist() == [2, 1, 3]
    assert offer["enters"][0, :3].tolist() == [0, 0, 1]
    chosen = legal_choices("doubles, ally switch")
    assert {choice.split(", ")[0] for choice in chosen.values() if choice.startswith("move 1")} >= {"move 1 +1"}
    assert {choice.split(", ")[1] for choice in chosen.values() if choice.split(", ")[1].startswith("move 1")} == {
        "move 1",
        "move 1 terastallize",
    }


def test_an_own_illusion_is_offered_as_what_it_is() -> None:
    tracker = asked("own illusion")
    assert tracker.called.moves[0][0] == "darkpulse"
    assert offer_named(tracker.offer)["position"][0, :3].tolist()[0] == 1
    assert SWITCH not in legal_choices("own illusion"), "it is on the field, whoever it looks like"


def test_commander_leaves_its_place_nothing_but_to_pass() -> None:
    place = offer_named(asked("doubles, commander").offer)["place"][0]
    assert place["acts"].tolist() == [0, 1]


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
    space, tracker = ActionSpace(2, gimmicks_of("gen7letsgodoublesou")), Tracker(7, "p1")
    request = last_request("doubles, plain")
    active = [
        {**entry, "canTerastallize": None, "canMegaEvoX": True, "canMegaEvoY": True} for entry in request["active"]
    ]
    tracker.request({**request, "active": active})
    legal = [space.describe(action) for action in choices(space, tracker.offer)]
    assert any("megay" in name for name in legal)
    assert not [name for name in legal if name.count("mega") > 1]


def test_vgc_preview_has_90_choices() -> None:
    space = ActionSpace(2, gimmicks_of("gen9vgc2025regi"), bring=4)
    chosen = list(choices(space, preview(6)).values())
    assert (len(chosen), space.actions, chosen[0], chosen[-1]) == (90, 1521 + 90, "team 1234", "team 5634")
    assert len({(frozenset(c[5:7]), frozenset(c[7:9])) for c in chosen}) == 90
    assert space.describe(space.actions - 1) == "lead 5 and 6, bring 3 and 4"


def test_a_vgc_team_of_three_brings_all() -> None:
    chosen = choices(ActionSpace(2, (), bring=4), preview(3))
    assert list(chosen.values()) == ["team 123", "team 132", "team 231"]


def test_preview_of_a_whole_team_reuses_switch_numbers() -> None:
    singles = choices(ActionSpace(1, ("terastallize",)), preview(6))
    assert list(singles) == [4, 5, 6, 7, 8, 9]
    assert singles[6] == "team 312456"
    doubles = choices(ActionSpace(2, ("terastallize",)), preview(6))
    assert len(doubles) == 15
    assert list(doubles.values())[-1] == "team 561234"


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
    assert (ActionSpace(1, gimmicks).actions, ActionSpace(2, gimmicks).actions) == (singles, doubles)


def test_a_request_to_wait_offers_nothing() -> None:
    tracker = asked("doubles, plain")
    tracker.request({"wait": True, "side": last_request("doubles, plain")["side"]})
    assert not any(tracker.offer)
    assert choices(space_of("doubles, plain"), tracker.offer) == {}


def test_a_team_of_seven_is_refused() -> None:
    team = [{"ident": f"p1: {number}"} for number in range(7)]
    with pytest.raises(InputError, match="at most 6"):
        Tracker(9, "p1").request({"teamPreview": True, "side": {"pokemon": team}})


@pytest.mark.parametrize(
    ("name", "locked"),
    [
        ("locked rampage", 3),
        ("two-turn move", 2),
        ("recharge", RECHARGE),
        ("struggle", STRUGGLE),
        ("gen 1 wrapped", FIGHT),
        ("move called by another", CALLED),
        ("choice lock", 0),
    ],
)
def test_the_offer_says_what_a_pokemon_is_locked_into(name: str, locked: int) -> None:
    assert offer_named(asked(name).offer)["place"]["locked"][0].tolist() == [locked, 0]


def test_the_offer_says_who_may_be_trapped() -> None:
    flags = [offer_named(asked(name).offer)["place"] for name in ("trapped", "maybe trapped, and is")]
    assert [place["trapped"][0, 0] for place in flags] == [1, 0]
    assert [place["maybe_trapped"][0, 0] for place in flags] == [0, 1]


def test_masks_of_many_offers_are_those_of_each() -> None:
    names = [name for name, scenario in SCENARIOS.items() if scenario.doubles and scenario.format_id[3] == "9"]
    offers = [asked(name).offer for name in names]
    space = space_of(names[0])
    together = space.mask(np.frombuffer(b"".join(offers), np.uint8).reshape(len(names), -1))
    assert [np.flatnonzero(row).tolist() for row in together] == [list(choices(space, offer)) for offer in offers]
    assert len(names) > 5


def test_the_loop_is_compiled_once_for_offers_of_any_kind() -> None:
    space = ActionSpace(2, ())
    space.legal(preview(6))
    space.legal(bytearray(preview(6)))
    space.mask(flat(np.zeros(3, OFFER)))
    assert len(write_masks.signatures) == 1


def test_offers_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[k, 82\]"):
        ActionSpace(1, ()).mask(np.zeros((2, 81), np.uint8))


def test_an_offer_written_by_name_needs_no_request() -> None:
    offer = np.zeros(1, OFFER)
    offer["kind"], offer["size"] = TURN, 3
    offer["position"] = [2, 1, 3, 0, 0, 0]
    offer["enters"] = [1, 0, 1, 0, 0, 0]
    place = offer["place"][:, 0]
    place["acts"] = 1
    place["aims"][:, 0, [0, 2]] = AIM_NONE
    place["aims"][:, 5, 2] = AIM_NONE
    legal = ActionSpace(1, ("terastallize",)).mask(flat(offer))[0]
    assert np.flatnonzero(legal).tolist() == [0, 2, 4, 6, 12]
    assert ActionSpace(1, ("terastallize",)).choice(offer.tobytes(), 4) == "switch 2"
