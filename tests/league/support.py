"""Ledgers and results that the tests of the league share."""

import numpy as np

from sparring.league.counts import PairCounts
from sparring.league.ledger import Identity, Match, Seat
from sparring.league.ratings import ELO, chances


def match(number, first="ann", second="ben", outcome=1.0, **more):
    """A match of two; a number is also its time."""
    seats = tuple(
        Seat(name=name, kind="built-in" if name == "ben" else "network", team=team, outcome=outcome * (1 - 2 * team))
        for team, name in enumerate((first, second))
    )
    about = {"id": f"m{number}", "game": "hex", "time": 1.0, "machine": "here", "settings": {"size": 5}}
    if isinstance(number, int):
        about["time"] = float(number)
    return Match(**{**about, "seats": seats, **more})


def simulate(ratings, matches, *, advantage=0.0, draw=0.0, seed=0):
    """`matches` of every player against every other in either seat, drawn from the model."""
    n, rng = len(ratings), np.random.default_rng(seed)
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    gap = (ratings[first] - ratings[second] + advantage) / ELO
    drawn = rng.multinomial(matches, np.stack(chances(gap, draw), axis=1)).astype(np.int64)
    return counts(first, second, *drawn.T, players=n)


def counts(first, second, wins, draws, losses, *, players, setup=None, setups=(("", "", ""),), kinds=None):
    first, second, wins, draws, losses = (np.asarray(x, np.int64) for x in (first, second, wins, draws, losses))
    names = tuple(Identity(name=f"p{at:03}", kind=kinds[at] if kinds else "") for at in range(players))
    setup = np.zeros(len(first), np.int64) if setup is None else np.asarray(setup, np.int64)
    return PairCounts(names, first, second, wins, draws, losses, setup, tuple(setups))
