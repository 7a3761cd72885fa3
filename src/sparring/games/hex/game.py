"""Hex as a plug-in: one object that offers its rules, players and network."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparring.core import Game, GameSpec, Player
from sparring.games.hex.arena import HexArena, hex_spec
from sparring.games.hex.human import HumanPlayer
from sparring.games.hex.model import HexModel
from sparring.games.hex.players import PathPlayer
from sparring.games.hex.settings import HexNetwork, HexSettings
from sparring.games.hex.text import cell_name


class HexGame:
    """See `sparring.core.Game`."""

    name: str = "hex"
    summary: str = "Hex on boards of 3x3 to 19x19, with or without the swap rule"
    settings: type = HexSettings
    network: type = HexNetwork
    presets: Path = Path(__file__).parent / "presets"
    players: Mapping[str, Callable[[Any, int], Player]] = {
        "path": PathPlayer,
        "human": lambda settings, seed: HumanPlayer(settings),
    }

    def spec(self, settings: HexSettings) -> GameSpec:
        """What rows look like under `settings`."""
        return hex_spec(settings)

    def arena(self, settings: HexSettings, *, matches: int, seed: int) -> HexArena:
        """An arena that plays `matches` at the same time."""
        return HexArena(settings, matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: HexNetwork) -> Any:
        """A fresh residual network."""
        from sparring.games.hex.net import hex_policy  # torch is needed nowhere else

        return hex_policy(spec, network)

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """Any Hex network plays any size, with or without the swap rule."""
        return None if trained.game == spec.game else f"it was trained for {trained.game}, not for {spec.game}"

    def model(self, spec: GameSpec) -> HexModel:
        """The rules on batches of states."""
        return HexModel(spec)

    def describe(self, spec: GameSpec, action: int) -> str:
        """The cell's name seen from the mover, who connects top and bottom (`c4`: column 3, row 4), or `swap`."""
        return cell_name(int(spec.settings["size"]), action)


GAME: Game = HexGame()
