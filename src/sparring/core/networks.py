"""Networks by description: a game's own with its size options, or one that the user's code builds.

    network: {width: 96, layers: 2}                   the game's network
    network: {factory: my_agents.mine:build}          whatever `build(spec)` returns

A factory is imported only where the user names it: in a preset, on the command line. A checkpoint or run folder keeps
its name for people to read, but never has it imported. `policy.network` builds what is described.
"""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from sparring.core.code import blamed, load_code
from sparring.core.errors import InputError
from sparring.core.game import Game
from sparring.core.player import is_player
from sparring.core.settings import convert
from sparring.core.spec import GameSpec

Factory = Callable[..., Any]
"""User code that builds a policy (see `sparring.policy`), a torch module, for rows of a spec; see `build_with`."""

FACTORY = "factory"
_POLICY = "a function that builds a policy"


def check_network(network: Mapping[str, Any], game: Game, *, where: str) -> None:
    """Raises `InputError` unless `network`, of the configuration `where`, describes one that can be built."""
    if FACTORY not in network:
        convert(network, game.network, where=where, under="network", see=f"sparring settings {game.name}")
        return
    if len(network) > 1:
        raise InputError(f"{where}: network.{FACTORY} stands alone: its network's sizes are your code's")
    load_factory(str(network[FACTORY]))


def same_network(network: Mapping[str, Any], other: Mapping[str, Any], game: Game) -> bool:
    """Whether both describe one network, be it in other words: a default that is written out changes nothing."""
    if FACTORY in network or FACTORY in other:
        return dict(network) == dict(other)
    first: object = convert(network, game.network, where="network")
    return first == convert(other, game.network, where="network")


def load_factory(text: str) -> Factory:
    """The callable that `package.module:function` names, installed or in the current folder."""
    factory = load_code(text, what=_POLICY)
    if is_player(factory):
        raise InputError(f"{text}: it is a player, with `act`; allowed: {_POLICY}")
    return factory


def build_with(factory: Factory, spec: GameSpec, *, name: str, seed: int = 0) -> Any:
    """What `factory` builds; raises `InputError` with the line if the user's code, known by `name`, fails.

    A parameter called `seed` gets the seed, and `spec`, or one of another name without a default, the spec of the game.
    """
    takes = _parameters(factory)
    asked = [one for one in takes if one.name in ("spec", "seed") or one.default is one.empty]
    subjects = [one.name for one in asked if one.name != "seed"]
    if len(subjects) > 1:
        raise InputError(f"{name} asks for {', '.join(subjects)}; allowed: spec, seed, and what has a default")
    values = {one.name: seed if one.name == "seed" else spec for one in asked}
    given = [values.pop(one.name) for one in asked if one.kind is one.POSITIONAL_ONLY]
    words = ["the spec of the game"] * len(subjects) + ["a seed"] * (len(asked) - len(subjects))
    with blamed(f"{name}, called with {' and '.join(words) or 'nothing'}"):
        return factory(*given, **values)


def _parameters(factory: Factory) -> list[Parameter]:
    """Those that a call can fill one by one; of compiled code that does not say, the spec alone."""
    try:
        found = signature(factory).parameters.values()
    except (TypeError, ValueError):
        return [Parameter("spec", Parameter.POSITIONAL_ONLY)]
    return [one for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
