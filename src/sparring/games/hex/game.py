"""Hex as a plug-in: one object that offers its rules, players and network.

What takes long to import (kernels, torch) is imported where it is used, so that games can be listed at once.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparring.core import Game, GameSpec, Guest, MatchRecord, Player
from sparring.core.lazy import lazy_call
from sparring.games.hex.settings import HexNetwork, HexSettings

if TYPE_CHECKING:
    from sparring.games.hex.arena import HexArena
    from sparring.games.hex.episode_words import HexWords
    from sparring.games.hex.model import HexModel


class HexGame:
    """See `sparring.core.Game`."""

    name: str = "hex"
    summary: str = "Hex on boards of 3x3 to 19x19, with or without the swap rule"
    settings: type = HexSettings
    network: type = HexNetwork
    presets: Path = Path(__file__).parent / "presets"
    players: Mapping[str, Callable[[Any, int], Player]] = {
        "path": lazy_call("sparring.games.hex.players", "PathPlayer"),
        "human": lazy_call("sparring.games.hex.human", "human_player"),
    }
    guests: Mapping[str, Callable[[Any, str, Guest], Player]] = {
        "gtp": lazy_call("sparring.games.hex.gtp_player", "GtpPlayer"),
        "openspiel": lazy_call("sparring.games.hex.openspiel", "OpenSpielPlayer"),
    }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}>"

    def spec(self, settings: HexSettings) -> GameSpec:
        """What rows look like under `settings`."""
        from sparring.games.hex.arena import hex_spec

        return hex_spec(settings)

    def arena(self, settings: HexSettings, *, matches: int, seed: int) -> "HexArena":
        """An arena that plays `matches` at the same time."""
        from sparring.games.hex.arena import HexArena

        return HexArena(settings, matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: HexNetwork) -> Any:
        """A fresh residual network."""
        from sparring.games.hex.net import hex_policy

        return hex_policy(spec, network)

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """Any Hex network plays any size, with or without the swap rule."""
        return None if trained.game == spec.game else f"it was trained for {trained.game}, not for {spec.game}"

    def varied(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Two random stones, one of each colour; with the swap rule, which makes openings fair, none."""
        return settings if settings.get("swap") else {"opening": 2, **settings}

    def follow(self, arena: "HexArena", ended: Callable[[int, MatchRecord], None]) -> None:
        """See `sparring.core.Followed`."""
        from sparring.games.hex.records import follow

        follow(arena, ended)

    def words(self, spec: GameSpec) -> "HexWords":
        """See `sparring.core.words.Worded`."""
        from sparring.games.hex.episode_words import HexWords

        return HexWords(spec)

    def model(self, spec: GameSpec) -> "HexModel":
        """The rules on batches of states."""
        from sparring.games.hex.model import HexModel

        return HexModel(spec)


GAME: Game = HexGame()
