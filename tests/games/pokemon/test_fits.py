"""From an order in words, or from what a log shows, back to action numbers."""

import numpy as np
import pytest

from sparring.games.pokemon.actions import ActionSpace, Names, Shown, fits_shown, fits_text, gimmicks_of
from sparring.games.pokemon.actions.offer import AIM_FOE_1, AIM_FOE_2, AIM_NONE, OFFER, PREVIEW, TURN
from sparring.games.pokemon.dex import load_dex
from tests.games.pokemon.scenarios import SCENARIOS, asked


class Asked:
    """A scenario's decision: its action space, offer and names."""

    def __init__(self, name: str) -> None:
        scenario, tracker = SCENARIOS[name], asked(name)
        self.space = ActionSpace(1 + scenario.doubles, gimmicks_of(scenario.format_id))
        self.offer, self.names = bytes(tracker.offer), tracker.called

    def text(self, text: str) -> list[str]:
        return self.described(fits_text(self.space, self.offer, text, self.names))

    def shown(self, *shown: Shown) -> list[str]:
        return self.described(fits_shown(self.space, self.offer, self.space.legal(self.offer), shown, self.names))

    def described(self, fits: np.ndarray) -> list[str]:
        assert fits.shape == (self.space.actions,)
        return [self.space.describe(int(action)) for action in np.flatnonzero(fits)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_choice_means_its_own_action_and_no_other(name: str) -> None:
    decision = Asked(name)
    legal = decision.space.legal(decision.offer)
    for action in np.flatnonzero(legal).tolist():
        choice = decision.space.choice(decision.offer, action)
        fits = fits_text(decision.space, decision.offer, f"/choose {choice}|12", decision.names)
        assert np.flatnonzero(fits).tolist() == [action], choice


def test_moves_and_pokemon_go_by_name() -> None:
    decision = Asked("tera offered")
    moves = decision.names.moves[0]
    assert decision.text(f"move {moves[1]}") == ["move 2"]
    assert decision.text(f"/choose move {moves[1]} terastallize") == ["move 2 terastallize"]
    assert decision.text(f"switch {decision.names.team[1].upper()}") == ["switch to slot 2"]
    assert decision.text("move splash") == []
    assert decision.text("switch Nobody") == []
    assert decision.text("dance") == []


def test_words_that_leave_it_open_fit_all_that_is_legal() -> None:
    decision = Asked("doubles, plain")
    legal = int(decision.space.legal(decision.offer).sum())
    assert len(decision.text("default")) == len(decision.text("/choose default, default")) == legal
    left = decision.text("switch 3, default")
    assert left
    assert all(name.startswith("switch to slot 3; ") for name in left)
    assert decision.text("move 1") == [], "a part is missing"


def test_showdown_passes_for_places_that_can_do_nothing_else() -> None:
    decision = Asked("doubles, one slot must switch")
    switches = [choice for choice in decision.text("default") if "switch" in choice]
    slot = switches[0].split("switch to slot ")[1][0]
    assert decision.text(f"switch {decision.names.team[int(slot) - 1]}") == [switches[0]]
    commander = Asked("doubles, commander")
    assert commander.text("move wavecrash 1") == ["pass; move 1 at foe 1"]


def test_targets_are_foes_the_ally_or_the_user_itself() -> None:
    decision = Asked("doubles, plain")
    left, right = (decision.names.moves[place] for place in (0, 1))
    aimed = [name for name in decision.text("default") if name.startswith("move 1 at ally; ")]
    assert aimed
    assert aimed == decision.text(f"move {left[0]} -2, default")
    assert decision.text("default, move 1 -1") == [
        name for name in decision.text("default") if name.endswith("; move 1 at ally")
    ]
    assert right


def test_a_max_move_is_a_move_of_its_type() -> None:
    decision = Asked("dynamaxed")
    assert decision.names.moves[0] == ["tackle", "rest", "bodyslam", "curse"]
    assert decision.text("move maxstrike") == decision.shown(Shown(move="Max Strike")) == ["move 1", "move 3"]
    assert decision.shown(Shown(move="Max Guard")) == ["move 2", "move 4"]
    assert decision.shown(Shown(move="Max Flare")) == ["move 1", "move 3"], "if something changed their type"


def test_a_z_move_is_a_move_that_its_crystal_takes() -> None:
    decision = Asked("z-move past a taunt")
    z_moves = [name for name in decision.text("default") if "zmove" in name]
    assert z_moves
    for name in z_moves:
        move = decision.names.moves[0][int(name.split()[1]) - 1]
        called = f"Z-{move}" if decision.names.dex.raw["moves"][move]["category"] == "Status" else move
        assert decision.shown(Shown(move=called, gimmick="zmove")) == [name]


def test_a_locked_pokemon_did_the_one_thing_it_could() -> None:
    for name in ("recharge", "struggle", "locked rampage", "two-turn move"):
        decision = Asked(name)
        assert decision.text("move 1") == decision.text("move struggle") == decision.shown(Shown(move="Struggle"))
        assert len(decision.text("move 1")) == 1


def test_a_target_for_a_locked_move_changes_nothing() -> None:
    offer = np.zeros(1, OFFER)
    offer["kind"], offer["size"] = TURN, 2
    offer["position"][0, :2] = [1, 2]
    places = offer["place"]
    places["acts"], places["trapped"] = 1, 1
    places["locked"] = [3, 0]
    places["aims"][0, 0, 0, 2] = AIM_NONE
    places["aims"][0, 1, 0, 0] = AIM_FOE_1 | AIM_FOE_2
    space, names = (
        ActionSpace(2, ()),
        Names(load_dex(9), list("ab"), [["", "", "shadowforce", ""], ["surf", "", "", ""]]),
    )
    for text in ("move shadowforce 1, move surf 2", "move 1, move surf 2"):
        fits = fits_text(space, offer.tobytes(), text, names)
        assert [space.describe(int(action)) for action in np.flatnonzero(fits)] == ["move 3; move 1 at foe 2"]


def test_what_a_log_does_not_show_excludes_nothing() -> None:
    decision = Asked("tera offered")
    move = decision.names.moves[0][0]
    everything = decision.shown(Shown())
    assert everything == decision.text("default")
    assert decision.shown(Shown(move=move)) == ["move 1", "move 1 terastallize"]
    assert decision.shown(Shown(move=move, gimmick="")) == ["move 1"]
    assert decision.shown(Shown(move=move, gimmick="terastallize")) == ["move 1 terastallize"]
    assert decision.shown(Shown(switch=(1,))) == ["switch to slot 2"]
    assert decision.shown(Shown(gimmick="mega")) == []


def test_a_target_in_a_log_counts_only_where_one_is_chosen() -> None:
    decision = Asked("doubles, plain")
    plain = decision.shown(Shown(gimmick=""), Shown(gimmick=""))
    for number, move in enumerate(decision.names.moves[0], 1):
        mine = [name for name in plain if name.startswith(f"move {number}")]
        shown = decision.shown(Shown(move=move, target=1, gimmick=""), Shown(gimmick=""))
        targeted = [name for name in mine if " at " in name.split("; ")[0]]
        assert shown == ([name for name in mine if name.split("; ")[0].endswith("at foe 1")] if targeted else mine)


def test_team_preview_by_words_and_by_those_who_came() -> None:
    offer = np.zeros(1, OFFER)
    offer["kind"], offer["size"] = PREVIEW, 6
    names = Names(load_dex(9), list("abcdef"), [[], []])
    vgc, singles = ActionSpace(2, ("terastallize",), bring=4), ActionSpace(1, ("terastallize",))

    def fits(space: ActionSpace, text: str) -> list[str]:
        return [
            space.describe(int(action)) for action in np.flatnonzero(fits_text(space, offer.tobytes(), text, names))
        ]

    assert fits(vgc, "/team 3142") == fits(vgc, "team 1, 3, 2, 4") == ["lead 1 and 3, bring 2 and 4"]
    assert fits(vgc, "team 31") == fits(vgc, "team 3178") == fits(vgc, "move 1, move 2") == []
    assert fits(singles, "/choose team 312456") == ["switch to slot 3"]
    leads = [Shown(switch=(0,)), Shown(switch=(2,))]
    shown = fits_shown(vgc, offer.tobytes(), vgc.legal(offer.tobytes()), leads, names, brought={4})
    assert [vgc.describe(int(action)) for action in np.flatnonzero(shown)] == [
        "lead 1 and 3, bring 2 and 5",
        "lead 1 and 3, bring 4 and 5",
        "lead 1 and 3, bring 5 and 6",
    ]
    led = fits_shown(singles, offer.tobytes(), singles.legal(offer.tobytes()), [Shown(switch=(3,))], names)
    assert [singles.describe(int(action)) for action in np.flatnonzero(led)] == ["switch to slot 4"]
