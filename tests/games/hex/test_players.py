import numpy as np
import pytest

from sparring.core import Player, RandomPlayer
from sparring.games.hex import HexArena, HexSettings
from sparring.games.hex.players import PathPlayer
from sparring.games.hex.text import mirrored, parse_move


def wins_of_first(settings: HexSettings, players: tuple[Player, Player], *, matches: int, seed: int = 0) -> int:
    """How many of `matches` matches, one a slot, `players[0]` wins in seat 0."""
    arena = HexArena(settings, matches=matches, seed=seed)
    outcome = np.zeros(matches)
    while not outcome.all():
        decisions, results = arena.wait()
        new = outcome[results.match] == 0
        outcome[results.match[new]] = results.outcome[new, 0]
        for seat, player in enumerate(players):
            rows = decisions.take(np.flatnonzero(decisions.seat == seat))
            arena.act(rows, player.act(rows).action)
    return int((outcome > 0).sum())


@pytest.mark.parametrize("size", [5, 7, 9, 11])
@pytest.mark.parametrize("swap", [False, True])
def test_path_beats_random_from_both_seats(size: int, swap: bool) -> None:
    settings = HexSettings(size=size, swap=swap)
    assert wins_of_first(settings, (PathPlayer(settings, 0), RandomPlayer(1)), matches=100) > 95
    assert wins_of_first(settings, (RandomPlayer(1), PathPlayer(settings, 0)), matches=100) < 5


def after(settings: HexSettings, *cells: str) -> HexArena:
    """An arena of 40 equal matches in which the given cells (absolute) were played in turns."""
    arena = HexArena(settings, matches=40, seed=0)
    for number, cell in enumerate(cells):
        move = parse_move(settings.size, cell)
        action = move if number % 2 == 0 else mirrored(settings.size, move)
        decisions, _ = arena.wait()
        arena.act(decisions, np.full(40, action, np.int32))
    return arena


def replies(arena: HexArena, settings: HexSettings) -> set[int]:
    """The absolute moves that path plays next in the 40 matches."""
    decisions, _ = arena.wait()
    arena.act(decisions, PathPlayer(settings, 3).act(decisions).action)
    return {(arena.history(match) or arena.last_history(match))[-1] for match in range(40)}


def test_path_wins_when_it_can() -> None:
    settings = HexSettings(size=3)
    arena = after(settings, "a1", "c1", "a2", "c2")
    assert replies(arena, settings) == {parse_move(3, "a3")}


def test_path_blocks_when_it_must() -> None:
    settings = HexSettings(size=4)
    arena = after(settings, "a1", "d1", "a2", "d2", "a3")
    assert replies(arena, settings) == {parse_move(4, "a4")}


@pytest.mark.parametrize(("cut", "save"), [("d5", "c5"), ("c5", "d5")])
def test_path_saves_its_bridge(cut: str, save: str) -> None:
    settings = HexSettings(size=7)
    arena = after(settings, "d4", "a1", "c6", cut)
    assert replies(arena, settings) == {parse_move(7, save)}


def test_path_swaps_a_strong_stone_and_leaves_a_weak_one() -> None:
    settings = HexSettings(size=7, swap=True)
    assert replies(after(settings, "d4"), settings) == {49}
    assert 49 not in replies(after(settings, "a1"), settings)


def test_path_answers_each_row_on_its_own_and_from_the_seed() -> None:
    settings = HexSettings(size=6)
    arena = HexArena(settings, matches=50, seed=0)
    decisions, _ = arena.wait()
    first, again, other = (PathPlayer(settings, seed).act(decisions).action for seed in (5, 5, 6))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    assert len(set(first.tolist())) > 1
