"""Matches of two entrants on their way into a ledger: who plays, and ids that stay the same when played again."""

import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sparring.core import Results
from sparring.league.entrants import Entrant, Style
from sparring.league.ledger import Identity, Ledger, Match, Seat
from sparring.league.seating import Seating
from sparring.rollout import taking_turns


def identity(entrant: Entrant, style: Style) -> Identity:
    """Who `entrant` is when its network plays by `style`."""
    if entrant.server is not None:
        kind = "server"
    elif entrant.checkpoint is not None:
        kind = "network"
    elif entrant.guest is not None:
        kind = "program"
    elif entrant.factory is not None or entrant.maker is not None or entrant.player is not None:
        kind = "code"
    else:
        kind = "built-in"
    checkpoint = entrant.checkpoint
    return Identity(
        name=entrant.name,
        checkpoint="" if checkpoint is None else checkpoint.digest,
        style=_style(style) if entrant.is_network or entrant.server is not None else "",
        kind=kind,
    )


class RatedMatches:
    """Adds the matches of two entrants, who take turns in the seats, to `ledger` as they end.

    A match's id is made of what determines its course: players, game, settings, seed, how many matches are played at
    the same time and its number among them. Played again, it is the same match and counts once.
    """

    def __init__(self, ledger: Ledger, seating: Seating, style: Style, *, parallel: int, seed: int) -> None:
        self.known = 0
        """Matches that were in the ledger already."""
        self._ledger = ledger
        self._seed = seed
        self._players = [msgspec.structs.asdict(identity(entrant, style)) for entrant in seating.entrants]
        self._lineup = taking_turns([0, 1], seating.spec.seats)
        self._block = seating.spec.seats // 2
        self._game = seating.game.name
        settings: Mapping[str, Any] = msgspec.to_builtins(seating.settings)
        self._settings = dict(settings)
        facts = [self._game, settings, self._players, seed, parallel]
        self._series = sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()[:24]

    def add(self, serials: NDArray[np.int64], turns: NDArray[np.int32], results: Results, notes: Sequence[str]) -> None:
        """Writes matches that have ended, except failed ones; see `evaluation.Record`."""
        now = time.time()
        matches = [
            self._match(int(serials[at]), int(turns[at]), results.outcome[at].tolist(), seated.tolist(), now, notes[at])
            for at, seated in enumerate(self._lineup(serials))
            if not results.failed[at]
        ]
        self.known += len(matches) - self._ledger.add(matches)

    def _match(self, serial: int, turns: int, outcome: list[float], seated: list[int], now: float, note: str) -> Match:
        block = self._block  # some seats of a side may be empty, but never its first
        seats = [
            Seat(**self._players[player], team=seat // block, outcome=outcome[seat // block * block])
            for seat, player in enumerate(seated)
        ]
        return Match(
            id=f"{self._series}-{serial}",
            game=self._game,
            settings=self._settings,
            team_set=str(self._settings.get("team_set", "")),
            seats=tuple(seats),
            length=turns,
            seed=self._seed,
            time=now,
            note=note,
        )


def _style(style: Style) -> str:
    """What differs from playing as trained."""
    parts = {
        "simulations": style.simulations,
        "temperature": 1.0 if style.simulations else style.temperature,
        "policy-threshold": style.policy_threshold,
    }
    usual = {"simulations": 0, "temperature": 1.0, "policy-threshold": 0.0}
    return " ".join(f"{name}={value:g}" for name, value in parts.items() if value != usual[name])
