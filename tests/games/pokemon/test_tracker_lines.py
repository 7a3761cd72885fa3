"""What single lines and requests do to the view."""

from typing import Any

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.pokemon.actions.offer import named
from sparring.games.pokemon.columns import (
    STAT_SCALE,
    TURN_SCALE,
    ActiveColumn,
    ActiveId,
    FieldColumn,
    MoveColumn,
    PokemonColumn,
    PokemonId,
    SideColumn,
)
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.tracker import Tracker

OWN, FOE = 0, 2


def see(tracker: Tracker) -> dict[str, np.ndarray]:
    rows = ObservationRows(1)
    tracker.write(rows, 0)
    return {name: field[0] for name, field in rows.fields.items()}


def track(*lines: str, side: str = "p1", generation: int = 9) -> Tracker:
    tracker = Tracker(generation, side)
    tracker.lines(lines)
    return tracker


START = (
    "|gametype|singles",
    "|teamsize|p1|6",
    "|teamsize|p2|6",
    "|start",
    "|switch|p1a: Rex|Tyranitar, M|100/100",
    "|switch|p2a: Ann|Blissey, F|100/100",
    "|turn|1",
)


def entry(name: str, details: str, *, active: bool = False, condition: str = "100/100", **more: Any) -> dict[str, Any]:
    return {
        "ident": f"p1: {name}",
        "details": details,
        "condition": condition,
        "active": active,
        "stats": {"atk": 100, "def": 100, "spa": 100, "spd": 100, "spe": 100},
        "moves": ["tackle", "growl"],
        "baseAbility": "pressure",
        "ability": "pressure",
        "item": "leftovers",
        **more,
    }


def test_a_side_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="p1, p2"):
        Tracker(9, "p3")


def test_unknown_kinds_and_effects_are_counted_and_nothing_breaks() -> None:
    tracker = track(*START, "|-newthing|p1a: Rex|x", "|-newthing|p1a: Rex|y", "|-start|p1a: Rex|move: Brand New Move")
    assert tracker.unknown == {"-newthing": 2, "-start: brandnewmove": 1}


def test_a_line_cut_short_is_counted_and_nothing_breaks() -> None:
    tracker = track(*START, "|-damage|p1a: Rex", "|-boost|p1a: Rex|atk|many", "|poke|p7|Mew")
    assert tracker.unknown == {"malformed -damage": 1, "malformed -boost": 1, "malformed poke": 1}


def test_chat_timers_and_empty_lines_are_no_news() -> None:
    tracker = track("", "|", "|c|~Someone|hi|there", "|inactive|time", "|t:|1", "plain text", "|j|x", "|raw|<b>x</b>")
    assert not tracker.unknown


def test_hp_and_status_are_read_as_precisely_as_told() -> None:
    tracker = track(*START, "|-damage|p2a: Ann|57/100 tox", "|-damage|p1a: Rex|24/48y par")
    view = see(tracker)
    assert view["pokemon"][6, PokemonColumn.HP] == pytest.approx(0.57)
    assert view["pokemon"][0, PokemonColumn.HP] == pytest.approx(0.5)
    assert load_dex(9).species.ids[view["pokemon_ids"][6, PokemonId.SPECIES]] == "blissey"
    assert view["pokemon_ids"][[0, 6], PokemonId.STATUS].tolist() == [2, 6]


def test_own_rows_keep_the_order_of_the_first_request_whatever_the_order_of_later_ones() -> None:
    tracker = track("|start", "|switch|p1a: A|Mew|100/100", "|turn|1")
    team = [entry("A", "Mew", active=True), entry("B", "Onix"), entry("C", "Jynx")]
    moves = [{"id": name, "move": name, "pp": 10, "maxpp": 20, "disabled": False} for name in ("tackle", "growl")]
    tracker.request({"active": [{"moves": moves}], "side": {"pokemon": team}})
    assert named(tracker.offer)["position"][0].tolist() == [1, 2, 3, 0, 0, 0]
    tracker.lines(["|switch|p1a: C|Jynx|100/100", "|turn|2"])
    team = [entry("C", "Jynx", active=True), entry("B", "Onix"), entry("A", "Mew", condition="50/100 brn")]
    tracker.request({"active": [{"moves": moves}], "side": {"pokemon": team}})
    assert named(tracker.offer)["position"][0].tolist() == [3, 2, 1, 0, 0, 0]
    view = see(tracker)
    assert [load_dex(9).species.ids[number] for number in view["pokemon_ids"][:3, PokemonId.SPECIES]] == [
        "mew",
        "onix",
        "jynx",
    ]
    assert view["active_ids"][OWN, ActiveId.POKEMON] == 3
    assert view["pokemon"][0, PokemonColumn.HP] == pytest.approx(0.5)
    assert view["moves"][0, :2, MoveColumn.PP].tolist() == [0.5, 0.5]
    assert view["active_moves"][OWN, 0, MoveColumn.PP] == 0.5


def test_a_maximum_that_a_line_told_first_is_known_from_the_request() -> None:
    tracker = track(*START)
    moves = [{"move": id, "id": id, "pp": 5, "maxpp": 8} for id in ("tackle", "growl")]
    for condition, lines in (("252/252", ()), ("259/259", ("|-heal|p1a: Rex|259/259|[silent]",))):
        tracker.lines(lines)
        team = [entry("Rex", "Tyranitar, M", active=True, condition=condition)]
        tracker.request({"active": [{"moves": moves}], "side": {"id": "p1", "pokemon": team}})
    assert round(see(tracker)["pokemon"][0, PokemonColumn.MAX_HP] * STAT_SCALE) == 259


def test_a_locked_move_leaves_the_others_disabled_in_their_places() -> None:
    tracker = track("|start", "|switch|p1a: A|Mew|100/100", "|turn|1")
    locked = {"moves": [{"move": "Growl", "id": "growl"}], "trapped": True}
    tracker.request({"active": [locked], "side": {"pokemon": [entry("A", "Mew", active=True)]}})
    view = see(tracker)
    assert view["active_moves"][OWN, :, MoveColumn.DISABLED].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert view["active"][OWN, ActiveColumn.TRAPPED] == 1.0


def test_pokemon_left_at_home_after_preview_are_absent() -> None:
    tracker = track(*(f"|poke|p1|{name}|" for name in ("Mew", "Onix", "Jynx")))
    team = [entry("A", "Mew"), entry("B", "Onix"), entry("C", "Jynx")]
    tracker.request({"teamPreview": True, "maxChosenTeamSize": 2, "side": {"pokemon": team}})
    assert see(tracker)["field"][FieldColumn.PREVIEW] == 1.0
    tracker.lines(["|teamsize|p1|2", "|start", "|switch|p1a: C|Jynx|100/100", "|turn|1"])
    tracker.request({"wait": True, "side": {"pokemon": [entry("C", "Jynx", active=True), entry("A", "Mew")]}})
    view = see(tracker)
    assert view["pokemon"][:3, PokemonColumn.ABSENT].tolist() == [0.0, 1.0, 0.0]
    assert view["side"][0, SideColumn.REMAINING] == pytest.approx(2 / 6)
    tracker.request({"forceSwitch": [True], "side": {"pokemon": [entry("C", "Jynx", active=True), entry("A", "Mew")]}})
    offer = named(tracker.offer)
    assert offer["position"][0].tolist() == [2, 0, 1, 0, 0, 0]
    assert offer["enters"][0].tolist() == [1, 0, 0, 0, 0, 0]


def test_an_illusion_that_ends_gives_its_model_back_what_was_known_of_it() -> None:
    tracker = track(
        *START,
        "|switch|p2a: Zed|Umbreon, M|80/100",
        "|switch|p2a: Ann|Blissey, F|100/100",
        "|switch|p2a: Zed|Umbreon, M|100/100",
        "|move|p2a: Zed|Nasty Plot|p2a: Zed",
        "|-boost|p2a: Zed|spa|2",
        "|-damage|p2a: Zed|30/100",
        "|replace|p2a: Zoro|Zoroark, L80, M",
        "|-end|p2a: Zoro|Illusion",
    )
    view = see(tracker)
    assert load_dex(9).species.ids[view["active_ids"][FOE, ActiveId.SPECIES]] == "zoroark"
    assert view["active"][FOE, ActiveColumn.BOOST_SPA] == pytest.approx(2 / 6)
    assert view["pokemon"][6:9, PokemonColumn.HP].tolist() == pytest.approx([1.0, 0.8, 0.3])
    assert view["pokemon"][6:9, PokemonColumn.ACTIVE].tolist() == [0.0, 0.0, 1.0]
    assert [load_dex(9).moves.ids[number] for number in view["move_ids"][6:9, 0]] == ["", "", "nastyplot"]


def test_the_model_of_an_own_illusion_that_ends_at_once_was_not_seen() -> None:
    team = [("Rex", "Tyranitar, M"), ("Zed", "Umbreon, M"), ("Zoro", "Zoroark, L80, M")]
    tracker = track(*START)
    tracker.request({"side": {"pokemon": [entry(*one, active=one[0] == "Rex") for one in team]}, "wait": True})
    tracker.lines(("|switch|p1a: Zed|Umbreon, M|100/100", "|-damage|p1a: Zed|40/100"))
    tracker.lines(("|replace|p1a: Zoro|Zoroark, L80, M", "|-end|p1a: Zoro|Illusion"))
    switched = [entry(*one, active=one[0] == "Zoro") for one in reversed(team)]
    tracker.request({"side": {"pokemon": switched}, "wait": True})
    assert see(tracker)["pokemon"][:3, PokemonColumn.SEEN].tolist() == [1.0, 0.0, 1.0]
    assert see(tracker)["pokemon"][:3, PokemonColumn.ACTIVE].tolist() == [0.0, 0.0, 1.0]


def test_baton_pass_hands_on_boosts_and_a_plain_switch_does_not() -> None:
    boosted = (*START, "|-boost|p1a: Rex|atk|2", "|-start|p1a: Rex|Substitute", "|-start|p1a: Rex|move: Taunt")
    passed = track(*boosted, "|move|p1a: Rex|Baton Pass|p1a: Rex", "|switch|p1a: Bob|Mew|100/100|[from] Baton Pass")
    plain = track(*boosted, "|switch|p1a: Bob|Mew|100/100")
    kept = [ActiveColumn.BOOST_ATK, ActiveColumn.SUBSTITUTE]
    assert see(passed)["active"][OWN, kept].tolist() == pytest.approx([2 / 6, 1.0])
    assert not see(plain)["active"][OWN, kept].any()


def test_a_screen_counts_down_and_goes_on_when_it_proves_longer() -> None:
    tracker = track(*START, "|move|p2a: Ann|Reflect|p2a: Ann", "|-sidestart|p2: b|Reflect")
    left = []
    for _ in range(8):
        tracker.line("|upkeep")
        left.append(round(float(see(tracker)["side"][1, SideColumn.REFLECT_TURNS]) * TURN_SCALE))
    assert left == [4, 3, 2, 1, 3, 2, 1, 0]
    tracker.line("|-sideend|p2: b|Reflect")
    assert see(tracker)["side"][1, SideColumn.REFLECT] == 0.0


def test_court_change_swaps_what_lies_on_the_sides() -> None:
    tracker = track(
        *START, "|-sidestart|p2: b|move: Stealth Rock", "|-sidestart|p1: a|Spikes", "|-sidestart|p1: a|move: Tailwind"
    )
    tracker.line("|-swapsideconditions")
    view = see(tracker)["side"]
    assert view[:, SideColumn.STEALTH_ROCK].tolist() == [1.0, 0.0]
    assert view[:, SideColumn.SPIKES].tolist() == pytest.approx([0.0, 1 / 3])
    tracker.line("|upkeep")
    turns = see(tracker)["side"][:, SideColumn.TAILWIND_TURNS] * TURN_SCALE
    assert turns.tolist() == [0.0, 3.0]


def test_open_team_sheets_fill_the_foes_rows() -> None:
    ann = "Ann|Blissey|Leftovers|Natural Cure|SoftBoiled,Toxic|||F|||50|,,,,,Steel"
    zed = "Zed|Umbreon||Synchronize|Moonlight|||M|||50|,,,,,Dark"
    tracker = track("|poke|p2|Blissey, L50, F|", "|poke|p2|Umbreon, L50, M|", f"|showteam|p2|{ann}]{zed}")
    view = see(tracker)
    assert [load_dex(9).items.ids[number] for number in view["pokemon_ids"][6:8, PokemonId.ITEM]] == ["leftovers", ""]
    assert view["pokemon"][6:8, PokemonColumn.ITEM_KNOWN].tolist() == [1.0, 1.0]
    assert load_dex(9).abilities.ids[view["pokemon_ids"][7, PokemonId.ABILITY]] == "synchronize"
    assert [load_dex(9).moves.ids[number] for number in view["move_ids"][6, :2]] == ["softboiled", "toxic"]
    assert load_dex(9).types.ids[view["pokemon_ids"][6, PokemonId.TERA_TYPE]] == "steel"
    assert not tracker.unknown


def test_called_moves_cost_nothing_and_teach_nothing() -> None:
    tracker = track(*START, "|move|p2a: Ann|Metronome|p2a: Ann", "|move|p2a: Ann|Surf|p1a: Rex|[from] move: Metronome")
    view = see(tracker)
    assert [load_dex(9).moves.ids[number] for number in view["move_ids"][6]] == ["metronome", "", "", ""]
    assert view["pokemon"][6, PokemonColumn.MOVES_KNOWN] == 0.25
    assert view["moves"][6, 0, MoveColumn.PP] == pytest.approx(15 / 16)
    assert load_dex(9).moves.ids[view["active_ids"][FOE, ActiveId.LAST_MOVE]] == "metronome"


def test_pressure_costs_a_second_pp() -> None:
    tracker = track(*START, "|-ability|p1a: Rex|Pressure", "|move|p2a: Ann|Surf|p1a: Rex")
    assert see(tracker)["moves"][6, 0, MoveColumn.PP] == pytest.approx(22 / 24)


@pytest.mark.parametrize(("generation", "cost"), [(3, 2), (4, 1), (5, 2), (7, 2)])
def test_pressure_makes_pursuit_pay_though_it_comes_early_but_in_generation_4(generation: int, cost: int) -> None:
    pursuit = "|move|p2a: Ann|Pursuit|p1a: Rex|[from] move: Pursuit"
    tracker = track(*START, "|-ability|p1a: Rex|Pressure", pursuit, generation=generation)
    assert see(tracker)["moves"][6, 0, MoveColumn.PP] == pytest.approx(1 - cost / 32)


def test_who_forbids_a_move_has_not_acted() -> None:
    forbidden = "|cant|p1a: Rex|ability: Damp|Explosion|[of] p2a: Ann"
    tracker = track(*START, "|-singlemove|p1a: Rex|Destiny Bond", "|move|p2a: Ann|Explosion|p1a: Rex", forbidden)
    assert see(tracker)["active"][OWN, ActiveColumn.DESTINY_BOND] == 1.0
    assert load_dex(9).abilities.ids[see(tracker)["active_ids"][OWN, ActiveId.ABILITY]] == "damp"


def test_pressure_costs_nothing_where_a_move_that_hits_no_foe_is_aimed_at_an_ally_that_fainted() -> None:
    aimed = {"p1a: Rex": 14 / 16, "p2: Bob|[notarget]": 15 / 16}
    for target, left in aimed.items():
        tracker = track(*START, "|-ability|p1a: Rex|Pressure", f"|move|p2a: Ann|Tera Blast|{target}")
        assert see(tracker)["moves"][6, 0, MoveColumn.PP] == pytest.approx(left)


def test_an_item_that_is_used_up_is_known_to_be_gone() -> None:
    tracker = track(*START, "|-enditem|p2a: Ann|Sitrus Berry|[eat]", "|-heal|p2a: Ann|80/100|[from] item: Sitrus Berry")
    view = see(tracker)
    assert view["pokemon_ids"][6, PokemonId.ITEM] == 0
    assert load_dex(9).items.ids[view["pokemon_ids"][6, PokemonId.LAST_ITEM]] == "sitrusberry"
    assert view["pokemon"][6, [PokemonColumn.ITEM_KNOWN, PokemonColumn.ITEM_LOST]].tolist() == [1.0, 1.0]


def test_a_spectators_log_is_tracked_from_either_side_without_requests() -> None:
    lines = (*START, "|move|p1a: Rex|Crunch|p2a: Ann", "|-damage|p2a: Ann|60/100", "|faint|p1a: Rex", "|win|Someone")
    for side, row in (("p1", 0), ("p2", 6)):
        tracker = track(*lines, side=side)
        view = see(tracker)
        assert load_dex(9).species.ids[view["pokemon_ids"][row, PokemonId.SPECIES]] == "tyranitar"
        assert view["pokemon"][row, PokemonColumn.FAINTED] == 1.0
        assert tracker.ended
        assert tracker.winner == "Someone"


def test_allies_that_change_places_take_their_effects_along() -> None:
    tracker = track(
        "|gametype|doubles",
        "|switch|p1a: Rex|Tyranitar, M|100/100",
        "|switch|p1b: Bob|Mew|100/100",
        "|-boost|p1a: Rex|atk|1",
        "|swap|p1a: Rex|1|[from] move: Ally Switch",
    )
    view = see(tracker)
    assert view["active_ids"][:2, ActiveId.POKEMON].tolist() == [2, 1]
    assert view["active"][:2, ActiveColumn.BOOST_ATK].tolist() == pytest.approx([0.0, 1 / 6])


ALLIES = (
    "|gametype|doubles",
    "|start",
    "|switch|p1a: Rex|Tyranitar, M|100/100",
    "|switch|p1b: Bob|Mew|100/100",
    "|switch|p2a: Ann|Blissey, F|100/100",
    "|switch|p2b: Zed|Umbreon, M|100/100",
    "|turn|1",
)


@pytest.mark.parametrize(
    ("shown", "column"),
    [
        ("Protect", ActiveColumn.PROTECTED),
        ("Helping Hand|[of] p1b: Bob", ActiveColumn.HELPED),
        ("move: Follow Me", ActiveColumn.REDIRECTING),
        ("move: Endure", ActiveColumn.ENDURING),
    ],
)
def test_a_flag_of_one_turn_goes_with_its_pokemon_to_the_allys_place_and_ends_there(shown: str, column: int) -> None:
    tracker = track(*ALLIES, f"|-singleturn|p1a: Rex|{shown}", "|swap|p1b: Bob|0|[from] move: Ally Switch")
    assert see(tracker)["active"][:2, column].tolist() == [0.0, 1.0]
    tracker.lines(("|upkeep", "|turn|2"))
    assert see(tracker)["active"][:2, column].tolist() == [0.0, 0.0]


def test_protecting_moves_in_a_row_are_counted_wherever_their_pokemon_stands() -> None:
    def in_a_row(tracker: Tracker) -> list[int]:
        return [round(float(turns)) for turns in see(tracker)["active"][:2, ActiveColumn.PROTECT_TURNS] * TURN_SCALE]

    tracker = track(*ALLIES, "|-singleturn|p1a: Rex|Protect", "|swap|p1b: Bob|0|[from] move: Ally Switch", "|upkeep")
    assert in_a_row(tracker) == [0, 1]
    tracker.lines(("|turn|2", "|-singleturn|p1b: Rex|Protect", "|upkeep"))
    assert in_a_row(tracker) == [0, 2]
    tracker.lines(("|turn|3", "|-singleturn|p1a: Bob|Quick Guard", "|upkeep"))
    assert in_a_row(tracker) == [0, 0]


def test_who_blocks_whom_outlasts_a_change_of_places() -> None:
    tracker = track(
        *ALLIES,
        "|move|p1a: Rex|Mean Look|p2a: Ann",
        "|-activate|p2a: Ann|trapped",
        "|swap|p1b: Bob|0|[from] move: Ally Switch",
        "|switch|p1a: Cid|Onix|100/100",
    )
    assert see(tracker)["active"][FOE, ActiveColumn.BLOCKED] == 1.0
    tracker.line("|switch|p1b: Dan|Jynx|100/100")
    assert see(tracker)["active"][FOE, ActiveColumn.BLOCKED] == 0.0


def test_taking_aim_lasts_through_the_next_turn_or_until_the_aimer_leaves() -> None:
    aims = (*ALLIES, "|-activate|p2a: Ann|move: Lock-On|[of] p1a: Rex", "|upkeep", "|turn|2")
    tracker = track(*aims)
    assert see(tracker)["active"][OWN, ActiveColumn.LOCK_ON] == 1.0
    tracker.line("|upkeep")
    assert see(tracker)["active"][OWN, ActiveColumn.LOCK_ON] == 0.0
    assert see(track(*aims, "|switch|p2a: Eve|Eevee|100/100"))["active"][OWN, ActiveColumn.LOCK_ON] == 0.0


def test_who_is_locked_on_to_by_two_stays_so_while_one_of_them_stays() -> None:
    first = (*ALLIES, "|-activate|p2b: Zed|move: Lock-On|[of] p1a: Rex", "|upkeep", "|turn|2")
    both = track(*first, "|-activate|p2a: Ann|move: Lock-On|[of] p1a: Rex", "|faint|p2a: Ann")
    assert see(both)["active"][OWN, ActiveColumn.LOCK_ON] == 1.0
    both.lines(["|upkeep", "|turn|3"])
    assert see(both)["active"][OWN, ActiveColumn.LOCK_ON] == 0.0


def test_terrain_that_starts_while_a_turn_ends_is_not_counted_at_that_end() -> None:
    sown = "|-fieldstart|move: Grassy Terrain|[from] ability: Seed Sower|[of] p2a: Ann"
    strikes = track(*START, "|-end|p2a: Ann|move: Future Sight", "|-damage|p2a: Ann|73/100", sown, "|upkeep", "|turn|2")
    assert see(strikes)["field"][FieldColumn.TERRAIN_TURNS] == pytest.approx(5 / TURN_SCALE)
    earlier = track(*START, "|-damage|p2a: Ann|73/100", sown, "|upkeep", "|turn|2")
    assert see(earlier)["field"][FieldColumn.TERRAIN_TURNS] == pytest.approx(4 / TURN_SCALE)


def test_protection_that_is_broken_is_over() -> None:
    tracker = track(*ALLIES, "|-singleturn|p1a: Rex|Protect", "|-activate|p1a: Rex|move: Hyperspace Hole|[broken]")
    assert not see(tracker)["active"][OWN, [ActiveColumn.PROTECTED, ActiveColumn.PROTECT_TURNS]].any()


def test_a_move_turned_back_is_no_act_of_its_user() -> None:
    tracker = track(*ALLIES, "|-mustrecharge|p2a: Ann", "|move|p2a: Ann|Taunt|p1a: Rex|[from] ability: Magic Bounce")
    assert see(tracker)["active"][FOE, ActiveColumn.RECHARGING] == 1.0
    tracker.line("|-damage|p2a: Ann|80/100|[from] confusion")
    assert see(tracker)["active"][FOE, ActiveColumn.RECHARGING] == 0.0


def test_an_illusion_outlives_the_model_beside_it_and_both_are_counted() -> None:
    tracker = track(
        *("|teamsize|p2|6", *ALLIES, "|switch|p2a: Zed|Umbreon, M|100/100", "|switch|p2b: Zed|Umbreon, M|80/100"),
        *("|faint|p2b: Zed", "|replace|p2a: Zoro|Zoroark, L80, M", "|-end|p2a: Zoro|Illusion"),
    )
    assert see(tracker)["active_ids"][FOE, ActiveId.POKEMON] == 1 + 8  # the third foe that was seen
    tracker.line("|faint|p2a: Zoro")
    assert round(float(see(tracker)["side"][1, SideColumn.REMAINING]) * 6) == 4


def test_a_model_that_heals_after_the_illusion_beside_it_went_down_is_no_revival() -> None:
    illusion = ("|switch|p2a: Zed|Umbreon, M|80/100", "|faint|p2a: Zed")
    tracker = track("|teamsize|p2|6", *ALLIES, *illusion, "|-heal|p2b: Zed|90/100|[from] item: Leftovers")
    assert round(float(see(tracker)["side"][1, SideColumn.REMAINING]) * 6) == 5
    tracker.line("|-heal|p2: Zed|50/100")
    assert round(float(see(tracker)["side"][1, SideColumn.REMAINING]) * 6) == 5
    tracker.lines(("|faint|p2b: Zed", "|-heal|p2: Zed|50/100"))
    assert round(float(see(tracker)["side"][1, SideColumn.REMAINING]) * 6) == 5


@pytest.mark.parametrize(("generation", "turns"), [(3, 1), (5, 1), (6, 0), (9, 0)])
def test_a_protecting_move_that_fails_ends_the_row_since_generation_6(generation: int, turns: int) -> None:
    works = ("|move|p1a: Rex|Protect|p1a: Rex", "|-singleturn|p1a: Rex|Protect", "|upkeep", "|turn|2")
    tracker = track(*ALLIES, *works, "|move|p1a: Rex|Protect||[still]", "|-fail|p1a: Rex", generation=generation)
    assert see(tracker)["active"][OWN, ActiveColumn.PROTECT_TURNS] * TURN_SCALE == turns
    tracker.line("|upkeep")
    assert see(tracker)["active"][OWN, ActiveColumn.PROTECT_TURNS] == 0.0


def test_a_rampage_that_another_move_called_is_not_in_the_list() -> None:
    called = track(
        *START,
        "|move|p2a: Ann|Copycat|p2a: Ann",
        "|move|p2a: Ann|Outrage|p1a: Rex|[from] move: Copycat",
        "|turn|2",
        "|move|p2a: Ann|Outrage|p1a: Rex|[from] lockedmove",
    )
    names = [load_dex(9).moves.ids[number] for number in see(called)["move_ids"][6].tolist()]
    assert names == ["copycat", "", "", ""]


GENERATION_1 = (
    *("|gametype|singles", "|teamsize|p1|6", "|teamsize|p2|6", "|start"),
    *("|switch|p1a: Mew|Mew|100/100", "|switch|p2a: Onix|Onix|100/100", "|turn|1"),
)
DESYNC = (
    "|-hint|Desync Clause Mod activated!",
    "|-hint|In Gen 1, if both players would see the same Pokémon using different moves, the Pokemon defaults to the "
    "move shown from the perspective of the player controlling that Pokémon.",
)


def known_moves(tracker: Tracker, row: int) -> list[str]:
    return [tracker.tables.dex.moves.ids[number] for number in see(tracker)["move_ids"][row] if number]


def test_a_move_made_by_the_desync_clause_need_not_be_its_users_own() -> None:
    tracker = track(*GENERATION_1, *DESYNC, "|move|p2a: Onix|Surf|p1a: Mew", generation=1)
    assert known_moves(tracker, 6) == []
    tracker.lines(("|turn|2", "|move|p2a: Onix|Dig|p1a: Mew"))
    assert known_moves(tracker, 6) == ["dig"]


def test_the_desync_clause_does_not_outlast_its_turn() -> None:
    tracker = track(*GENERATION_1, *DESYNC, "|turn|2", "|move|p2a: Onix|Dig|p1a: Mew", generation=1)
    assert known_moves(tracker, 6) == ["dig"]


@pytest.mark.parametrize(
    ("later", "spared"),
    [
        (("|turn|2", "|move|p1a: Mew|Bite|p2a: Onix", "|cant|p2a: Onix|flinch"), True),
        (("|move|p1a: Mew|Wrap|p2a: Onix|[miss]", "|-miss|p1a: Mew"), True),
        (("|move|p1a: Mew|Sing|p2a: Onix", "|-status|p2a: Onix|slp"), True),
        (("|move|p1a: Mew|Surf|p2a: Onix",), False),
        (("|turn|2", "|cant|p2a: Onix|frz"), False),
    ],
    ids=["flinch", "bind", "sleep", "a hit", "freeze"],
)
def test_what_spares_a_pokemon_its_rest_in_generation_1(later: tuple[str, ...], spared: bool) -> None:
    tracker = track(
        *GENERATION_1, "|move|p2a: Onix|Hyper Beam|p1a: Mew", "|-mustrecharge|p2a: Onix", *later, generation=1
    )
    assert see(tracker)["active"][FOE, ActiveColumn.RECHARGING] == float(not spared)


@pytest.mark.parametrize(
    "happens",
    [
        ("|-damage|p1a: A|76/100",),  # Regenerator heals who is dragged out without a word
        ("|-status|p1a: A|par", "|-damage|p1a: A|76/100 par"),  # and Natural Cure takes a status
    ],
)
def test_a_request_that_says_again_what_the_last_one_said_still_counts(happens: tuple[str, ...]) -> None:
    team = [entry("A", "Mew", active=True), entry("B", "Onix")]
    tracker = track(*START)
    tracker.request({"wait": True, "side": {"pokemon": team}})
    tracker.lines([*happens, "|drag|p1a: B|Onix|100/100"])
    tracker.request({"wait": True, "side": {"pokemon": [{**team[1], "active": True}, {**team[0], "active": False}]}})
    view = see(tracker)
    assert view["pokemon"][0, PokemonColumn.HP] == 1.0
    assert view["pokemon_ids"][0, PokemonId.STATUS] == 0


def test_a_request_tells_of_a_flinch_that_spared_the_own_pokemon_its_rest() -> None:
    lines = ("|move|p1a: Mew|Hyper Beam|p2a: Onix", "|-mustrecharge|p1a: Mew", "|move|p2a: Onix|Bite|p1a: Mew")
    own = entry("Mew", "Mew", active=True, moves=["hyperbeam", "surf"], item="", baseAbility="", ability="")
    moves = [{"move": id, "id": id, "pp": 5, "maxpp": 8} for id in own["moves"]]
    for asked, rests in ((moves, 0.0), ([{"move": "Recharge", "id": "recharge"}], 1.0)):
        tracker = track(*GENERATION_1, *lines, generation=1)
        tracker.request({"active": [{"moves": asked}], "side": {"id": "p1", "pokemon": [own]}})
        assert see(tracker)["active"][OWN, ActiveColumn.RECHARGING] == rests


def test_a_mimicked_move_counts_down_from_what_mimic_had_left_in_generation_1() -> None:
    mimicked = ("|move|p2a: Onix|Mimic|p1a: Mew", "|-start|p2a: Onix|Mimic|Fire Blast")
    tracker = track(*GENERATION_1, *mimicked, generation=1)
    left = [15, *(15 - used for used in range(1, 9))]  # Mimic has 16, Fire Blast at most 8
    for pp in left:
        view = see(tracker)
        assert view["active_moves"][FOE, 0, MoveColumn.PP] == pytest.approx(min(pp, 8) / 8)
        assert view["moves"][6, 0, MoveColumn.PP] == pytest.approx(pp / 16)
        tracker.line("|move|p2a: Onix|Fire Blast|p1a: Mew")
