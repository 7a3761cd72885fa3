"""Packages whose names are imported on first use."""

from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["sparring.games.hex", "sparring.games.pokemon", "sparring.league"])
def test_lazy_names_are_completed(name):
    package = import_module(name)
    assert set(package.__all__) <= set(dir(package))
