"""The network of the small games: a perceptron over the information state."""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn import functional

from sparring.core import GameSpec
from sparring.games.poker.settings import PokerNetwork
from sparring.policy import ActorCritic, memory_core, mlp, value_support


def poker_policy(spec: GameSpec, network: PokerNetwork, *, most: float) -> ActorCritic:
    """A fresh policy for `spec`; `most` is the largest win."""
    support = value_support(-most, most) if network.value == "categorical" else None
    features = spec.observation["state"].shape[0]
    return ActorCritic(
        PokerEncoder(features, network.width, network.layers),
        memory_core(network.memory, network.width),
        PokerHead(network.width, spec.actions, values=1 if support is None else len(support)),
        support=support,
    )


class PokerEncoder(nn.Module):
    """`state` of `[k, features]` to features `[k, width]`."""

    def __init__(self, features: int, width: int, layers: int) -> None:
        super().__init__()
        self.layers = mlp([features, *[width] * layers])

    def forward(self, observation: Mapping[str, Tensor], legal: Tensor) -> tuple[Tensor, None]:
        """The head needs nothing besides the features."""
        return functional.relu(self.layers(observation["state"])), None


class PokerHead(nn.Module):
    """Logits `[k, actions]`, and the value `[k]` or its bins `[k, values]`, from the features."""

    def __init__(self, width: int, actions: int, *, values: int) -> None:
        super().__init__()
        self.policy = mlp([width, actions], last=0.01)
        self.value = mlp([width, values], last=0.01)

    def forward(self, features: Tensor, context: None) -> tuple[Tensor, Tensor]:
        """Features `[k, width]` out of the memory core."""
        value = self.value(features)
        return self.policy(features), value.squeeze(1) if value.shape[1] == 1 else value
