"""Rows tell nothing of what comes later, but for what the own team has: not even by the order of moves and slots."""

import numpy as np

from sparring.games.pokemon import column_numbers as c
from sparring.games.pokemon.columns import SLOTS, TEAM
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.replays.parse import ParsedBattle, parse_battle
from tests.games.pokemon.replays.logs import battle
from tests.games.pokemon.replays.truth import load_ids, played

UPKEEP = ("|", "|upkeep")
ONIX = "|move|p2a: Onix|Rock Slide|p1a: Mew"


def turns(*moves: str) -> str:
    """A battle in which Mew makes these moves, one a turn."""
    lines: list[str] = []
    for number, move in enumerate(moves):
        lines += [*(() if not number else (*UPKEEP, f"|turn|{number + 1}")), "|", f"|move|p1a: Mew|{move}|p2a: Onix"]
        lines += [ONIX]
    return battle(*lines)


def read(log: str, format: str = "gen9customgame") -> ParsedBattle:
    return parse_battle(log, find_format(format))


def listed(parsed: ParsedBattle, field: str = "move_ids", row: int = 0, slot: int = 0) -> list[str]:
    ids = load_ids(find_format("gen9customgame").tables)
    return [ids[move] for move in parsed.sides[0].observation[field][row, slot].tolist()]


def same_first_row(one: ParsedBattle, other: ParsedBattle) -> None:
    for name, rows in one.sides[0].observation.items():
        np.testing.assert_array_equal(rows[0], other.sides[0].observation[name][0], err_msg=name)


def test_own_moves_are_in_the_order_of_their_ids_from_the_first_row_on() -> None:
    parsed = read(turns("Surf", "Aura Sphere", "Psychic"))
    for row in range(3):
        for field in ("move_ids", "active_move_ids"):
            assert listed(parsed, field, row) == ["aurasphere", "psychic", "surf", ""]
    side = parsed.sides[0]
    chosen = [np.flatnonzero(fits).tolist() for fits in side.consistent]
    assert chosen == [[2], [0], [1]]
    pp = side.observation["moves"][:, 0, :, 1]
    np.testing.assert_array_equal(pp[:, :3] < 1.0, [[False, False, False], [False, False, True], [True, False, True]])
    np.testing.assert_array_equal(side.observation["active_moves"][:, 0], side.observation["moves"][:, 0])


def test_the_first_row_does_not_depend_on_the_order_in_which_moves_will_be_used() -> None:
    same_first_row(read(turns("Surf", "Psychic", "Aura Sphere")), read(turns("Aura Sphere", "Surf", "Psychic")))


def test_a_foe_that_takes_the_own_looks_lists_the_own_moves_in_the_same_order() -> None:
    taken = ("|", "|-transform|p2a: Onix|p1a: Mew", *UPKEEP, "|turn|2")

    def then(*moves: str) -> ParsedBattle:
        return read(battle(*taken, *turns(*moves).split("\n")[11:-2]))

    for name, rows in then("Surf", "Psychic").sides[0].observation.items():
        np.testing.assert_array_equal(rows[1], then("Psychic", "Surf").sides[0].observation[name][1], err_msg=name)
    assert listed(then("Surf", "Psychic"), "active_move_ids", row=1, slot=2) == ["psychic", "surf", "", ""]


def test_a_mimicked_move_is_where_mimic_was() -> None:
    lines = [
        *("|", "|move|p1a: Mew|Surf|p2a: Onix", ONIX, *UPKEEP, "|turn|2"),
        *("|", ONIX, "|move|p1a: Mew|Mimic|p2a: Onix", "|-start|p1a: Mew|Mimic|Rock Slide", *UPKEEP, "|turn|3"),
        *("|", "|move|p1a: Mew|Rock Slide|p2a: Onix", *UPKEEP, "|turn|4"),
        *("|", "|move|p1a: Mew|Amnesia|p1a: Mew"),
    ]
    parsed = read(battle(*lines, gen=3), "gen3customgame")
    ids = load_ids(find_format("gen3customgame").tables)
    now = [ids[move] for move in parsed.sides[0].observation["active_move_ids"][2, 0].tolist()]
    assert now == ["amnesia", "rockslide", "surf", ""]
    assert np.flatnonzero(parsed.sides[0].consistent[2]).tolist() == [1]


def test_a_team_sheet_keeps_the_order_of_its_own() -> None:
    sheet = "Mew||Leftovers|Synchronize|surf,psychic,aurasphere,roost|||||||"
    head, rest = turns("Psychic", "Surf").split("|start\n")
    parsed = read(f"{head}|poke|p1|Mew|\n|poke|p2|Onix, M|\n|showteam|p1|{sheet}\n|start\n{rest}")
    assert listed(parsed) == ["surf", "psychic", "aurasphere", "roost"]


def test_without_a_preview_the_leads_come_first_and_the_others_by_id() -> None:
    def visits(*names: str) -> str:
        lines: list[str] = []
        for number, name in enumerate(names):
            lines += ["|", f"|switch|p1a: {name}|{name}|100/100", ONIX, *UPKEEP, f"|turn|{number + 2}"]
        return battle(*lines, *("|", "|move|p1a: Abra|Psychic|p2a: Onix"))

    early, late = read(visits("Zubat", "Eevee", "Abra")), read(visits("Eevee", "Zubat", "Abra"))
    for parsed in (early, late):
        assert [member.details for member in parsed.timeline.teams[0]] == ["Mew", "Abra", "Eevee", "Zubat"]
    same_first_row(early, late)
    assert np.flatnonzero(early.sides[0].consistent[0]).tolist() != np.flatnonzero(late.sides[0].consistent[0]).tolist()


def test_both_leads_of_doubles_come_first_in_the_order_of_their_places() -> None:
    switch = ("|", "|switch|p1a: Abra|Abra, M|100/100", "|", "|upkeep", "|turn|2")
    parsed = read(battle(*switch, *("|", "|move|p1a: Abra|Psychic|p2a: Onix"), kind="doubles"), "gen9doublescustomgame")
    assert [member.name for member in parsed.timeline.teams[0]] == ["Mew", "Gyarados", "Abra"]


def test_an_illusion_that_led_is_the_lead() -> None:
    lines = ["|", ONIX, "|replace|p1a: Zed|Zoroark, M", "|-end|p1a: Zed|Illusion", *UPKEEP, "|turn|2"]
    lines += ["|", "|move|p1a: Zed|Snarl|p2a: Onix"]
    assert [member.name for member in read(battle(*lines)).timeline.teams[0]] == ["Zed", "Mew"]


def test_what_comes_later_changes_nothing_but_the_own_sets() -> None:
    (one,) = played("gen9ou", "heuristic", 1, seed=6)
    whole, log = read(one["log"], "gen9ou"), one["log"]
    cut = read(log[: log.index("|turn|8")] + "|win|one", "gen9ou")
    sets = [c.POKEMON_ITEM_KNOWN, c.POKEMON_ITEM_HELD, c.POKEMON_ABILITY_KNOWN, c.POKEMON_MOVES_KNOWN]
    for early, late in zip(cut.sides, whole.sides, strict=True):
        count = len(early.turn) - 1  # of the last turn nothing shows any more
        assert count > 7
        for name in ("field", "side", "active", "pokemon", "pokemon_ids", "move_ids", "moves", "active_moves"):
            ours, theirs = early.observation[name][:count].copy(), late.observation[name][:count].copy()
            if name in ("pokemon_ids", "move_ids", "moves"):
                ours, theirs = ours[:, TEAM:], theirs[:, TEAM:]
            elif name == "active_moves":
                ours, theirs = ours[:, SLOTS:], theirs[:, SLOTS:]
            elif name == "pokemon":
                ours[:, :TEAM, sets] = theirs[:, :TEAM, sets]
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
