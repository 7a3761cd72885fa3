"""Who plays a battle of a log, how highly each is rated, and who won."""

import re
from dataclasses import dataclass, field
from math import isnan, nan

from sparring.core.replays import Rejected
from sparring.games.pokemon.formats import to_id
from sparring.games.pokemon.replays.reasons import Reason

_GIVEN_UP = (
    *(" forfeited.", " forfeited by changing their name."),
    *(" lost due to inactivity.", " lost because of their inactivity."),
)
"""How a message ends that tells of it, over the years."""
_RATING = re.compile(r"(.{1,100})'s rating: (\d{3,4})(?!\d)")


@dataclass(slots=True)
class _Player:
    name: str = ""
    called: set[str] = field(default_factory=set)
    """Ids of all names that the player went by."""
    rating: float = nan


class Players:
    """The two players of a battle, side 0 and 1."""

    def __init__(self) -> None:
        self._players = (_Player(), _Player())
        self.winner: int | None = None
        """0 or 1, -1 for a tie; None while nobody has won."""
        self.forfeited = False

    @property
    def names(self) -> list[str]:
        """By side."""
        return [player.name for player in self._players]

    @property
    def ratings(self) -> list[float]:
        """By side, NaN where the log tells none."""
        return [player.rating for player in self._players]

    def introduce(self, side: int, parts: list[str]) -> None:
        """`|player|p1|Ann|102|1734`."""
        player = self._players[side]
        if len(parts) > 3 and parts[3]:
            player.name = parts[3]
            player.called.add(_player_id(parts[3]))
        if len(parts) > 5 and parts[5].strip().isdigit():
            player.rating = float(parts[5])

    def rate(self, text: str) -> None:
        """`Ann's rating: 1767 &rarr; <strong>1784</strong>`: what a player was rated, if nothing else says."""
        found = _RATING.match(text)
        if found is None:
            return
        for player in self._players:
            if isnan(player.rating) and _player_id(found[1]) in player.called:
                player.rating = float(found[2])

    def win(self, name: str) -> None:
        """`name` has won."""
        names = self.names
        if names[0] == names[1]:
            raise Rejected(Reason.UNFINISHED, f"both players are called {names[0]!r}: nobody can tell who won")
        if name in names:
            self.winner = names.index(name)
            return
        winners = [side for side, player in enumerate(self._players) if _player_id(name) in player.called]
        if len(winners) != 1:
            raise Rejected(Reason.UNFINISHED, f"{name!r} won, who did not play")
        self.winner = winners[0]

    def announce(self, text: str) -> None:
        """A message to all: somebody may have given up."""
        if text.endswith(_GIVEN_UP):
            self.forfeited = True


def _player_id(name: str) -> str:
    """What stays of a player's name however it is written; the name itself if it is all signs."""
    return to_id(name) or name
