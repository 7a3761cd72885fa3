"""A missing optional package is one line that says what to install."""

import pytest

from sparring.core import InputError, MissingPackage, missing_packages, optional
from tests.commands import one_line, sparring


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("ladder --server ws://localhost:1 --username a --model random --format gen1ou", "websockets", "pokemon"),
        ("evaluate random rule --game rocket --matches 1", "RocketSim", "rocket"),
        ("watch rocket rule --opponent random", "RocketSim", "rocket"),
        ("selfplay hex --model random --matches 2 --save games --cluster auto", "ray", "ray"),
        ("train kuhn-ppo --cluster auto", "ray", "ray"),
        ("plan kuhn-ppo --seconds 0.1", "simpy", "plan"),
    ],
)
def test_a_command_that_needs_it_ends_with_exit_code_2(words, package, extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done, _ = sparring(*words.split(), without=[package])
    assert done.returncode == 2, done.stderr
    one_line(done.stderr, package, f"pip install 'sparring[{extra}]'")


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("sparring.adapters", "gymnasium", "adapters"),
        ("sparring.adapters", "pettingzoo", "adapters"),
        ("sparring.games.pokemon.poke_env", "poke_env", "poke-env"),
        ("sparring.games.pokemon.live", "websockets", "pokemon"),
    ],
)
def test_python_gets_an_import_error_that_says_so(module, package, extra):
    done, _ = sparring(code=f"import {module}", without=[package])
    last = done.stderr.splitlines()[-1]
    assert last.startswith("sparring.core.extras.MissingPackage: ")
    assert f"needs the package {package}, which is not installed; run: pip install 'sparring[{extra}]'" in last
    assert module != "sparring.adapters" or ": sparring.adapters needs" in last
    assert issubclass(MissingPackage, ImportError)
    assert issubclass(MissingPackage, InputError)


@pytest.mark.parametrize("absent", [["pillow"], ["pillow", "rocketsim"], []])
def test_setup_says_how_to_install_missing_packages(run, monkeypatch, absent):
    monkeypatch.setattr("sparring.games.rocket.game.RocketGame.install", lambda self, settings, say: say("fetched"))
    monkeypatch.setattr("sparring.core.extras._installed", lambda package: package not in absent)
    said = run("setup", "rocket").output
    assert said.startswith("fetched\n")
    line = f"not installed: {', '.join(absent)}; rocket needs them, run: pip install 'sparring[rocket]'\n"
    assert said.removeprefix("fetched\n") == (line if absent else "")


def test_a_game_without_an_extra_misses_nothing(run):
    assert missing_packages("hex") == []
    assert run("setup", "hex").output == "hex needs nothing more\n"


def test_a_fault_of_our_own_is_no_missing_package():
    with pytest.raises(ModuleNotFoundError, match="sparring.no_such_module") as fault, optional("this", extra="fast"):
        import sparring.no_such_module  # noqa: F401
    assert not isinstance(fault.value, MissingPackage)


def test_a_package_that_is_no_extra_of_ours_is_installed_by_name():
    with (
        pytest.raises(MissingPackage, match="run: pip install no-such-package"),
        optional("x", package="no-such-package"),
    ):
        import no_such_package  # noqa: F401
