"""Set-up: what is there is left alone, what is missing is named."""

import json
import subprocess
from pathlib import Path

import pytest

from sparring.core import InputError
from sparring.core.settings import convert
from sparring.games.pokemon import GAME, PokemonSettings, setup
from sparring.games.pokemon.settings import PINNED
from sparring.games.pokemon.setup import (
    NODE_FOLDER,
    Installation,
    cache_folder,
    find_node,
    installation,
    places,
    setup_pokemon,
)


def test_a_second_set_up_installs_nothing_and_says_where_things_are(installed: Installation) -> None:
    before = installed.modules.stat().st_mtime_ns
    said: list[str] = []
    assert setup_pokemon(say=said.append) == installed
    assert len(said) == 1
    assert str(cache_folder()) in said[0]
    assert installed.modules.stat().st_mtime_ns == before


def test_the_version_that_specs_name_is_the_one_installed(installed: Installation) -> None:
    package = json.loads((installed.modules / "pokemon-showdown" / "package.json").read_text())
    assert PokemonSettings().showdown == installed.version == PINNED == package["version"]
    wanted = json.loads((NODE_FOLDER / "package.json").read_text())["dependencies"]["pokemon-showdown"]
    locked = json.loads((NODE_FOLDER / "package-lock.json").read_text())["packages"]["node_modules/pokemon-showdown"]
    assert PINNED == wanted == locked["version"]


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"


def test_a_simulator_that_is_not_installed_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"not installed.*sparring setup pokemon"):
        installation()


def test_so_is_another_version(installed: Installation) -> None:
    with pytest.raises(
        InputError, match=r"pokemon-showdown 0\.11\.9 is not installed.*setup pokemon --showdown 0\.11\.9"
    ):
        GAME.spec(PokemonSettings(showdown="0.11.9"))


NO_VERSIONS = [
    *(
        "latest",
        "^0.11.11",
        "0.11",
        "0.11.x",
        "0.11.11 || 1.0.0",
        "../../0.11.11",
        "0.11.11/..",
        "0.11.11-",
        "v0.11.11",
    ),
    *("file:/tmp/evil", "https://example.org/a.tgz", "git+ssh://example.org/a", "npm:other@1.0.0", "0.11.11;id", ""),
    *("0.11.11\n", "0.11.11-a/b", "0.11.11-..", "\uff10.11.11", "12345.0.0"),
]


@pytest.mark.parametrize("version", NO_VERSIONS)
def test_only_an_exact_version_names_one(version: str) -> None:
    with pytest.raises(InputError, match="showdown = .*: allowed: one version of pokemon-showdown, such as"):
        convert({"showdown": version}, PokemonSettings, where="pokemon")
    with pytest.raises(InputError, match="showdown = .*: allowed: one version of pokemon-showdown, such as"):
        installation(version)


def test_versions_lie_beside_each_other(installed: Installation) -> None:
    assert PokemonSettings(showdown="1.20.3-beta.1").showdown == "1.20.3-beta.1"
    ours, theirs = places(PINNED), places("1.20.3-beta.1")
    assert ours == installed
    for one, other in zip(parts(ours), parts(theirs), strict=True):
        assert one.parent == other.parent
        assert "-1.20.3-beta.1-" in other.name
        assert one.name != other.name


def parts(found: Installation) -> tuple[Path, ...]:
    return found.modules.parent, found.tables, found.teams, found.pools


def test_npm_is_asked_for_exactly_that_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    asked: list[tuple[list[str], dict[str, str], bool]] = []

    def npm(command: list[str], *, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
        wanted = json.loads((cwd / "package.json").read_text())["dependencies"]
        asked.append((command[-5:], wanted, (cwd / "package-lock.json").exists()))
        return subprocess.CompletedProcess(command, 1, "", "npm error code ETARGET\nnpm error notarget No matching")

    monkeypatch.setattr(setup, "find_node", lambda: "node")
    monkeypatch.setattr(setup.subprocess, "run", npm)
    with pytest.raises(InputError, match=r"there is no published version 9\.9\.9 of pokemon-showdown"):
        setup_pokemon(say=lambda line: None, version="9.9.9")
    ((command, wanted, locked),) = asked
    assert command == ["install", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"]
    assert wanted["pokemon-showdown"] == "9.9.9"
    assert not locked
    assert [entry.name for entry in (tmp_path / "pokemon").iterdir()] == ["setup.lock"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_another_published_version_is_installed_tried_and_played() -> None:
    said: list[str] = []
    GAME.install(PokemonSettings(showdown="0.11.10"), said.append)
    report = "\n".join(said)
    assert "- methods: 1 made faster, 21 left as they are: " in report
    assert "- battles with and without the faster engine: equal" in report
    assert "- battles in the arena: no trouble" in report
    assert "- moves: 2 missing (nihillight, polarflare), 0 new" in report
    assert said[-1] == "play it with the setting showdown=0.11.10"
    spec = GAME.spec(PokemonSettings(format="gen9randombattle", showdown="0.11.10"))
    assert spec.settings["showdown"] == "0.11.10"
    with pytest.raises(InputError, match="unknown Pokémon format"):
        GAME.spec(PokemonSettings(format="gen9championsrandombattle", showdown="0.11.10"))


def test_a_machine_without_node_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(setup, "_wheel_folder", lambda: None)
    with pytest.raises(InputError, match=r"Node 18 or newer.*pip install 'sparring\[pokemon\]'"):
        find_node()


@pytest.mark.parametrize(("system", "wheel", "chosen"), [(0, 24, 1), (16, 24, 1), (20, 24, 1), (24, 24, 0)])
def test_the_newer_node_of_system_and_wheel_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: int, wheel: int, chosen: int
) -> None:
    places = tmp_path / "system" / "node", tmp_path / "wheel" / "bin" / "node"
    for place, version in zip(places, (system, wheel), strict=True):
        place.parent.mkdir(parents=True)
        if version:
            place.write_text(f"#!/bin/sh\necho v{version}.1.0\n")
            place.chmod(0o755)
    monkeypatch.setenv("PATH", str(places[0].parent))
    monkeypatch.setattr(setup, "_wheel_folder", lambda: tmp_path / "wheel")
    assert find_node() == str(places[chosen])
