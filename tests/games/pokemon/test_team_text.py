"""Many teams in one text: where one ends and the next begins."""

import pytest

from sparring.core import InputError
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.team_text import TeamText, split_teams

ONE = "Tauros @ Leftovers\n- Body Slam"
FULL = "\n\n".join([ONE] * 6)


def split(text: str) -> list[TeamText]:
    return split_teams(text, "t.txt", most=6)


def test_one_team_is_the_file() -> None:
    assert split(f"\ufeff{ONE}\r\n\r\n\r\n{ONE}\n") == [TeamText("t.txt", "", f"{ONE}\n\n{ONE}")]


def test_headings_start_teams_and_name_them() -> None:
    text = f"=== [gen9ou] Folder/Rain = good ===\n\n{ONE}\n\n=== Sun ===\n{ONE}\n\n\n{ONE}\n======\n{ONE}\n"
    assert [(team.place, team.format) for team in split(text)] == [
        ("t.txt, team 1 (Folder/Rain = good)", "gen9ou"),
        ("t.txt, team 2 (Sun)", ""),
        ("t.txt, team 3", ""),
    ]
    assert [team.text.count("Tauros") for team in split(text)] == [1, 2, 1]


def test_a_heading_without_pokemon_is_no_team() -> None:
    assert [team.place for team in split(f"=== A ===\n\n=== B ===\n{ONE}")] == ["t.txt, team 1 (B)"]


def test_without_headings_more_than_one_empty_line_parts_teams() -> None:
    text = f"{ONE}\n\n{ONE}\n\n\n{FULL}\n \n\t\n---\n{ONE}"
    assert [team.text.count("Tauros") for team in split(text)] == [2, 6, 1]


def test_without_headings_full_teams_part_themselves() -> None:
    assert [team.text.count("Tauros") for team in split(f"{FULL}\n\n{FULL}")] == [6, 6]
    assert [team.text.count("Tauros") for team in split("\n\n\n".join([ONE] * 12))] == [6, 6]


def test_teams_that_nothing_parts_are_refused() -> None:
    with pytest.raises(InputError, match=r"t.txt: it is not clear which of its 8 Pokémon are a team; put a line"):
        split(f"{FULL}\n\n{ONE}\n\n{ONE}")


def test_packed_lines_are_teams_of_their_own() -> None:
    text = f"Tauros||||bodyslam|||||||\n\nSnorlax||||rest|||||||\n=== A ===\n{ONE}"
    assert [team.place for team in split(text)] == ["t.txt:1", "t.txt:3", "t.txt, team 3 (A)"]


def test_control_characters_of_a_name_are_not_shown() -> None:
    assert [team.place for team in split(f"=== \x1b[2JA ===\n{ONE}")] == ["t.txt, team 1 ([2JA)"]


def test_a_heading_may_leave_the_format_open() -> None:
    vgc, bo3 = (find_format(f"gen9championsvgc2026regmb{kind}") for kind in ("", "bo3"))
    for heading in ("", "gen9", "gen9champions", vgc.id, bo3.id):
        assert TeamText("", heading, "").suits(vgc)
        assert TeamText("", heading, "").suits(bo3)
    for heading in ("gen8", "gen9ou", "gen9championsvgc2026regma", "gen9championsou"):
        assert not TeamText("", heading, "").suits(vgc)
