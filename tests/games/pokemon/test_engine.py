"""Our faster engine is Showdown's: seeded battles with and without it are the same to the last byte."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from sparring.games.pokemon import simulator
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.parity import Engine, Family, play
from sparring.games.pokemon.setup import NODE_FOLDER, Installation, run_script
from sparring.games.pokemon.simulator import Simulator
from sparring.games.pokemon.teams import built_in_teams

BUILT_IN = ""
"""As teams: the format's built-in set."""

FAMILIES = [
    pytest.param("gen1randombattle", "gen1randombattle", id="gen1"),
    pytest.param("gen2randombattle", "gen2randombattle", id="gen2"),
    pytest.param("gen3randombattle", "gen3randombattle", id="gen3"),
    pytest.param("gen4randombattle", "gen4randombattle", id="gen4"),
    pytest.param("gen5randombattle", "gen5randombattle", id="gen5"),
    pytest.param("gen6randombattle", "gen6randombattle", id="gen6"),
    pytest.param("gen7randombattle", "gen7randombattle", id="gen7"),
    pytest.param("gen8randombattle", "gen8randombattle", id="gen8"),
    pytest.param("gen9randombattle", "gen9randombattle", id="gen9"),
    pytest.param("gen9randomdoublesbattle", "gen9randomdoublesbattle", id="gen9-doubles"),
    pytest.param("gen8doublesou", "gen8randombattle", id="gen8-doubles"),
    pytest.param("gen7doublesou", "gen7randombattle", id="gen7-doubles"),
    pytest.param("gen5doublesou", "gen5randombattle", id="gen5-doubles"),
    pytest.param("gen3doublesou", "gen3randombattle", id="gen3-doubles"),
    pytest.param("gen1ou", BUILT_IN, id="gen1ou"),
    pytest.param("gen4ou", BUILT_IN, id="gen4ou"),
    pytest.param("gen9ou", BUILT_IN, id="gen9ou"),
    pytest.param("gen9vgc2025regi", BUILT_IN, id="vgc"),
    pytest.param("gen9vgc2025regi sheets", BUILT_IN, id="vgc-sheets"),
    pytest.param("gen9nationaldex", BUILT_IN, id="nationaldex"),
    pytest.param("gen9championsvgc2026regma", BUILT_IN, id="champions-vgc-regma"),
    pytest.param("gen9championsvgc2026regmb sheets", BUILT_IN, id="champions-vgc-regmb-sheets"),
]
ODD = [
    pytest.param("gen1hackmonscup", "gen1hackmonscup", id="gen1-any-move"),
    pytest.param("gen7hackmonscup", "gen7hackmonscup", id="gen7-anything"),
    pytest.param("gen8hackmonscup", "gen8hackmonscup", id="gen8-anything"),
    pytest.param("gen9hackmonscup", "gen9hackmonscup", id="gen9-anything"),
    pytest.param("gen9doubleshackmonscup", "gen9doubleshackmonscup", id="gen9-doubles-anything"),
    pytest.param("gen6triplescustomgame", "gen6randombattle", id="triples-debug"),
    pytest.param("gen9customgame", "gen9hackmonscup", id="gen9-debug"),
    pytest.param("gen7letsgorandombattle", "gen7letsgorandombattle", id="letsgo"),
    pytest.param("gen8bdsprandombattle", "gen8bdsprandombattle", id="bdsp"),
    pytest.param("gen9championsrandombattle", "gen9championsrandombattle", id="champions"),
    pytest.param("gen1stadiumou", "gen1randombattle", id="gen1-stadium"),
    pytest.param("gen2stadiumou", "gen2randombattle", id="gen2-stadium"),
    pytest.param("gen9biomechmons", "gen9randombattle", id="own-abilities-and-items"),
    pytest.param("gen9randombattlemayhem", "gen9randombattlemayhem", id="shared-power"),
]
"""Random abilities, moves and items, rarer rules, and mods that change what the engine's short cuts pass by."""


def family(found: Installation, format: str, teams: str, *, battles: int, seed: int) -> Family:
    format, _, sheets = format.partition(" ")
    teams = teams or str(found.teams / f"{format}.txt")
    return Family(format=format, teams=teams, sheets=bool(sheets), battles=battles, seed=seed)


def both(found: Installation, families: list[Family]) -> tuple[list[str], list[str]]:
    """What `parity.play` says of Showdown as it is, and of our engine."""
    return list(play(found, families, "plain")), list(play(found, families, "fast"))


def check(found: Installation, played: Family, plain: list[str], ours: list[str]) -> None:
    assert len(plain) == played.battles
    assert sum(int(line.split()[1]) for line in plain) > 5 * len(plain)
    for number, (expected, got) in enumerate(zip(plain, ours, strict=True)):
        if expected != got:
            one, other = (list(play(found, [played], engine, show=number)) for engine in get_args(Engine))
            assert one == other, f"battle {number}"
            pytest.fail(f"battle {number} differs only after others")


@pytest.fixture(scope="module")
def few(installed: Installation) -> dict[str, tuple[Family, list[str], list[str]]]:
    """A battle of each family, all in one process with the engine and one without."""
    named = {entry.id: family(installed, *entry.values, battles=1, seed=11) for entry in FAMILIES}
    played = list(named.values())
    plain, ours = both(installed, played)
    return {
        name: (each, of_family(plain, index), of_family(ours, index))
        for index, (name, each) in enumerate(named.items())
    }


def of_family(lines: list[str], index: int) -> list[str]:
    return [line for line in lines if line.startswith(f"{index} ")]


@pytest.mark.parametrize("name", [entry.id for entry in FAMILIES])
def test_battles_are_the_same(
    installed: Installation, few: dict[str, tuple[Family, list[str], list[str]]], name: str
) -> None:
    check(installed, *few[name])


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("format", "teams"), [*FAMILIES, *ODD])
def test_many_battles_are_the_same(installed: Installation, format: str, teams: str) -> None:
    played = family(installed, format, teams, battles=300, seed=2)
    plain, ours = both(installed, [played])
    check(installed, played, plain, ours)


@pytest.mark.parametrize("format", ["gen1randombattle", "gen9randombattle", "gen9randomdoublesbattle"])
def test_all_pokemon_and_all_active_moves_are_of_one_shape_to_the_compiler(
    installed: Installation, format: str
) -> None:
    script = str(Path(__file__).with_name("shapes.js"))
    command = [installed.node, "--allow-natives-syntax", script, str(NODE_FOLDER), format, "10"]
    shapes = json.loads(subprocess.run(command, env=installed.environment(), check=True, capture_output=True).stdout)
    for kind in ("pokemon", "moves"):
        assert shapes[kind]["all"] == shapes[kind]["fast"] == shapes[kind]["alike"] > 5


def changed(found: Installation, folder: Path, file: str, change: Callable[[str], str]) -> Installation:
    """The installed package with one file changed, in a copy that shares all others."""
    package = found.modules / "pokemon-showdown"
    copy = folder / "pokemon-showdown"
    shutil.copytree(package / "dist", copy / "dist", copy_function=os.link)
    shutil.copy(package / "package.json", copy)
    before = (package / file).read_text()
    (copy / file).unlink()
    (copy / file).write_text(change(before))
    assert (copy / file).read_text() != before
    for other in found.modules.iterdir():
        if other != package:
            (folder / other.name).symlink_to(other)
    return replace(found, modules=folder)


def methods(found: Installation) -> dict[str, Any]:
    return json.loads(run_script(found, "engine/index.js"))


SORT = (
    "  speedSort(list, comparator = this.comparePriority) {",
    "  speedSort(list, comparator = this.comparePriority) {;",
)
BOOSTS = ("const boostTable = [1, 1.5, 2,", "const boostTable = [1, 1.1, 2,")
PRIORITY = ("handler.subOrder = 9;", "handler.subOrder = 9.5;")
CALLBACK = ("  getCallback(target, effect, callbackName) {", "  findCallback(target, effect, callbackName) {")


def test_a_method_whose_source_differs_is_left_as_it_is(installed: Installation, tmp_path: Path) -> None:
    other = changed(installed, tmp_path, "dist/sim/pokemon.js", lambda source: source.replace(*BOOSTS))
    assert methods(other)["left"] == {"Pokemon#getStat": "Pokemon#getStat differs"}
    played = [family(installed, "gen9randombattle", "gen9randombattle", battles=3, seed=3)]
    plain, ours = both(other, played)
    assert ours == plain
    assert ours != list(play(installed, played, "plain"))


def test_so_is_one_that_stands_in_for_another_whose_source_differs(installed: Installation, tmp_path: Path) -> None:
    other = changed(installed, tmp_path, "dist/sim/battle.js", lambda source: source.replace(*PRIORITY))
    found = methods(other)
    leaning = (
        "Battle#runEvent",
        "Battle#eachEvent",
        "Battle#findEventHandlers",
        "Battle#findPokemonEventHandlers",
        "Battle#findSideEventHandlers",
        "Battle#findFieldEventHandlers",
        "Pokemon#getStat",
    )
    assert found["left"] == dict.fromkeys(leaning, "Battle#resolvePriority differs")
    played = [family(installed, "gen9hackmonscup", "gen9hackmonscup", battles=4, seed=3)]
    plain, ours = both(other, played)
    assert plain == ours


def test_what_a_version_lacks_is_missing(installed: Installation, tmp_path: Path) -> None:
    other = changed(installed, tmp_path, "dist/sim/battle.js", lambda source: source.replace(*CALLBACK))
    left = methods(other)["left"]
    assert left["Battle#runEvent"] == "Battle#getCallback is missing"
    assert "Battle#singleEvent" not in left


def test_what_is_left_as_it_is_is_said_once_in_one_line(
    installed: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = changed(installed, tmp_path, "dist/sim/battle.js", lambda source: source.replace(*SORT))
    monkeypatch.setattr(simulator, "installation", lambda version: other)
    pool = Simulator(processes=2)
    team = built_in_teams(find_format("gen1ou"))[0]
    for battle in range(2):
        pool.start(battle, format="gen1ou", seed=battle, teams=(team, team))
    asked = [event for _ in range(2) for event in pool.wait()]
    pool.close()
    assert asked
    (said,) = [record.message for record in caplog.records]
    assert said == (
        "pokemon-showdown 0.11.11 is not quite the 0.11.11 that the faster engine was written for: battles are slower, "
        "with 1 of 25 methods left as they are: Battle#speedSort"
    )


def test_of_the_pinned_version_every_method_is_replaced(installed: Installation) -> None:
    assert methods(installed)["left"] == {}


def test_the_hashes_are_those_of_the_pinned_version(installed: Installation) -> None:
    assert run_script(installed, "engine/methods.js") == (NODE_FOLDER / "engine" / "sources.json").read_text()
