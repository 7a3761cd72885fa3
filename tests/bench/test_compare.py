"""Two real measurements compared: an encoder that does its work twice is found, an unchanged program is not."""

import pytest

from sparring.bench.diagnose.baseline import compare
from sparring.bench.diagnose.run import diagnose
from sparring.bench.diagnose.subject import find_subject
from sparring.games.hex import arena

pytestmark = pytest.mark.slow


def measured():
    return diagnose(find_subject("hex-quick", None, []), ["encode"], seconds=4.0)


def verdicts(before, now):
    return {one.name: one.verdict for one in compare(before, now)}


def encoding_twice(monkeypatch):
    once = arena.collect

    def twice(slots, opening, rows):
        status = arena.Slots(*slots).status
        ready = status.copy()
        once(slots, opening, rows)
        status[:] = ready
        return once(slots, opening, rows)

    monkeypatch.setattr(arena, "collect", twice)


def test_a_doubled_encoder_is_found_and_nothing_else(monkeypatch):
    before, again = measured(), measured()
    assert not {"slower", "faster"} & set(verdicts(before, again).values())
    encoding_twice(monkeypatch)
    found = verdicts(before, measured())
    assert [name for name, verdict in found.items() if verdict == "slower"] == ["arena encode"]
    assert "faster" not in found.values()
