"""Networks by description: a game's own with its size options, or one that the user's code builds.

    network: {width: 96, layers: 2}                   the game's network
    network: {factory: my_agents.mine:build}          whatever `build(spec)` returns

A factory is imported only where the user names it: in a preset, on the command line. A checkpoint or run folder keeps
its name for people to read, but never has it imported.
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from sparring.core import Game, GameSpec, InputError
from sparring.core.code import load_code
from sparring.core.settings import convert

Factory = Callable[[GameSpec], nn.Module]
"""User code that builds a policy (see `sparring.policy`) for rows of a spec."""

FACTORY = "factory"


def check_network(network: Mapping[str, Any], game: Game, *, where: str) -> None:
    """Raises `InputError` unless `network` is a description that `build_network` understands."""
    if FACTORY not in network:
        convert(network, game.network, where=where)
        return
    if len(network) > 1:
        raise InputError(f"{where}: {FACTORY} stands alone: its network's sizes are your code's")
    load_factory(str(network[FACTORY]))


def build_network(network: Mapping[str, Any], game: Game, spec: GameSpec) -> Any:
    """A fresh policy, as `network` describes it."""
    if FACTORY not in network:
        return game.policy(spec, convert(network, game.network, where="network"))
    name = str(network[FACTORY])
    policy = load_factory(name)(spec)
    missing = [call for call in ("initial_memory", "step", "unroll") if not callable(getattr(policy, call, None))]
    if not isinstance(policy, nn.Module) or missing:
        raise InputError(f"{name}: training needs a torch module with {', '.join(missing) or 'weights'}")
    return policy


def same_network(network: Mapping[str, Any], other: Mapping[str, Any], game: Game) -> bool:
    """Whether both describe one network, be it in other words: a default that is written out changes nothing."""
    if FACTORY in network or FACTORY in other:
        return dict(network) == dict(other)
    first: object = convert(network, game.network, where="network")
    return first == convert(other, game.network, where="network")


def load_factory(text: str) -> Factory:
    """The callable that `package.module:function` names, installed or in the current folder."""
    return load_code(text, what="a function that builds a policy")
