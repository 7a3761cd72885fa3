"""Team sets: folders, files and built-in ones, judged by Showdown's validator; and pools for random formats."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sparring.core import InputError
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.setup import Installation
from sparring.games.pokemon.teams import RandomTeams, TeamSet, built_in_teams, load_teams, team_source, validate_teams

LEGAL = """Tauros
Ability: No Ability
EVs: 252 HP / 252 Atk / 252 Def / 252 SpA / 252 SpD / 252 Spe
- Body Slam
- Hyper Beam
- Blizzard
- Earthquake
"""

PASTE = """Zoé (2) @ home (Garchomp) (F) @ Rocky Helmet
Ability: Rough Skin
Level: 99
Shiny: Yes
Happiness: 7
Pokeball: Luxury Ball
Tera Type: Steel
EVs: 252 HP / 4 Atk / 252 Def
Impish Nature
IVs: 0 Atk
- Earthquake
- Dragon Tail
- Stealth Rock
- Spikes

Heatran
Ability: Flash Fire
EVs: 4 HP
- Magma Storm
- Earth Power
"""

BUILT_IN = [
    *("gen1ou", "gen4ou", "gen9ou", "gen9nationaldex", "gen9vgc2025regi"),
    *("gen9championsou", "gen9championsvgc2026regma", "gen9championsvgc2026regmb"),
]


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sets_hold_at_least_50_legal_teams(name: str) -> None:
    format = find_format(name)
    teams = built_in_teams(format)
    assert len(set(teams)) >= 50
    sample = [(str(number), team) for number, team in enumerate(teams[::16])]
    assert validate_teams(sample, format)[1] == []


def test_a_folder_of_exports_is_read_and_packed(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(LEGAL)
    (tmp_path / "two.txt").write_text(LEGAL.replace("Tauros", "Snorlax"))
    teams = load_teams(tmp_path, find_format("gen1ou"))
    assert [team.split("|")[0] for team in teams] == ["Tauros", "Snorlax"]


def test_a_file_of_packed_teams_is_read(tmp_path: Path) -> None:
    path = tmp_path / "teams.packed"
    path.write_text("\n".join(built_in_teams(find_format("gen4ou"))[:3]) + "\n")
    source = team_source(find_format("gen4ou"), str(path))
    assert isinstance(source, TeamSet)
    assert len(source.teams) == 3


def test_every_problem_of_an_illegal_team_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text(LEGAL)
    (tmp_path / "bad.txt").write_text(LEGAL.replace("Blizzard", "Spore"))
    (tmp_path / "worse.txt").write_text(LEGAL.replace("Tauros", "Mewtwo").replace("Earthquake", "Psychic"))
    with pytest.raises(InputError) as error:
        load_teams(tmp_path, find_format("gen1ou"))
    message = str(error.value)
    first, second = message.splitlines()
    assert first.startswith("illegal in gen1ou: ")
    assert "bad.txt: Tauros can't learn Spore" in first
    assert "worse.txt: Mewtwo is " in second


def test_of_many_illegal_teams_ten_are_named_and_the_others_counted(tmp_path: Path) -> None:
    path = tmp_path / "teams.txt"
    path.write_text("".join(f"=== Team {n} ===\n{LEGAL.replace('Blizzard', 'Spore')}\n" for n in range(25)))
    with pytest.raises(InputError) as error:
        load_teams(path, find_format("gen1ou"))
    lines = str(error.value).splitlines()
    assert len(lines) == 11
    assert lines[9].startswith(f"illegal in gen1ou: {path}, team 10 (Team 9): Tauros can't learn Spore")
    assert lines[10] == "and 15 more illegal teams"


def test_a_team_with_a_control_character_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text(LEGAL.replace("Tauros", "Bull\x1b[2J (Tauros)"))
    with pytest.raises(InputError, match=r"evil.txt: it has a control character$"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_a_file_of_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "team.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"team.txt cannot be read"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_nonsense_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "teams.txt"
    for text, reason in [
        ("Tauros" * 2_000_000, "teams.txt: it has 12,000,000 characters, more than any team"),
        ("|" * 500, "teams.txt:1: "),
        ("a|b|c", "teams.txt:1: it is no team"),
        ("__proto__\n- constructor\nEVs: NaN HP / 1e99 Atk\nLevel: Infinity", "teams.txt: "),
        ('[{"moves": 3}]', "teams.txt: "),
    ]:
        path.write_text(text)
        with pytest.raises(InputError) as error:
            load_teams(path, find_format("gen9ou"))
        message = str(error.value)
        assert reason in message
        assert "\n" not in message
        assert len(message) < 700


def test_a_pasted_team_keeps_all_it_says(tmp_path: Path) -> None:
    path = tmp_path / "paste.txt"
    path.write_bytes(PASTE.replace("\n", "  \r\n").encode("utf-8-sig"))
    (team,) = load_teams(path, find_format("gen9ou"))
    first, second = team.split("]")
    name, species, item, ability, moves, nature, evs, gender, ivs, shiny, level, rest = first.split("|")
    assert (name, species, item, ability) == ("Zoé (2) @ home", "Garchomp", "RockyHelmet", "RoughSkin")
    assert moves == "Earthquake,DragonTail,StealthRock,Spikes"
    assert (nature, evs, gender, ivs, shiny, level) == ("Impish", "252,4,252,,,", "F", ",0,,,,", "S", "99")
    assert rest == "7,,LuxuryBall,,,Steel"
    assert second.startswith("Heatran|||FlashFire|MagmaStorm,")


def test_what_a_paste_leaves_out_is_as_the_format_has_it(tmp_path: Path) -> None:
    path = tmp_path / "paste.txt"
    path.write_text("Tauros\n- Body Slam\n- Hyper Beam\n")
    (team,) = load_teams(path, find_format("gen1ou"))
    assert team.split("|")[6] == "252,252,252,252,252,252"
    path.write_text("\n\n".join(f"{name}\n- Protect" for name in ("Abomasnow", "Garchomp", "Kingambit", "Sylveon")))
    with pytest.raises(InputError, match="at least 6"):
        load_teams(path, find_format("gen9championsvgc2026regmb"))


def test_a_backup_of_the_team_builder_gives_the_teams_of_the_format(tmp_path: Path) -> None:
    path = tmp_path / "backup.txt"
    other = LEGAL.replace("Tauros", "Snorlax")
    headings = ["[gen1ou] Bulls", "[gen1] Other", "[gen9ou] Not this", "[gen1ou-box] Box", "[gen1ou] Void", "No format"]
    texts = [LEGAL, other, "Garchomp\n- Earthquake", LEGAL * 7, "", other]
    path.write_text("".join(f"=== {head} ===\n\n{text}\n\n" for head, text in zip(headings, texts, strict=True)))
    teams = load_teams(path, find_format("gen1ou"))
    assert [team.split("|")[0] for team in teams] == ["Tauros", "Snorlax", "Snorlax"]
    path.write_text("=== [gen9ou] A ===\nGarchomp\n\n=== [gen8ou] B ===\nGarchomp\n")
    with pytest.raises(InputError, match=r"holds no team of gen1ou, but of gen8ou, gen9ou$"):
        load_teams(path, find_format("gen1ou"))


@pytest.mark.slow
def test_ten_thousand_teams_are_read(tmp_path: Path) -> None:
    path = tmp_path / "teams.txt"
    path.write_text("".join(f"=== {n} ===\n{LEGAL}\n" for n in range(10_000)))
    assert len(load_teams(path, find_format("gen1ou"))) == 10_000


def test_games_of_three_have_the_built_in_teams_of_single_ones() -> None:
    names = ("gen9championsvgc2026regmb", "gen9championsvgc2026regmbbo3")
    assert len({tuple(built_in_teams(find_format(name))) for name in names}) == 1


def test_a_file_that_is_no_team_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match=r"empty.txt holds no team"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no team"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a file of teams nor a folder"):
        team_source(find_format("gen1ou"), str(tmp_path / "nowhere"))


def test_formats_without_a_built_in_set_say_what_to_give() -> None:
    with pytest.raises(InputError, match="gen9uu has no built-in teams; give team_set a file"):
        team_source(find_format("gen9uu"), "")


def test_random_formats_take_no_team_set(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="makes its own random teams"):
        team_source(find_format("gen1randombattle"), str(tmp_path))


def test_random_teams_are_fixed_by_the_seed() -> None:
    sources = [RandomTeams(find_format("gen1randombattle")) for _ in range(2)]
    try:
        drawn = [[source.draw(np.random.default_rng(5)) for _ in range(3)] for source in sources]
        assert drawn[0] == drawn[1]
        assert all(team.count("]") == 5 for pair in drawn[0] for team in pair)
    finally:
        for source in sources:
            source.close()


def test_a_used_pool_gives_way_to_the_next(
    installed: Installation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sparring.games.pokemon.teams.POOL_TEAMS", 16)
    monkeypatch.setattr("sparring.games.pokemon.teams.installation", lambda version: replace(installed, pools=tmp_path))
    source, rng = RandomTeams(find_format("gen1randombattle")), np.random.default_rng(0)
    try:
        first = {team for _ in range(16) for team in source.draw(rng)}
        second = {team for _ in range(16) for team in source.draw(rng)}
        assert not first & second
    finally:
        source.close()
