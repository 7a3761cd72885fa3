"""Gathering: arenas whose rows trickle in may wait for more of them; others say that they cannot."""

import pytest

from sparring.core import Arena, InputError, gather
from tests import hex


class Trickling:
    """An arena in name only: remembers what it was told."""

    def __init__(self) -> None:
        self.told: tuple[int, float] | None = None

    def gather(self, rows: int, seconds: float) -> None:
        self.told = rows, seconds


def test_an_arena_that_gathers_is_told_so() -> None:
    arena = Trickling()
    gather(arena, 32, 0.02)
    assert arena.told == (32, 0.02)


def test_a_batch_of_one_row_asks_for_nothing() -> None:
    arena = Trickling()
    gather(arena, 1, 0.02)
    assert arena.told is None


def test_an_arena_whose_rows_come_all_at_once_refuses() -> None:
    arena: Arena = hex.GAME.arena(hex.settings(), matches=2, seed=0)
    with pytest.raises(InputError, match="batch size 32: hex shows all its rows at once"):
        gather(arena, 32, 0.02)
