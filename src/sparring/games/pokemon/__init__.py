"""Pokémon: the real Showdown rules without the server, singles and doubles, in any Showdown format.

`setup` installs the simulator; `formats`, `dex` and `teams` what Showdown says of rules and Pokémon; `simulator` the
Node processes; `tracker` (with `tracking`), `observation` and `columns` what a seat sees, `battle_view` the same by
names; `actions` what it may do; `arena` joins them; `words` tells a battle in English; `records` and `replay_page` keep
replays, `replays` reads those of people; `net` the network; `parity` and `trial` try other versions of Showdown;
`settings` options; `game` ties them together.
"""

from typing import TYPE_CHECKING

from sparring.core.lazy import lazy_dir, lazy_names
from sparring.games.pokemon.game import GAME
from sparring.games.pokemon.settings import PokemonNetwork, PokemonSettings
from sparring.games.pokemon.setup import setup_pokemon

if TYPE_CHECKING:
    from sparring.games.pokemon.arena import PokemonArena, pokemon_spec
    from sparring.games.pokemon.battle_view import BattleView
else:
    _ARENA, _VIEW = "sparring.games.pokemon.arena", "sparring.games.pokemon.battle_view"
    __getattr__ = lazy_names(__name__, {"PokemonArena": _ARENA, "pokemon_spec": _ARENA, "BattleView": _VIEW})

__all__ = ["GAME", "BattleView", "PokemonArena", "PokemonNetwork", "PokemonSettings", "pokemon_spec", "setup_pokemon"]
__dir__ = lazy_dir(__name__, __all__)
