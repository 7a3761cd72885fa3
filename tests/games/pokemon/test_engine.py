"""Our faster engine is Showdown's: seeded battles with and without it are the same to the last byte."""

import json
import subprocess
from pathlib import Path

import pytest

from sparring.games.pokemon.setup import NODE_FOLDER, Installation, installation

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


def play(
    found: Installation, format: str, teams: str, battles: int, *, seed: int, engine: bool, show: int | None
) -> str:
    format, _, sheets = format.partition(" ")
    settings = {
        "format": format,
        "battles": battles,
        "seed": seed,
        "teams": teams or str(found.teams / f"{format}.txt"),
        "sheets": bool(sheets),
        "engine": str(ENGINE) if engine else "",
    }
    if show is not None:
        settings["show"] = show
    command = [found.node, str(SCRIPT), json.dumps(settings)]
    done = subprocess.run(command, env=found.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(format: str, teams: str, battles: int, seed: int) -> None:
    found = installation()
    plain, ours = (play(found, format, teams, battles, seed=seed, engine=engine) for engine in (False, True))
    told = plain.splitlines()
    assert len(told) == battles
    assert sum(int(line.split()[0]) for line in told) > 5 * battles
    for number, (expected, got) in enumerate(zip(told, ours.splitlines(), strict=True)):
        if expected != got:
            one, other = (
                play(found, format, teams, battles, seed=seed, engine=engine, show=number).splitlines()
                for engine in (False, True)
            )
            assert one == other, f"battle {number}"
            pytest.fail(f"battle {number} differs only after others")


@pytest.mark.parametrize(("format", "teams"), FAMILIES)
def test_battles_are_the_same(format: str, teams: str) -> None:
    check(format, teams, battles=3, seed=11)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("format", "teams"), [*FAMILIES, *ODD])
def test_many_battles_are_the_same(format: str, teams: str) -> None:
    check(format, teams, battles=300, seed=2)


def test_another_version_of_showdown_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "pokemon-showdown"
    package.mkdir()
    (package / "package.json").write_text(json.dumps({"version": "0.11.12"}))
    found = installation()
    done = subprocess.run(
        [found.node, "-e", f"require({json.dumps(str(ENGINE))})"],
        env={**found.environment(), "NODE_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode
    assert "0.11.11, not 0.11.12" in done.stderr
