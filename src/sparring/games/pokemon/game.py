"""Pokémon as a plug-in: one object that offers its rules, players and network.

What takes long to import (kernels, torch) is imported where it is used, so that games can be listed at once.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparring.core import Game, GameSpec, Player
from sparring.core.lazy import lazy_call
from sparring.games.pokemon.settings import PINNED, PokemonNetwork, PokemonSettings

if TYPE_CHECKING:
    from sparring.games.pokemon.arena import PokemonArena

_PLAYERS = "sparring.games.pokemon.players"


class PokemonGame:
    """See `sparring.core.Game`."""

    name: str = "pokemon"
    summary: str = "Pokémon battles by the real Showdown rules, generations 1 to 9, singles and doubles"
    settings: type = PokemonSettings
    network: type = PokemonNetwork
    presets: Path = Path(__file__).parent / "presets"
    players: Mapping[str, Callable[[Any, int], Player]] = {
        "max-power": lazy_call(_PLAYERS, "MaxPowerPlayer"),
        "heuristic": lazy_call(_PLAYERS, "HeuristicPlayer"),
        "human": lazy_call("sparring.games.pokemon.human", "human_player"),
    }

    def install(self, settings: PokemonSettings, say: Callable[[str], None]) -> None:
        """The simulator, its tables and the built-in teams; another version than the pinned one is also tried out."""
        from sparring.games.pokemon.setup import setup_pokemon
        from sparring.games.pokemon.trial import try_version

        setup_pokemon(say)
        if settings.showdown != PINNED:
            try_version(settings.showdown, say)

    def spec(self, settings: PokemonSettings) -> GameSpec:
        """What rows look like under `settings`."""
        from sparring.games.pokemon.arena import pokemon_spec

        return pokemon_spec(settings)

    def arena(self, settings: PokemonSettings, *, matches: int, seed: int) -> "PokemonArena":
        """An arena that plays `matches` at the same time."""
        from sparring.games.pokemon.arena import PokemonArena

        return PokemonArena(settings, matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: PokemonNetwork) -> Any:
        """A fresh entity network."""
        from sparring.games.pokemon.net import pokemon_policy

        return pokemon_policy(spec, network)

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """A network plays other formats with the same actions and observation, by the same dex."""
        if trained.game != spec.game:
            return f"it was trained for {trained.game}, not for {spec.game}"
        if trained.actions != spec.actions or trained.observation != spec.observation:
            return f"{trained.settings['format']} and {spec.settings['format']} have other actions or observations"
        if trained.settings["showdown"] != spec.settings["showdown"]:
            return f"its dex numbers are those of Showdown {trained.settings['showdown']}"
        return None

    def model(self, spec: GameSpec) -> None:
        """Showdown offers no batched forward model."""
        return None


GAME: Game = PokemonGame()
