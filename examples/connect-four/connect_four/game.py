"""The plug-in itself: one object that offers everything, named in pyproject.toml under `sparring.games`.

Sparring loads every installed game to list them, so this module stays quick to import: what may need torch or a
compiler (the network, the arena, the forward model) is imported inside the method that makes it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from connect_four.players import HumanPlayer, TacticalPlayer
from connect_four.settings import Network, Settings
from sparring.core import Arena, Field, ForwardModel, Game, GameSpec, Player


class ConnectFour:
    """See `sparring.core.Game`."""

    name: str = "connect-four"
    summary: str = "Connect Four on boards of 4x4 to 12x12"
    settings: type = Settings
    network: type = Network
    presets: Path = Path(__file__).parent / "presets"
    players: Mapping[str, Callable[[Any, int], Player]] = {"tactical": TacticalPlayer, "human": HumanPlayer}

    def spec(self, settings: Settings) -> GameSpec:
        """What rows look like: two planes of stones, the mover's first; an action is a column."""
        return GameSpec(
            game=self.name,
            settings={"rows": settings.rows, "columns": settings.columns},
            seats=2,
            actions=settings.columns,
            observation={"planes": Field((2, settings.rows, settings.columns), "uint8")},
        )

    def arena(self, settings: Settings, *, matches: int, seed: int) -> Arena:
        """An arena that plays `matches` at the same time."""
        from connect_four.arena import ConnectFourArena

        return ConnectFourArena(self.spec(settings), opening=settings.opening, matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: Network) -> Any:
        """A fresh torch network."""
        from connect_four.net import connect_four_policy

        return connect_four_policy(spec, network)

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """The network's last layer sees the whole board, so weights fit one board size only."""
        return None if trained == spec else f"it was trained for {trained.settings}, not for {spec.settings}"

    def model(self, spec: GameSpec) -> ForwardModel:
        """The rules for search; a game without a forward model returns None, and is trained by PPO all the same."""
        from connect_four.model import ConnectFourModel

        return ConnectFourModel(spec)


GAME: Game = ConnectFour()
