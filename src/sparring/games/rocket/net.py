"""The network of Rocket League: actor and critic over what a seat sees, feed-forward or with an LSTM.

Observations are normalised by running statistics that are buffers of the policy: they are saved with the
weights, travel with them, and change only when `absorb` is called, never while a batch is answered.
"""

from collections.abc import Mapping
from math import prod
from typing import cast

import torch
from torch import Tensor, nn

from sparring.core import GameSpec, InputError
from sparring.games.rocket.actions import JUMP, action_table
from sparring.games.rocket.network import RocketNetwork
from sparring.policy import ActorCritic, memory_core, mlp

JUMP_BIAS = -3.0
"""On the logits of actions that jump, at the start. A car that draws actions evenly jumps three times a second and is
in the air four fifths of the time, where it cannot learn to drive; with this it jumps every few seconds."""


CONSTANT = 1e-8
"""Inputs of less variance than this have never changed."""
CLIP = 10.0
"""Normalised inputs are kept within plus and minus this."""


class Normalise(nn.Module):
    """(x - mean) / deviation, clipped to ±10, by statistics that `absorb` updates.

    An input that was constant in everything absorbed is 0 whatever its value: weights that have only ever seen it
    constant have learned nothing about it.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, flat: Tensor) -> Tensor:
        """`float[k, width]` in and out."""
        return ((flat - self.mean) * self.scale).clamp(-CLIP, CLIP)

    @property
    def scale(self) -> Tensor:
        """`float[width]`: what the distance from the mean is multiplied by."""
        return torch.where(self.variance > CONSTANT, torch.rsqrt(self.variance + 1e-2), 0.0)

    @torch.no_grad()
    def absorb(self, flat: Tensor) -> None:
        """Takes rows `float[k, width]` into the statistics, weighing all rows ever seen alike."""
        rows = float(len(flat))
        variance, mean = torch.var_mean(flat.float(), dim=0, unbiased=False)
        total = self.count + rows
        delta = mean - self.mean
        spread = self.variance * self.count + variance * rows + delta**2 * self.count * rows / total
        self.variance.copy_(spread / total)
        self.mean.add_(delta * rows / total)
        self.count.copy_(total)


class Encoder(nn.Module):
    """Everything a seat sees, normalised, to features `float[k, width]` for the actor and the critic."""

    def __init__(self, spec: GameSpec, network: RocketNetwork) -> None:
        super().__init__()
        self.names = ["own"] if "own" in spec.observation else sorted(spec.observation)
        inputs = sum(prod(spec.observation[name].shape) for name in self.names)
        self.normalise = Normalise(inputs)
        self.attention = CarAttention(spec, network.width // 4) if network.kind == "attention" else None
        wide = inputs if self.attention is None else inputs + self.attention.width
        sizes = [wide, *[network.width] * network.layers]
        self.actor = nn.Sequential(*mlp(sizes), nn.ReLU())
        self.critic = nn.Sequential(*mlp(sizes), nn.ReLU()) if network.separate else None

    def flat(self, observation: Mapping[str, Tensor]) -> Tensor:
        """`float[k, inputs]`, fields in the order of their names."""
        return torch.cat([observation[name].flatten(1) for name in self.names], dim=1)

    def forward(self, observation: Mapping[str, Tensor], legal: Tensor) -> tuple[Tensor, Tensor | None]:
        """Features for the actor, and as context the critic's own where it has layers of its own."""
        flat = self.normalise(self.flat(observation))
        if self.attention is not None:
            flat = torch.cat([flat, self.attention(flat, observation["cars"][..., 0] > 0)], dim=1)
        return self.actor(flat), None if self.critic is None else self.critic(flat)


class CarAttention(nn.Module):
    """The own car looks at all cars: one number of features however many there are, in whatever order."""

    kinds: Tensor

    def __init__(self, spec: GameSpec, width: int) -> None:
        super().__init__()
        if "cars" not in spec.observation or "own" in spec.observation:
            raise InputError("network.kind: attention needs observation: default or positions, which list the cars")
        self.places, self.features = spec.observation["cars"].shape
        self.width = width
        self.embed = nn.Sequential(nn.Linear(self.features, width), nn.ReLU(), nn.Linear(width, width))
        self.team = nn.Parameter(torch.randn(3, width) * 0.1)
        self.query = nn.Linear(width, width)
        self.keys = nn.Linear(width, 2 * width)
        kinds = torch.tensor([0] + [1] * (self.places // 2 - 1) + [2] * (self.places // 2))
        self.register_buffer("kinds", kinds, persistent=False)

    def forward(self, flat: Tensor, present: Tensor) -> Tensor:
        """`float[k, width]` of `flat: float[k, inputs]`, the cars first in it, and `present: bool[k, places]`."""
        cars = flat[:, : self.places * self.features].view(-1, self.places, self.features)
        embedded = self.embed(cars) + self.team[self.kinds]
        query = self.query(embedded[:, 0]).unsqueeze(1)
        keys, values = self.keys(embedded).chunk(2, dim=2)
        scores = (query * keys).sum(dim=2) / self.width**0.5
        weights = scores.masked_fill(~present, -1e9).softmax(dim=1)
        return cast("Tensor", (weights.unsqueeze(2) * values).sum(dim=1))


class Head(nn.Module):
    """Logits from the actor's features; value from the critic's, and from what the memory carries."""

    def __init__(self, spec: GameSpec, network: RocketNetwork) -> None:
        super().__init__()
        self.joined = network.separate and network.memory != "none"
        self.logits = mlp([network.width, spec.actions], last=0.01)
        table = action_table(str(spec.settings["actions"]))
        if len(table) == spec.actions:
            last = cast("nn.Linear", self.logits[-1])
            with torch.no_grad():
                last.bias.copy_(torch.from_numpy(JUMP_BIAS * table[:, JUMP]))
        self.value = mlp([network.width * (2 if self.joined else 1), 1], last=0.1)

    def forward(self, features: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
        """`float[k, actions]`, `float[k]`."""
        seen = features if context is None else torch.cat([context, features], dim=1) if self.joined else context
        return self.logits(features), self.value(seen).squeeze(1)


class RocketPolicy(ActorCritic):
    """An actor-critic that keeps statistics of what it sees."""

    def absorb(self, observation: Mapping[str, Tensor]) -> None:
        """Takes rows `[k, ...]` into the statistics that normalise observations; call it between updates only."""
        encoder = cast("Encoder", self.encoder)
        encoder.normalise.absorb(encoder.flat(observation))


def rocket_policy(spec: GameSpec, network: RocketNetwork) -> RocketPolicy:
    """A fresh policy for rows of `spec`."""
    return RocketPolicy(Encoder(spec, network), memory_core(network.memory, network.width), Head(spec, network))
