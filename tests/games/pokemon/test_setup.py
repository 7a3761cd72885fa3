"""Set-up: what is there is left alone, what is missing is named."""

import json
from pathlib import Path

import pytest

from sparring.core import InputError
from sparring.games.pokemon import PokemonSettings, setup
from sparring.games.pokemon.setup import Installation, cache_folder, find_node, installation, setup_pokemon


def test_a_second_set_up_installs_nothing_and_says_where_things_are(installed: Installation) -> None:
    before = installed.modules.stat().st_mtime_ns
    said: list[str] = []
    assert setup_pokemon(say=said.append) == installed
    assert len(said) == 1
    assert str(cache_folder()) in said[0]
    assert installed.modules.stat().st_mtime_ns == before


def test_the_version_that_specs_name_is_the_one_installed(installed: Installation) -> None:
    package = json.loads((installed.modules / "pokemon-showdown" / "package.json").read_text())
    assert PokemonSettings().showdown == package["version"]


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"


def test_a_simulator_that_is_not_installed_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"not installed.*sparring setup pokemon"):
        installation()


def test_a_machine_without_node_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(setup, "_wheel_folder", lambda: None)
    with pytest.raises(InputError, match=r"Node 18 or newer.*pip install 'sparring\[pokemon\]'"):
        find_node()


def test_node_comes_from_the_wheel_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "wheel"
    (wheel / "bin").mkdir(parents=True)
    (wheel / "bin" / "node").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(setup, "_wheel_folder", lambda: wheel)
    assert find_node() == str(wheel / "bin" / "node")
