"""Networks made from their descriptions; see `core.networks`."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from sparring.core import Game, GameSpec, InputError
from sparring.core.networks import FACTORY, build_with, load_factory
from sparring.core.settings import convert


def build_network(network: Mapping[str, Any], game: Game, spec: GameSpec) -> Any:
    """A fresh policy, as `network` describes it."""
    if FACTORY not in network:
        return game.policy(spec, convert(network, game.network, where="network"))
    name = str(network[FACTORY])
    policy = build_with(load_factory(name), spec, name=name)
    missing = [call for call in ("initial_memory", "step", "unroll") if not callable(getattr(policy, call, None))]
    if not isinstance(policy, nn.Module) or missing:
        raise InputError(f"{name}: training needs a torch module with {', '.join(missing) or 'weights'}")
    return policy
