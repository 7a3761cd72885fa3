"""Our faster engine is Showdown's: seeded battles with and without it are the same to the last byte."""

import json
import subprocess
from pathlib import Path

import pytest

from sparring.games.pokemon.setup import NODE_FOLDER, Installation

SCRIPT = Path(__file__).with_name("parity.js")
ENGINE = NODE_FOLDER / "engine"
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


Family = dict[str, str | int | bool]


def family(found: Installation, format: str, teams: str, *, battles: int, seed: int) -> Family:
    format, _, sheets = format.partition(" ")
    teams = teams or str(found.teams / f"{format}.txt")
    return {"format": format, "teams": teams, "sheets": bool(sheets), "battles": battles, "seed": seed}


def play(found: Installation, families: list[Family], *, engine: bool, show: int | None = None) -> list[str]:
    """What `parity.js` prints: a line a battle, or the transcript of battle `show`."""
    command = [found.node, str(SCRIPT), str(ENGINE) if engine else "", json.dumps(families)]
    command += [] if show is None else [str(show)]
    done = subprocess.run(command, env=found.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check(found: Installation, played: Family, plain: list[str], ours: list[str]) -> None:
    assert len(plain) == played["battles"]
    assert sum(int(line.split()[1]) for line in plain) > 5 * len(plain)
    for number, (expected, got) in enumerate(zip(plain, ours, strict=True)):
        if expected != got:
            one, other = (play(found, [played], engine=engine, show=number) for engine in (False, True))
            assert one == other, f"battle {number}"
            pytest.fail(f"battle {number} differs only after others")


@pytest.fixture(scope="module")
def few(installed: Installation) -> dict[str, tuple[Family, list[str], list[str]]]:
    """Two battles of each family, all in one process with the engine and one without."""
    named = {entry.id: family(installed, *entry.values, battles=2, seed=11) for entry in FAMILIES}
    played = list(named.values())
    plain, ours = (play(installed, played, engine=engine) for engine in (False, True))
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
    plain, ours = (play(installed, [played], engine=engine) for engine in (False, True))
    check(installed, played, plain, ours)


def test_another_version_of_showdown_is_refused(installed: Installation, tmp_path: Path) -> None:
    package = tmp_path / "pokemon-showdown"
    package.mkdir()
    (package / "package.json").write_text(json.dumps({"version": "0.11.12"}))
    done = subprocess.run(
        [installed.node, "-e", f"require({json.dumps(str(ENGINE))})"],
        env={**installed.environment(), "NODE_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode
    assert "0.11.11, not 0.11.12" in done.stderr
