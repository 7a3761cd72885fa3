"""Every test here may use the installed simulator: the first one on a fresh machine installs it."""

from collections.abc import Iterator

import pytest

from sparring.games.pokemon import simulator, teams
from sparring.games.pokemon.setup import Installation, setup_pokemon
from tests.games.pokemon.kept import KeptProcess, end_all


@pytest.fixture(scope="session", autouse=True)
def installed() -> Installation:
    return setup_pokemon(say=lambda line: None)


@pytest.fixture(scope="session")
def kept() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture(scope="module", autouse=True)
def kept_processes(kept: None) -> Iterator[None]:
    """Simulators hand on their Node processes from test to test, and make no random teams that nobody needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teams, "_POOLS_AHEAD", 1)
        patch.setattr(simulator, "_Process", KeptProcess)
        yield


@pytest.fixture(autouse=True)
def every_line_is_known(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The pinned simulator says nothing that the trackers of an arena do not know."""
    yield
    assert [record.getMessage() for record in caplog.records if "protocol lines" in record.msg] == []
