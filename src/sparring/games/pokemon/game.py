"""Pokémon as a plug-in: one object that offers its rules, players and network.

What takes long to import (kernels, torch) is imported where it is used, so that games can be listed at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparring.core import Game, GameSpec, Guest, InputError, MatchRecord, Player, Vocabulary
from sparring.core.lazy import lazy_call
from sparring.games.pokemon.settings import PINNED, PokemonNetwork, PokemonSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sparring.core import Array
    from sparring.core.checkup import Check, CheckUp
    from sparring.core.replays import Filters, Reading, Replay, Replays
    from sparring.core.words import Words
    from sparring.games.pokemon.arena import PokemonArena
    from sparring.games.pokemon.live import LiveArena

_PLAYERS = "sparring.games.pokemon.players"


class PokemonGame:
    """See `sparring.core.Game`."""

    name: str = "pokemon"
    summary: str = "Pokémon battles by the real Showdown rules, generations 1 to 9, singles and doubles"
    settings: type = PokemonSettings
    network: type = PokemonNetwork
    presets: Path = Path(__file__).parent / "presets"
    version: str = "showdown"
    spread: str = "simulators"
    players: Mapping[str, Callable[[Any, int], Player]] = {
        "max-power": lazy_call(_PLAYERS, "MaxPowerPlayer"),
        "heuristic": lazy_call(_PLAYERS, "HeuristicPlayer"),
        "human": lazy_call("sparring.games.pokemon.human", "human_player"),
    }
    guests: Mapping[str, Callable[[Any, str, Guest], Player]] = {
        "poke-env": lazy_call("sparring.games.pokemon.poke_env", "named_player"),
    }

    def install(self, settings: PokemonSettings, say: Callable[[str], None]) -> None:
        """The simulator, its tables and the built-in teams; another version than the pinned one is also tried out."""
        from sparring.games.pokemon.setup import setup_pokemon
        from sparring.games.pokemon.trial import try_version

        setup_pokemon(say)
        if settings.showdown != PINNED:
            try_version(settings.showdown, say)

    def check_up(self, asked: "CheckUp") -> Iterator["Check"]:
        """See `sparring.core.checkup.Checked`."""
        from sparring.games.pokemon.checkup import pokemon_checks

        return pokemon_checks(asked)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}>"

    def spec(self, settings: PokemonSettings) -> GameSpec:
        """What rows look like under `settings`."""
        from sparring.games.pokemon.arena import pokemon_spec

        return pokemon_spec(settings)

    def arena(self, settings: PokemonSettings, *, matches: int, seed: int) -> "PokemonArena":
        """An arena that plays `matches` at the same time."""
        from sparring.games.pokemon.arena import PokemonArena

        return PokemonArena(settings, matches=matches, seed=seed)

    def local_servers(self, count: int) -> AbstractContextManager[Sequence[str]]:
        """Showdown servers; see `sparring.core.Online`."""
        from sparring.games.pokemon.live.local import local_servers

        return local_servers(count)

    def online(
        self,
        settings: PokemonSettings,
        servers: Sequence[str],
        *,
        name: str,
        opponent: str,
        asks: bool,
        matches: int,
        seed: int,
    ) -> "LiveArena":
        """Battles between two accounts by challenge; see `sparring.core.Online`."""
        from sparring.games.pokemon.formats import find_format
        from sparring.games.pokemon.live import Account, LiveArena, Wish

        wish = Wish(
            format=find_format(settings.format, settings.showdown),
            how="challenge" if asks else "accept",
            opponent=opponent,
            open_sheets=settings.open_team_sheets,
        )
        return LiveArena(settings, wish, servers=servers, account=Account(name), matches=matches, seed=seed)

    def policy(self, spec: GameSpec, network: PokemonNetwork) -> Any:
        """A fresh entity network."""
        from sparring.games.pokemon.net import pokemon_policy

        return pokemon_policy(spec, network)

    def fits(self, trained: GameSpec, spec: GameSpec) -> str | None:
        """A network of kind entity plays other formats with the same actions and observation."""
        if trained.game != spec.game:
            return f"it was trained for {trained.game}, not for {spec.game}"
        if trained.actions != spec.actions or trained.observation != spec.observation:
            was, wanted = trained.settings["format"], spec.settings["format"]
            if was == wanted:
                return f"it was trained for {was} with other settings, which change what it observes; leave them out"
            return (
                f"it was trained for {was} and cannot play {wanted}, whose actions or observations differ; play {was}, "
                f"or train for the other: sparring train pokemon-gen1 settings.format={wanted}"
            )
        return None

    def vocabulary(self) -> Vocabulary | None:
        """The names in the installed dex."""
        from sparring.games.pokemon.dex import load_dex
        from sparring.games.pokemon.vocabulary import dex_vocabulary

        try:
            return dex_vocabulary(load_dex(1))
        except InputError:
            return None

    def first_vocabulary(self) -> Vocabulary:
        """The names in the dex of Showdown 0.11.11."""
        from sparring.games.pokemon.vocabulary import first_vocabulary

        return first_vocabulary()

    def find_replays(self, inputs: Sequence[Path]) -> "Replays":
        """See `sparring.core.replays.Replayed`."""
        from sparring.games.pokemon.replays.sources import ReplayFiles

        return ReplayFiles(inputs)

    def read_replays(self, replays: "Sequence[Replay]", filters: "Filters", options: Mapping[str, str]) -> "Reading":
        """See `sparring.core.replays.Replayed`."""
        from sparring.games.pokemon.replays.episodes import read_replays

        return read_replays(replays, filters, options)

    def hide_filled(self, observation: "Mapping[str, Array]", filled: "NDArray[np.uint64]") -> "Mapping[str, Array]":
        """See `sparring.core.replays.Replayed`."""
        from sparring.games.pokemon.replays.own_team import hide_filled

        return hide_filled(observation, filled)

    def record(self, arena: "PokemonArena", keep: Callable[[dict[str, Any]], None]) -> None:
        """See `sparring.core.replays.Recordable`."""
        from sparring.games.pokemon.replays.generate import BattleRecorder

        BattleRecorder(arena, keep)

    def follow(self, arena: "PokemonArena", ended: Callable[[int, MatchRecord], None]) -> None:
        """See `sparring.core.Followed`."""
        from sparring.games.pokemon.records import follow

        follow(arena, ended)

    def words(self, spec: GameSpec) -> "Words":
        """See `sparring.core.words.Worded`."""
        from sparring.games.pokemon.episode_words import PokemonWords

        return PokemonWords(spec)

    def model(self, spec: GameSpec) -> None:
        """Showdown offers no batched forward model."""
        return None


GAME: Game = PokemonGame()
