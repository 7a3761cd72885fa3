"""The guard against getting slower: it holds today's program to its floors, and finds one that is twice as slow."""

import pytest

from tests.benchmarks import BENCHMARKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture
def guard(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import guard

    return guard


class Twice:
    """An arena whose rows are encoded twice: two that play the same."""

    def __init__(self, guard):
        game, settings, _ = guard.hex_game()
        self._both = [game.arena(settings, matches=guard.MATCHES, seed=0) for _ in range(2)]

    def wait(self):
        first, _ = [arena.wait() for arena in self._both]
        return first

    def act(self, decisions, actions):
        for arena in self._both:
            arena.act(decisions, actions)


def test_no_part_is_slower_than_its_floor(guard):
    assert guard.too_slow(guard.ratios(rounds=9)) == []


def test_an_encoder_that_takes_twice_as_long_is_found_with_both_figures(guard):
    slow = guard.too_slow(guard.ratios(rounds=9, arena=Twice(guard)))
    assert [line.partition(",")[0] for line in slow] == ["hex encoding"]
    assert "rows/CPU-s is 0." in slow[0]
    assert "the floor is 0.52" in slow[0]
