"""Every test here may use the installed simulator: the first one on a fresh machine installs it."""

import pytest

from sparring.games.pokemon.setup import Installation, setup_pokemon


@pytest.fixture(scope="session", autouse=True)
def installed() -> Installation:
    return setup_pokemon(say=lambda line: None)
