"""Every test here may use the installed simulator: the first one on a fresh machine installs it."""

from collections.abc import Iterator

import pytest

from sparring.games.pokemon.setup import Installation, setup_pokemon


@pytest.fixture(scope="session", autouse=True)
def installed() -> Installation:
    return setup_pokemon(say=lambda line: None)


@pytest.fixture(autouse=True)
def every_line_is_known(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The pinned simulator says nothing that the trackers of an arena do not know."""
    yield
    assert [record.getMessage() for record in caplog.records if "protocol lines" in record.msg] == []
