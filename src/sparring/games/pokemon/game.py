"""Pokémon as a plug-in: one object that offers its rules, players and network."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparring.core import Game, GameSpec, Player
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.arena import PokemonArena, pokemon_spec
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.players import PLAYERS
from sparring.games.pokemon.settings import PokemonNetwork, PokemonSettings
from sparring.games.pokemon.setup import setup_pokemon


class PokemonGame:
    """See `sparring.core.Game`."""

    name: str = "pokemon"
    summary: str = "Pokémon battles by the real Showdown rules, generations 1 to 9, singles and doubles"
    settings: type = PokemonSettings
    network: type = PokemonNetwork
    presets: Path = Path(__file__).parent / "presets"
    players: Mapping[str, Callable[[Any, int], Player]] = PLAYERS

    def install(self, say: Callable[[str], None]) -> None:
        """The simulator, its tables and the built-in teams."""
        setup_pokemon(say)

    def spec(self, settings: PokemonSettings) -> GameSpec:
        """What rows look like under `settings`."""
        return pokemon_spec(settings)

    def arena(self, settings: PokemonSettings, *, matches: int, seed: int) -> PokemonArena:
        """An arena that plays `matches` at the same time."""
        return PokemonArena(settings, matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: PokemonNetwork) -> Any:
        """A fresh entity network."""
        from sparring.games.pokemon.net import pokemon_policy  # torch is needed nowhere else

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

    def describe(self, spec: GameSpec, action: int) -> str:
        """As in `move 2 terastallize` or `switch to slot 3`."""
        return action_space(find_format(str(spec.settings["format"]))).describe(action)


GAME: Game = PokemonGame()
