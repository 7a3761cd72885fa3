"""Models of a policy server by name: whatever is a network, wherever it comes from."""

import pytest

from sparring.core import InputError, shipped_weights
from sparring.league.serve import model_source
from tests import hex


def test_shipped_weights_are_served_and_can_be_read_again():
    source = model_source("main=hex-7x7")
    assert (source.name, source.spec) == ("main", hex.spec(7))
    assert source.path == shipped_weights()["hex-7x7"]
    assert source.read_again()[1] == source.version


def test_a_factory_is_served_for_the_game_that_is_named(tmp_path, monkeypatch):
    (tmp_path / "served_code.py").write_text("from tests import hex\ndef build(spec):\n    return hex.policy()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = model_source("mine=served_code:build", game="hex", settings={"size": 5})
    assert (source.spec, source.version, source.path) == (hex.spec(5), 0, None)
    with pytest.raises(InputError, match="say with --game"):
        model_source("mine=served_code:build")


@pytest.mark.parametrize("text", ["main", "=hex-7x7", "main=", "main=path", "main=tcp://host:1/a"])
def test_what_is_no_network_is_refused(text):
    with pytest.raises(InputError, match=f"--model {text}"):
        model_source(text)
