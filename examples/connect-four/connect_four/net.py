"""The network: a convolution that sees lines of four, then a layer over the whole board. Only this imports torch."""

from collections.abc import Mapping

from torch import Tensor, nn

from connect_four.settings import Network
from sparring.core import GameSpec
from sparring.policy import ActorCritic, NoMemory, mlp


def connect_four_policy(spec: GameSpec, network: Network) -> ActorCritic:
    """A fresh policy. Connect Four hides nothing, so it needs no memory between decisions."""
    return ActorCritic(Encoder(spec, network), NoMemory(), Head(network.width, spec.actions))


class Encoder(nn.Module):
    """Planes `[k, 2, rows, columns]` to features `[k, width]`; the head needs no context besides."""

    def __init__(self, spec: GameSpec, network: Network) -> None:
        super().__init__()
        planes, rows, columns = spec.observation["planes"].shape
        self.layers = nn.Sequential(
            nn.Conv2d(planes, network.channels, 4),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(network.channels * (rows - 3) * (columns - 3), network.width),
            nn.ReLU(),
        )

    def forward(self, observation: Mapping[str, Tensor], legal: Tensor) -> tuple[Tensor, None]:
        """Observations come in the dtypes of the spec; `legal` follows from the planes here."""
        return self.layers(observation["planes"].float()), None


class Head(nn.Module):
    """Features `[k, width]` to logits `[k, columns]`, masked elsewhere, and a value `[k]` in -1..1."""

    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.policy = mlp([width, actions], last=0.01)  # small: a fresh policy is nearly uniform
        self.value = mlp([width, 1], last=0.01)

    def forward(self, features: Tensor, context: None) -> tuple[Tensor, Tensor]:
        """Any legal action may be given any logit: the mask is applied in one place, for every game."""
        return self.policy(features), self.value(features).tanh().squeeze(1)
