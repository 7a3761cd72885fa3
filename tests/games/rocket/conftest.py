import pytest

from sparring.games.rocket.setup import setup_rocket


@pytest.fixture(scope="session", autouse=True)
def meshes():
    """The collision meshes, fetched once into the cache: every test here plays real physics."""
    setup_rocket(say=lambda text: None)
