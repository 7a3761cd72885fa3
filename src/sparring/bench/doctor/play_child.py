"""Plays some matches of a game by random moves, printed as JSON; `checks.py` runs this in a process of its own."""

import sys
from time import perf_counter

import msgspec

from sparring.core import InputError, check_arena, load_game

_MATCHES = 2


class Played(msgspec.Struct, frozen=True):
    """What came of it."""

    decisions: int = 0
    seconds: float = 0.0
    problem: str = ""
    """Why it cannot be played."""


def play(name: str) -> Played:
    """A few matches of the game as its settings are by default."""
    game = load_game(name)
    start = perf_counter()
    try:
        arena = game.arena(game.settings(), matches=_MATCHES, seed=0)
    except InputError as error:
        return Played(problem=str(error))
    try:
        report = check_arena(arena, matches=_MATCHES)
    finally:
        arena.close()
    problem = f"{report.failed} of {report.matches} matches failed" if report.failed else ""
    return Played(report.decisions, perf_counter() - start, problem)


if __name__ == "__main__":
    print(msgspec.json.encode(play(sys.argv[1])).decode())
