"""`sparring replays teams`: what both teams of a battle probably are, for people and programs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sparring.cli.replays  # noqa: F401 (adds the command)
from sparring.cli.app import app
from sparring.core import InputError
from sparring.core.replays import Rejected, Replay
from sparring.games.pokemon.belief.summary import believed_teams
from tests.games.pokemon.replays.logs import battle

TURNS = (
    *("|", "|move|p1a: Mew|Psychic|p2a: Onix", "|-damage|p2a: Onix|50/100", "|", "|upkeep", "|turn|2"),
    *("|", "|-damage|p1a: Mew|50/100", "|", "|-heal|p1a: Mew|56/100|[from] item: Leftovers", "|upkeep", "|turn|3"),
)
LOG = battle(*TURNS, gen=8)


def test_what_is_known_and_what_is_likely() -> None:
    believed = believed_teams(Replay("x", LOG), format="gen8nationaldex")
    assert (believed["format"], believed["turn"]) == ("gen8nationaldex", 3)
    assert [team["player"] for team in believed["teams"]] == ["Ann", "Bob"]
    mew = believed["teams"][0]["pokemon"][0]
    assert (mew["species"], mew["known"]["item"], mew["known"]["moves"]) == ("mew", "leftovers", ["psychic"])
    assert mew["items"] == {"leftovers": 1.0}
    assert sum(mew["moves"].values()) <= 4.01
    assert 0.0 < mew["other"] < 1.0


def test_as_of_a_turn_nothing_later_is_known() -> None:
    earlier = believed_teams(Replay("x", LOG), format="gen8nationaldex", turn=2)
    mew = earlier["teams"][0]["pokemon"][0]
    assert earlier["turn"] == 2
    assert mew["known"]["item"] is None
    cut = believed_teams(Replay("x", battle(*TURNS[:6], gen=8, end=())), format="gen8nationaldex")
    assert cut["teams"] == earlier["teams"]


def test_a_corpus_says_what_people_use() -> None:
    log = battle(*TURNS, gen=8).replace("Custom Game", "National Dex")
    told = believed_teams(Replay("x", LOG), format="gen8nationaldex", turn=1)
    counted = believed_teams(Replay("x", LOG), format="gen8nationaldex", turn=1, corpus=[Replay("y", log)] * 20)
    share = [believed["teams"][0]["pokemon"][0]["items"].get("leftovers", 0.0) for believed in (told, counted)]
    assert share[1] > share[0]


def test_a_log_of_no_format_is_rejected() -> None:
    with pytest.raises(Rejected):
        believed_teams(Replay("x", "nonsense"))


def test_the_command_prints_tables_of_80_columns_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "battle.log"
    file.write_text(LOG)
    monkeypatch.setenv("COLUMNS", "80")
    command = ["replays", "teams", str(file), "--format", "gen8nationaldex"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "Leftovers" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    told = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(told.stdout)["teams"][0]["pokemon"][0]["species"] == "mew"


def test_of_a_file_of_many_battles_one_is_chosen(tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    file.write_text("\n".join(json.dumps({"id": name, "log": LOG}) for name in "ab"))
    command = ["replays", "teams", str(file), "--format", "gen8nationaldex", "--json"]
    for wrong, reason in (([], "several battles; --battle 0 is the first"), (["--battle", "2"], "no battle 2")):
        failed = CliRunner().invoke(app, [*command, *wrong])
        assert isinstance(failed.exception, InputError)
        assert reason in str(failed.exception)
    assert json.loads(CliRunner().invoke(app, [*command, "--battle", "1"]).stdout)["id"] == "b"
