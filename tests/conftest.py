"""One thread a test process: several share the machine, and tiny networks gain nothing from more."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numba  # noqa: F401 - the two settle where compiled kernels are kept
import pytest
import torch

import sparring  # noqa: F401

torch.set_num_threads(1)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, also by what the tests start
signal.signal(signal.SIGINT, signal.default_int_handler)  # and so is this one in the background of a script


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Tests are found as on a machine where no game is set up yet: only when they run may they ask for one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARRING_CACHE", str(Path(os.devnull) / "nothing is set up while tests are collected"))
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pokémon's tests take longest and come first, so that no process is left with a long file at the end.

    Beliefs come last of them: by then one process has compiled what otherwise all would compile at the same time.
    """
    items.sort(key=lambda item: ("/pokemon/" not in item.nodeid, "/belief/" in item.nodeid))
