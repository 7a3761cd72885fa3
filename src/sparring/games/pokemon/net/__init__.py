"""The Pokémon network: one encoder for every Pokémon, attention over all of them, logits from moves and switches.

`tables` holds what the dex says, as fixed tensors; `encoder` turns an observation into tokens and features; `head`
scores every action from them. `transformer` joins them to one network for all formats, with `facing` (who stands
against whom) and `aiming` (scores of targets). Nothing else of this game imports torch.
"""

from sparring.core import GameSpec
from sparring.games.pokemon.actions import action_space
from sparring.games.pokemon.dex import load_dex
from sparring.games.pokemon.formats import find_format
from sparring.games.pokemon.net.encoder import PokemonEncoder
from sparring.games.pokemon.net.head import PokemonHead
from sparring.games.pokemon.net.tables import DexTables
from sparring.games.pokemon.net.transformer import BattleTransformer
from sparring.games.pokemon.settings import PokemonNetwork
from sparring.policy import ActorCritic, memory_core

__all__ = ["BattleTransformer", "DexTables", "PokemonEncoder", "PokemonHead", "pokemon_policy"]


def pokemon_policy(spec: GameSpec, network: PokemonNetwork) -> ActorCritic:
    """A fresh policy for the format that `spec` names."""
    if network.kind == "transformer":
        return BattleTransformer(spec, network)
    format = find_format(str(spec.settings["format"]), str(spec.settings["showdown"]))
    shape = network.shape
    dex = load_dex(format.tables, format.showdown)
    encoder = PokemonEncoder(
        dex, shape, active=format.active, full="damage" in spec.observation, belief="belief" in spec.observation
    )
    core = memory_core(network.memory, shape.width, window=network.reach, heads=shape.heads)
    return ActorCritic(encoder, core, PokemonHead(action_space(format), shape.width))
