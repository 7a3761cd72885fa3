"""A row of the observation read by names."""

import re
from pathlib import Path

import pytest

from sparring.core import InputError, load_game
from sparring.games.pokemon import BattleView
from sparring.games.pokemon.battle_view import Effect, Move
from sparring.games.pokemon.observation import ObservationRows
from sparring.games.pokemon.tracker import Tracker

DOUBLES = (
    "|gametype|doubles",
    "|teamsize|p1|4",
    "|teamsize|p2|6",
    "|start",
    "|switch|p1a: Rex|Tyranitar, L50, M|100/100",
    "|switch|p1b: Bob|Mew|100/100",
    "|switch|p2a: Ann|Blissey, F|57/100 tox",
    "|switch|p2b: Zed|Umbreon, M|100/100",
    "|turn|1",
)


def view_of(*lines: str, generation: int = 9) -> BattleView:
    tracker, rows = Tracker(generation, "p1"), ObservationRows(2)
    tracker.lines(lines)
    tracker.write(rows, 1)
    return BattleView(rows.fields, 1)


def test_teams_and_places() -> None:
    view = view_of(
        *DOUBLES, "|-boost|p1a: Rex|atk|2", "|-item|p2a: Ann|Leftovers", "|-enditem|p2b: Zed|Lum Berry|[eat]"
    )
    rex, ann, zed = view.own.active[0], view.foe.active[0], view.foe.team[1]
    assert (rex.species, rex.types, rex.boosts["atk"], rex.boosts["spe"]) == ("tyranitar", ("rock", "dark"), 2, 0)
    assert rex.pokemon is not None
    assert (rex.pokemon.level, rex.pokemon.gender, rex.pokemon.item) == (50, "M", None)
    assert ann.pokemon is not None
    assert ann.pokemon.hp == pytest.approx(0.57)
    assert (ann.pokemon.status, ann.pokemon.item) == ("tox", "leftovers")
    assert ann.pokemon.base_stats["hp"] == 255
    assert (zed.species, zed.ability, zed.item, zed.last_item) == ("umbreon", None, "", "lumberry")
    assert [one.known for one in view.foe.team] == [True, True, False, False, False, False]
    assert (view.own.size, view.own.remaining, len(view.own.active)) == (4, 4, 2)


def test_views_print_what_a_player_looks_for_first() -> None:
    view = view_of(*DOUBLES, "|-boost|p1a: Rex|atk|2")
    assert repr(view.own.active[0]) == "ActiveView(tyranitar, boosts={'atk': 2})"
    assert repr(view.foe.team[0]) == "PokemonView(blissey, 57%, tox)"
    assert repr(view.foe.team[5]) == "PokemonView(unknown)"
    assert repr(view).startswith("BattleView(turn=1, own=SideView(active=[ActiveView(tyranitar")


def test_what_is_no_row_of_pokemon_is_refused() -> None:
    tracker, rows = Tracker(9, "p1"), ObservationRows(2)
    tracker.write(rows, 1)
    one = {name: values[1] for name, values in rows.fields.items()}
    decisions = load_game("hex").arena(load_game("hex").settings(), matches=1, seed=0).wait()[0]
    for arguments, words in (
        ((decisions, 0), "observation: of type Decisions; allowed: arrays by name, such as decisions.observation"),
        ((decisions.observation, 0), "observation: not of Pokémon; its fields are planes"),
        ((rows.fields,), r"row = None: allowed: one of the rows 0 to 1, as in BattleView\(observation, 0\)"),
        ((rows.fields, 2), "row = 2: allowed: one of the rows 0 to 1"),
        ((one, 0), "row = 0: the observation is of one row; leave it out"),
    ):
        with pytest.raises(InputError, match=words):
            BattleView(*arguments)  # type: ignore[arg-type]
    assert repr(BattleView(one)) == repr(BattleView(rows.fields, 1)) == repr(BattleView(rows.fields, -1))


def test_a_name_that_is_not_there_is_told_with_where_it_is() -> None:
    view = view_of(*DOUBLES)
    rex = view.own.active[0]
    for name in ("hp", "status", "fainted"):
        with pytest.raises(AttributeError, match=f"an ActiveView has no attribute '{name}'; it is in .pokemon.{name}"):
            getattr(rex, name)
    with pytest.raises(AttributeError, match="an ActiveView has no attribute 'heatlh'$"):
        rex.heatlh  # noqa: B018
    with pytest.raises(KeyError, match="attack; there are: atk, def, spa, spd, spe, accuracy, evasion"):
        rex.boosts["attack"]
    assert view.foe.team[0].stats == {}
    with pytest.raises(KeyError, match="atk; there are: none, as a foe keeps them hidden"):
        view.foe.team[0].stats["atk"]


def test_moves_are_those_that_were_shown_with_what_is_left_of_them() -> None:
    view = view_of(*DOUBLES, "|move|p2b: Zed|Toxic|p1a: Rex", "|move|p2b: Zed|Foul Play|p1a: Rex")
    assert view.foe.team[1].moves == (
        Move("toxic", 15, 16, True, False, type="poison", category="Status", power=0, accuracy=0.9),
        Move("foulplay", 23, 24, True, False, type="dark", category="Physical", power=95, accuracy=1.0),
    )
    assert view.foe.active[1].last_move == "foulplay"
    assert view.foe.active[0].moves == ()


def test_who_stands_in_a_place_is_the_one_of_the_team() -> None:
    view = view_of(*DOUBLES)
    rex, zed = view.own.active[0].pokemon, view.foe.active[1].pokemon
    assert rex is not None
    assert zed is not None
    assert (rex.row, zed.row) == (0, 7)
    assert [one.row for side in (view.own, view.foe) for one in side.team] == list(range(12))
    assert rex == view.own.team[0]
    assert zed == view.foe.team[1]
    assert rex not in view.own.team[1:]
    assert rex in {view.own.team[0]}
    hurt = view_of(*DOUBLES, "|-damage|p1a: Rex|50/100").own.team[0]
    assert rex != hurt
    assert rex == view_of(*DOUBLES).own.team[0]


def test_effects_of_pokemon_sides_and_field_with_their_turns() -> None:
    view = view_of(
        *DOUBLES,
        "|-weather|RainDance",
        "|-fieldstart|move: Electric Terrain|[of] p1a: Rex",
        "|-fieldstart|move: Trick Room|[of] p1a: Rex",
        "|-sidestart|p2: b|Spikes",
        "|-sidestart|p2: b|Spikes",
        "|-sidestart|p1: a|move: Tailwind",
        "|-start|p2a: Ann|move: Taunt",
        "|-start|p2a: Ann|stockpile2",
        "|-terastallize|p1b: Bob|Water",
        "|upkeep",
        "|turn|2",
    )
    assert (view.field.weather, view.field.weather_turns) == ("rain", 4)
    assert (view.field.terrain, view.field.terrain_turns) == ("electric_terrain", 4)
    assert view.field.effects == {"trick_room": Effect(1, 4)}
    assert (view.field.turn, view.field.generation, view.field.doubles) == (2, 9, True)
    assert view.foe.effects == {"spikes": Effect(2, None)}
    assert view.own.effects == {"tailwind": Effect(1, 3)}
    assert view.foe.active[0].effects == {"taunt": Effect(1, 1), "stockpile": Effect(2, None)}
    assert (view.own.used, view.own.active[1].types) == (frozenset({"tera"}), ("water",))


def test_an_empty_place_and_a_battle_in_singles() -> None:
    view = view_of("|gametype|singles", "|start", "|switch|p1a: Rex|Tyranitar|100/100", generation=3)
    assert (len(view.own.active), view.own.active[0].present, view.foe.active[0].present) == (1, True, False)
    assert view.foe.active[0].pokemon is None
    assert view.foe.active[0].boosts["atk"] == 0
    assert view.field.generation == 3


def test_the_documented_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[3] / "docs" / "pokemon-observation.md"
    (code,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(code, str(page), "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 5
    assert "100% healthy None" in said[2]
    assert said[4] == "1 clear 6 {}"


def test_the_documented_player_beats_random(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[3] / "docs" / "pokemon-players.md"
    (code,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(code, str(page), "exec"), {})
    found = re.fullmatch(r"won (\d+)% of 30\n", capsys.readouterr().out)
    assert found is not None
    assert int(found[1]) > 75


def test_every_name_in_the_documented_table_is_there() -> None:
    page = (Path(__file__).parents[3] / "docs" / "pokemon-observation.md").read_text()
    view = view_of(*DOUBLES, "|move|p2a: Ann|Toxic|p1a: Rex")
    for where, what in re.findall(r"^\| `view\.(\S+?)`[^|]*\| (.*) \|$", page, re.MULTILINE):
        shown = eval(f"view.{where.rstrip(',')}", {"view": view})
        for name in re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", what)):
            assert hasattr(shown, name), (where, name)
