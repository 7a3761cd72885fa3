"""A person against a player, in the terminal."""

from math import isnan

from sparring.core import InputError, RunError, built_in
from sparring.league.entrants import Style
from sparring.league.evaluation import play_one
from sparring.league.seating import Seating

HUMAN = "human"
"""The built-in player whom the game asks in the terminal."""


def play_by_hand(seating: Seating, *, seat: int, seed: int, style: Style) -> float | None:
    """The person's outcome of one match in seat `seat` against the one entrant; None if they left before the end."""
    game, spec = seating.game, seating.spec
    if HUMAN not in game.players:
        raise InputError(f"{game.name} cannot be played in the terminal")
    if seat >= spec.seats:
        raise InputError(f"--seat {seat}: {game.name} has seats 0 to {spec.seats - 1}")
    human = built_in(game, spec, HUMAN, seed=seed)
    with seating.seated(matches=1, seed=seed, style=style) as ((rival,), arena):
        try:
            players = [human if number == seat else rival for number in range(spec.seats)]
            names = ["you" if number == seat else seating.entrants[0].name for number in range(spec.seats)]
            outcome = play_one(players, arena, names=names)[seat]
        except EOFError:
            return None
    if isnan(outcome):
        raise RunError("the match broke off; nobody won")
    return outcome
