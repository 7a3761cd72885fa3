"""Networks made from their descriptions; see `core.networks`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from sparring.core import Game, GameSpec, InputError
from sparring.core.networks import FACTORY, build_with, load_factory
from sparring.core.settings import convert
from sparring.policy.interface import Output, policy_for

_ROWS = 2
_CALLS = ("initial_memory", "step", "unroll")


def build_network(network: Mapping[str, Any], game: Game, spec: GameSpec) -> Any:
    """A fresh policy, as `network` describes it; raises `InputError` if it does not answer rows of `spec`."""
    if FACTORY in network:
        name = str(network[FACTORY])
        policy = build_with(load_factory(name), spec, name=name)
    else:
        name = f"the network of {game.name}"
        policy = game.policy(spec, convert(network, game.network, where="network"))
    missing = [call for call in _CALLS if not callable(getattr(policy, call, None))]
    if not isinstance(policy, nn.Module) or missing:
        raise InputError(f"{name}: training needs a torch module with {', '.join(missing) or 'weights'}")
    wrong = shape_fault("step", _first_output(policy, spec), (_ROWS,), spec.actions)
    if wrong is not None:
        raise InputError(f"{name}: {wrong}")
    return policy


def shape_fault(call: str, output: Output, rows: tuple[int, ...], actions: int) -> str | None:
    """What is wrong with the shapes that `call` gives; None if logits are `[*rows, actions]` and values `[*rows]`."""
    for name, shape in (("logits", [*rows, actions]), ("value", [*rows])):
        found = getattr(output, name, None)
        seen = list(found.shape) if isinstance(found, Tensor) else f"a {type(found).__name__}"
        if seen != shape:
            return f"{call} must give {name} of shape {shape}, got {seen}"
    return None


def _first_output(policy: Any, spec: GameSpec) -> Output:
    """What `policy` answers to rows of zeros; nothing random that comes later depends on it."""
    observation = {name: torch.as_tensor(field.zeros(_ROWS)) for name, field in spec.observation.items()}
    legal = torch.ones(_ROWS, spec.actions, dtype=torch.bool)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        playing = policy_for(policy, spec)
        return playing.step(observation, legal, playing.initial_memory(_ROWS))
