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
    moves = zip(decisions.seat.tolist(), PathPlayer(settings, 3).act(decisions).action.tolist(), strict=True)
    return {mirrored(settings.size, move) if seat else move for seat, move in moves}


def test_path_wins_when_it_can() -> None:
    settings = HexSettings(size=3)
    arena = after(settings, "a1", "c1", "a2", "c2")
    assert replies(arena, settings) == {parse_move(3, "a3")}


def test_path_blocks_when_it_must() -> None:
    settings = HexSettings(size=4)
    arena = after(settings, "a1", "d1", "a2", "d2", "a3")
    assert replies(arena, settings) == {parse_move(4, "a4")}


def distance(own: set[tuple[int, int]], other: set[tuple[int, int]], size: int) -> int:
    """Stones that `own` lacks to connect row 0 with the last row, by plain relaxation; 99 if it cannot."""
    places = [(row, column) for row in range(size) for column in range(size) if (row, column) not in other]
    cost = {place: int(place not in own) for place in places}
    best = {place: cost[place] if place[0] == 0 else 99 for place in places}
    for _ in places:
        for row, column in places:
            for beside in ((row - 1, column), (row - 1, column + 1), (row, column - 1), (row, column + 1)):
                if beside in best:
                    here = row, column
                    best[here] = min(best[here], best[beside] + cost[here])
                    best[beside] = min(best[beside], best[here] + cost[beside])
    return min((best[place] for place in places if place[0] == size - 1), default=99)


def test_path_plays_the_best_difference_of_distances() -> None:
    settings = HexSettings(size=4)
    arena = HexArena(settings, matches=6, seed=0)
    path, player = PathPlayer(settings, 0), RandomPlayer(1)
    for _ in range(12):
        decisions, _ = arena.wait()
        for planes, chosen in zip(decisions.observation["planes"], path.act(decisions).action, strict=True):
            own, other = ({(int(r), int(c)) for r, c in np.argwhere(plane)} for plane in planes)
            scores = {}
            for action in range(16):
                place = divmod(action, 4)
                if place in own | other:
                    continue
                mine = distance(own | {place}, other, 4)
                theirs = distance({(c, r) for r, c in other}, {(c, r) for r, c in own | {place}}, 4)
                scores[action] = 1000 if mine == 0 else theirs - mine - 1000 * (theirs <= 1)
            assert scores[int(chosen)] == max(scores.values())
        arena.act(decisions, player.act(decisions).action)


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
