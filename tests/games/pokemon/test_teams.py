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


@pytest.mark.parametrize("name", ["gen1ou", "gen4ou", "gen9ou", "gen9vgc2025regi"])
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
    assert "bad.txt: Tauros can't learn Spore" in message
    assert "worse.txt: Mewtwo is " in message
    assert "good.txt" not in message


def test_a_team_with_a_control_character_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text(LEGAL.replace("Tauros", "Bull\x1b[2J (Tauros)"))
    with pytest.raises(InputError, match=r"evil.txt: a control character in a name"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_a_file_of_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "team.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"team.txt cannot be read"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_a_file_that_is_no_team_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match=r"empty.txt: it holds no team"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no team"):
        load_teams(tmp_path, find_format("gen1ou"))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a folder of Showdown exports nor a file"):
        team_source(find_format("gen1ou"), str(tmp_path / "nowhere"))


def test_formats_without_a_built_in_set_say_what_to_give() -> None:
    with pytest.raises(InputError, match="gen9uu has no built-in teams; give team_set a folder"):
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
