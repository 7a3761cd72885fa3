"""Where a log holds decisions, and what was chosen there."""

import pytest

from sparring.core.replays import Rejected
from sparring.games.pokemon.replays.deeds import Deed, Did, Kind, Timeline
from sparring.games.pokemon.replays.timeline import read_timeline
from sparring.games.pokemon.tracking.tables import load_tables
from tests.games.pokemon.replays.logs import battle

UPKEEP = ("|", "|upkeep")


def read(log: str, gen: int = 9) -> Timeline:
    return read_timeline([line.split("|") for line in log.split("\n")], load_tables(gen))


def deed(timeline: Timeline, decision: int = 0, *, side: int = 0, place: int = 0) -> Deed:
    deeds = timeline.decisions[decision].deeds[side]
    assert deeds is not None
    found = deeds[place]
    assert found is not None
    return found


def kinds(timeline: Timeline) -> list[tuple[Kind, tuple[bool, bool]]]:
    return [
        (decision.kind, (decision.deeds[0] is not None, decision.deeds[1] is not None))
        for decision in timeline.decisions
    ]


def test_each_turn_asks_both_sides() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|-damage|p2a: Onix|50/100"),
        *("|move|p2a: Onix|Rock Slide|p1a: Mew", "|-damage|p1a: Mew|70/100", *UPKEEP, "|turn|2"),
        *("|", "|switch|p1a: Jynx|Jynx, F|100/100", "|move|p2a: Onix|Harden|p2a: Onix"),
    )
    timeline = read(log)
    assert kinds(timeline) == [(Kind.TURN, (True, True))] * 2
    assert (deed(timeline).did, deed(timeline).move, deed(timeline).target) == (Did.MOVE, "Psychic", "p2a")
    switched = deed(timeline, 1)
    assert switched.did is Did.SWITCH
    assert switched.stint is not None
    assert switched.stint.member.name == "Jynx"


def test_players_have_seen_what_is_before_the_mark_and_nothing_else() -> None:
    log = battle("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|faint|p2a: Onix", "|", "|switch|p2a: Jynx|Jynx, F|100/100")
    lines = log.split("\n")
    timeline = read(log)
    assert lines[timeline.decisions[0].line - 1] == "|turn|1"
    replaced = timeline.decisions[1]
    assert replaced.kind is Kind.REPLACE
    assert lines[replaced.line :][:2] == ["|", "|switch|p2a: Jynx|Jynx, F|100/100"]


def test_both_replacements_of_a_double_faint_are_one_decision() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Explosion|p2a: Onix", "|faint|p2a: Onix", "|faint|p1a: Mew", *UPKEEP),
        *("|", "|switch|p1a: Jynx|Jynx, F|100/100", "|switch|p2a: Lapras|Lapras, M|100/100", "|turn|2"),
        *("|", "|move|p1a: Jynx|Psychic|p2a: Lapras"),
    )
    assert kinds(read(log)) == [(Kind.TURN, (True, True)), (Kind.REPLACE, (True, True)), (Kind.TURN, (True, True))]


def test_a_pivot_is_a_move_and_then_a_replacement() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|U-turn|p2a: Onix", "|-damage|p2a: Onix|80/100"),
        *("|", "|switch|p1a: Jynx|Jynx, F|100/100|[from] U-turn", "|move|p2a: Onix|Harden|p2a: Onix"),
    )
    timeline = read(log)
    assert kinds(timeline) == [(Kind.TURN, (True, True)), (Kind.REPLACE, (True, False))]
    assert deed(timeline).move == "U-turn"
    assert deed(timeline, side=1).move == "Harden"


def test_a_drag_is_nobodys_choice() -> None:
    log = battle(
        *("|", "|move|p2a: Onix|Roar|p1a: Mew", "|drag|p1a: Jynx|Jynx, F|100/100", *UPKEEP, "|turn|2"),
        *("|", "|move|p1a: Jynx|Psychic|p2a: Onix"),
    )
    timeline = read(log)
    assert kinds(timeline) == [(Kind.TURN, (True, True))] * 2
    assert deed(timeline).did is Did.UNKNOWN  # it was dragged out before it could act


@pytest.mark.parametrize(
    "called", ["[from] move: Metronome", "[from]Sleep Talk", "[from] Copycat", "[from] ability: Dancer"]
)
def test_a_called_move_is_not_the_one_that_was_chosen(called: str) -> None:
    caller = "Quiver Dance" if "Dancer" in called else called.removeprefix("[from]").split(": ")[-1].strip()
    log = battle("|", f"|move|p1a: Mew|{caller}|p1a: Mew", f"|move|p1a: Mew|Surf|p2a: Onix|{called}")
    assert deed(read(log)).move == caller


def test_dancing_along_before_acting_says_nothing_of_the_own_choice() -> None:
    log = battle(
        *("|", "|move|p2a: Onix|Swords Dance|p2a: Onix", "|move|p1a: Mew|Swords Dance|p1a: Mew|[from] ability: Dancer"),
        "|move|p1a: Mew|Psychic|p2a: Onix",
    )
    assert deed(read(log)).move == "Psychic"


def test_going_on_with_a_move_is_no_choice() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Outrage|p2a: Onix", *UPKEEP, "|turn|2"),
        *("|", "|move|p1a: Mew|Outrage|p2a: Onix|[from] lockedmove"),
    )
    assert not deed(read(log)).locked
    assert deed(read(log), 1).locked


@pytest.mark.parametrize("reason", ["par", "slp", "flinch", "frz"])
def test_a_pokemon_that_cannot_move_was_told_some_move(reason: str) -> None:
    found = deed(read(battle("|", f"|cant|p1a: Mew|{reason}")))
    assert (found.did, found.move) == (Did.MOVE, "")


def test_a_move_that_is_forbidden_in_the_middle_of_a_turn_shows_itself() -> None:
    log = battle("|", "|move|p2a: Onix|Taunt|p1a: Mew", "|cant|p1a: Mew|move: Taunt|Protect")
    assert deed(read(log)).move == "Protect"


def test_a_move_that_an_ability_forbids_is_of_who_made_it() -> None:
    forbidden = "|cant|p1a: Mew|ability: Queenly Majesty|Knock Off|[of] p2a: Onix"
    log = battle("|", "|move|p2a: Onix|Knock Off||[still]", forbidden, "|move|p1a: Mew|Surf|p2a: Onix")
    assert (deed(read(log)).did, deed(read(log)).move) == (Did.MOVE, "Surf")


def test_a_pokemon_that_faints_first_may_have_been_told_anything() -> None:
    log = battle("|", "|move|p2a: Onix|Explosion|p1a: Mew", "|faint|p2a: Onix", "|faint|p1a: Mew")
    assert deed(read(log)).did is Did.UNKNOWN


def test_a_pokemon_that_pursuit_catches_was_leaving() -> None:
    log = battle(
        "|",
        "|-activate|p1a: Mew|move: Pursuit",
        "|move|p2a: Onix|Pursuit|p1a: Mew|[from] Pursuit",
        "|faint|p1a: Mew",
        gen=4,
    )
    found = deed(read(log, 4))
    assert (found.did, found.stint) == (Did.SWITCH, None)


def test_encore_hides_what_was_chosen_before_it() -> None:
    log = battle("|", "|move|p2a: Onix|Encore|p1a: Mew", "|-start|p1a: Mew|Encore", "|move|p1a: Mew|Psychic|p2a: Onix")
    found = deed(read(log))
    assert (found.did, found.move) == (Did.MOVE, "")


@pytest.mark.parametrize(
    ("gen", "line", "gimmick"),
    [
        (9, "|-terastallize|p1a: Mew|Water", "terastallize"),
        (8, "|-start|p1a: Mew|Dynamax", "dynamax"),
        (7, "|-zpower|p1a: Mew", "zmove"),
        (7, "|-mega|p1a: Mew|Mew|Mewnium", "mega"),
        (7, "|-burst|p1a: Mew|Mew|Ultranecrozium Z", "mega"),
    ],
)
def test_gimmicks_belong_to_the_choice(gen: int, line: str, gimmick: str) -> None:
    log = battle("|", line, "|move|p1a: Mew|Psychic|p2a: Onix", gen=gen)
    assert deed(read(log, gen)).gimmick == gimmick


def test_an_illusion_that_ends_was_itself_all_along() -> None:
    log = battle(
        *("|", "|switch|p1a: Jynx|Jynx, F|100/100", *UPKEEP, "|turn|2"),
        *("|", "|move|p1a: Jynx|Night Daze|p2a: Onix", "|move|p2a: Onix|Rock Slide|p1a: Jynx"),
        *("|-damage|p1a: Jynx|50/100", "|replace|p1a: Zoroark|Zoroark, M", "|-end|p1a: Zoroark|Illusion"),
    )
    timeline = read(log)
    came = deed(timeline).stint
    assert came is not None
    assert (came.member.name, came.shown.name) == ("Zoroark", "Jynx")
    told = [line for line in timeline.corrections[0].values() if line is not None]
    assert told == [["", "switch", "p1a: Zoroark", "Zoroark, M", "100/100"]]
    assert not timeline.corrections[1]


def test_a_swap_of_places_does_not_swap_what_was_told() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Ally Switch|p1a: Mew", "|swap|p1a: Mew|1|[from] move: Ally Switch"),
        *("|move|p1a: Gyarados|Waterfall|p2a: Onix", "|move|p2a: Onix|Rock Slide|p1b: Mew"),
        kind="doubles",
    )
    timeline = read(log)
    assert deed(timeline, place=0).move == "Ally Switch"
    assert deed(timeline, place=1).move == "Waterfall"
    assert deed(timeline, side=1).retargeted


@pytest.mark.parametrize(
    "before",
    [
        "|-singleturn|p2b: Jynx|move: Follow Me",
        "|faint|p2b: Jynx",
        "|-activate|p2a: Onix|ability: Lightning Rod",
    ],
)
def test_a_target_that_something_may_have_drawn_is_not_taken_for_the_chosen_one(before: str) -> None:
    plain = battle("|", "|move|p1a: Mew|Thunderbolt|p2a: Onix", kind="doubles")
    drawn = battle("|", before, "|move|p1a: Mew|Thunderbolt|p2a: Onix", kind="doubles")
    assert not deed(read(plain)).retargeted
    assert deed(read(drawn)).retargeted


def test_revival_blessing_is_a_replacement_that_brings_nobody_in() -> None:
    log = battle(
        *("|", "|switch|p1a: Jynx|Jynx, F|100/100", "|move|p2a: Onix|Explosion|p1a: Jynx"),
        *("|faint|p2a: Onix", "|faint|p1a: Jynx", *UPKEEP, "|", "|switch|p1a: Mew|Mew|100/100"),
        *("|switch|p2a: Lapras|Lapras, M|100/100", "|turn|2", "|", "|move|p1a: Mew|Revival Blessing|p1a: Mew"),
        *("|", "|-heal|p1: Jynx|50/100|[from] move: Revival Blessing"),
    )
    timeline = read(log)
    revived = deed(timeline, 3)
    assert timeline.decisions[3].kind is Kind.REPLACE
    assert revived.member is not None
    assert revived.member.name == "Jynx"


def test_team_preview_chooses_the_leads() -> None:
    head = (
        battle()
        .split("\n|start")[0]
        .replace("|teamsize|p1|3", "|teamsize|p1|2")
        .replace("|teamsize|p2|3", "|teamsize|p2|2")
    )
    preview = ["|clearpoke", "|poke|p1|Mew|", "|poke|p1|Jynx, F|", "|poke|p2|Onix, M|", "|poke|p2|Lapras, M|"]
    rest = ["|teampreview", "|", "|start", "|switch|p1a: Rosa|Jynx, F|100/100", "|switch|p2a: Onix|Onix, M|100/100"]
    log = "\n".join([head, *preview, *rest, "|turn|1", "|", "|move|p1a: Rosa|Psychic|p2a: Onix", "|", "|win|Ann"])
    timeline = read(log)
    assert kinds(timeline)[0] == (Kind.PREVIEW, (True, True))
    lead = deed(timeline).stint
    assert lead is not None
    assert (lead.member.slot, lead.member.name) == (1, "Rosa")


def test_a_choice_that_was_never_carried_out_is_no_decision() -> None:
    log = battle(
        "|", "|move|p1a: Mew|Psychic|p2a: Onix", *UPKEEP, "|turn|2", end=("|-message|Bob forfeited.", "|", "|win|Ann")
    )
    timeline = read(log)
    assert timeline.forfeited
    assert (timeline.winner, len(timeline.decisions)) == (0, 1)  # the mark is the forfeit's own
    silent = read(battle("|", "|move|p1a: Mew|Psychic|p2a: Onix", *UPKEEP, "|turn|2", end=("|win|Bob",)))
    assert (silent.winner, len(silent.decisions)) == (1, 1)


def test_a_last_turn_in_which_nobody_got_to_act_was_chosen_at() -> None:
    hurt = ("|", "|-activate|p1a: Mew|confusion", "|-damage|p1a: Mew|0 fnt|[from] confusion", "|faint|p1a: Mew")
    timeline = read(battle(*hurt, end=("|", "|win|Bob")))
    assert len(timeline.decisions) == 1
    assert deed(timeline).did is Did.UNKNOWN


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (battle(end=()), "unfinished"),
        (battle(end=("|win|Carl",)), "unfinished"),
        ("|gametype|triples\n|win|Ann", "game type"),
        (battle("|switch|p1a: Rex"), "malformed line"),
        (
            battle(
                *(f"|switch|p1a: {name}|{name}|100/100" for name in ("Abra", "Ekans", "Muk", "Natu", "Xatu", "Zubat"))
            ),
            "team size",
        ),
    ],
)
def test_what_is_no_whole_battle_is_rejected_with_its_reason(log: str, reason: str) -> None:
    with pytest.raises(Rejected) as caught:
        read(log)
    assert caught.value.reason == reason


def test_what_instruct_and_dancer_make_a_pokemon_do_is_not_what_it_was_told() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Instruct|p2a: Onix", "|-singleturn|p2a: Onix|move: Instruct|[of] p1a: Mew"),
        *("|move|p2a: Onix|Rock Slide|p1a: Mew", "|move|p2a: Onix|Harden|p2a: Onix"),
        *("|-activate|p2b: Jynx|ability: Dancer", "|move|p2b: Jynx|Quiver Dance||[still]", "|-fail|p2b: Jynx"),
        *("|move|p2b: Jynx|Psychic|p1a: Mew",),
        kind="doubles",
    )
    timeline = read(log)
    assert deed(timeline, side=1).move == "Harden"
    assert deed(timeline, side=1, place=1).move == "Psychic"


def test_the_place_that_revives_is_that_of_the_move() -> None:
    log = battle(
        *("|", "|move|p1a: Mew|Splash|p1a: Mew", "|faint|p2a: Onix", *UPKEEP),
        *("|", "|switch|p2a: Lapras|Lapras, M|100/100", "|turn|2"),
        *("|", "|cant|p2a: Lapras|par", "|move|p2b: Jynx|Revival Blessing|p2b: Jynx"),
        *("|", "|-heal|p2: Onix|50/100|[from] move: Revival Blessing"),
        kind="doubles",
    )
    deeds = read(log).decisions[-1].deeds[1]
    assert deeds is not None
    assert deeds[0] is None
    assert deeds[1] is not None
    assert deeds[1].member is not None
    assert deeds[1].member.name == "Onix"


def test_nobody_chose_that_who_was_revived_where_it_fell_comes_back() -> None:
    log = battle(
        *("|", "|move|p1b: Gyarados|Explosion|p2a: Onix", "|faint|p1b: Gyarados", *UPKEEP, "|turn|2"),
        *("|", "|move|p1a: Mew|Revival Blessing|p1a: Mew"),
        *("|", "|-heal|p1: Gyarados|50/100|[from] move: Revival Blessing"),
        *(*UPKEEP, "|switch|p1b: Gyarados|Gyarados, M|50/100", "|turn|3"),
        *("|", "|move|p1b: Gyarados|Waterfall|p2a: Onix"),
        kind="doubles",
    )
    timeline = read(log)
    assert [decision.kind for decision in timeline.decisions] == [Kind.TURN, Kind.TURN, Kind.REPLACE, Kind.TURN]
    assert deed(timeline, 3, place=1).move == "Waterfall"


def test_an_illusion_that_fell_is_replaced_by_its_model_by_choice() -> None:
    log = battle(
        *("|", "|switch|p1a: Jynx|Jynx, F|100/100", "|faint|p1a: Jynx", *UPKEEP),  # Zoroark, as it was
        *("|", "|switch|p1a: Jynx|Jynx, F|40/100", "|turn|2", "|", "|move|p1a: Jynx|Psychic|p2a: Onix"),
    )
    assert [decision.kind for decision in read(log).decisions] == [Kind.TURN, Kind.REPLACE, Kind.TURN]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("|-activate|p1a: Mew|ability: Emergency Exit", Did.SWITCH),
        ("|-enditem|p2a: Onix|Eject Button", Did.UNKNOWN),
    ],
)
def test_a_switch_after_another_was_replaced_is_the_turns_own_unless_it_was_driven_out(line: str, kind: Did) -> None:
    replaced = "p1a: Abra|Abra, M" if kind is Did.SWITCH else "p2a: Jynx|Jynx, F"
    log = battle(
        *("|", line, "|", f"|switch|{replaced}|100/100"),
        *(("|switch|p2a: Jynx|Jynx, F|100/100",) if kind is Did.SWITCH else ()),
    )
    timeline = read(log)
    assert deed(timeline, 0, side=1).did is kind
    assert [decision.kind for decision in timeline.decisions] == [Kind.TURN, Kind.REPLACE]


def test_a_fainted_ally_is_not_asked_while_another_pivots() -> None:
    pivot = ("|", "|move|p1a: Mew|U-turn|p2a: Onix", "|faint|p1b: Gyarados")
    switch = ("|", "|switch|p1a: Abra|Abra, M|100/100|[from] U-turn")
    amid = read(battle(*pivot, *switch, kind="doubles"))
    assert deed(amid, 1, place=1).did is Did.PASS
    assert not deed(amid, 1, place=1).asked
    ended = read(battle(*pivot, "|faint|p1a: Mew", *UPKEEP, *switch, kind="doubles"))
    assert deed(ended, 1, place=1).asked


def test_who_throws_a_parting_shot_back_leaves_before_its_own_order() -> None:
    thrown = (
        "|",
        "|move|p2a: Onix|Parting Shot|p1a: Mew",
        "|move|p1a: Mew|Parting Shot|p2a: Onix|[from] ability: Magic Bounce",
    )
    leaves = ("|", "|switch|p1a: Abra|Abra, M|100/100|[from] Parting Shot", "|move|p1b: Gyarados|Surf|p2a: Onix")
    two = ("|", "|move|p1a: Abra|Psychic|p2a: Onix")
    found = read(battle(*thrown, *leaves, *UPKEEP, "|turn|2", *two, kind="doubles"))
    assert deed(found, 0).did is Did.UNKNOWN
    assert [decision.kind for decision in found.decisions] == [Kind.TURN, Kind.REPLACE, Kind.TURN]
    assert deed(found, 1).stint is not None


def test_two_of_a_team_may_have_the_same_name() -> None:
    log = battle(
        *("|", "|switch|p1a: Bob|Jynx, F|100/100", *UPKEEP, "|turn|2"),
        *("|", "|switch|p1a: Bob|Abra, M|100/100", *UPKEEP, "|turn|3"),
        *("|", "|switch|p1a: Bob|Jynx, F|100/100"),
    )
    assert [member.details for member in read(log).teams[0]] == ["Mew", "Abra, M", "Jynx, F"]


def test_the_owner_knew_the_forme_that_a_preview_hides() -> None:
    head = battle().split("\n|start")[0]
    log = "\n".join(
        [
            *(head, "|poke|p1|Urshifu-*, M|", "|poke|p2|Onix, M|", "|teampreview", "|", "|start"),
            *("|switch|p1a: Urshifu|Urshifu-Rapid-Strike, M|100/100", "|switch|p2a: Onix|Onix, M|100/100", "|turn|1"),
            *("|", "|move|p1a: Urshifu|Surf|p2a: Onix", "|", "|win|Ann"),
        ]
    )
    assert read(log).teams[0][0].details == "Urshifu-Rapid-Strike, M"


def test_a_winner_who_was_renamed_and_ratings_that_only_the_end_tells() -> None:
    log = battle("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|player|p1|Ann☆|1", end=("|", "|win|ann"))
    assert read(log).winner == 0
    told = log.replace("|1500", "").replace("|1600", "") + "\n|raw|Ann's rating: 1767 &rarr; <strong>1784</strong>"
    assert read(told).ratings[0] == 1767
    assert read(told).ratings[1] != read(told).ratings[1]


def test_more_than_two_players_are_another_kind_of_game() -> None:
    with pytest.raises(Rejected) as rejected:
        read("|player|p3|Cy|1\n" + battle())
    assert rejected.value.reason == "game type"
