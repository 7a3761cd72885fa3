"""Memory cores: what a network carries from one of a seat's decisions to the next.

A core maps features to features and memory to memory. `NoMemory`, `LstmMemory`, `TurnMemory` and `CausalMemory` have
the same methods, so that a network is written once and is feed-forward or recurrent by choice:

- `initial(rows)`: zeroed memory of that many seats;
- `step(features: float[k, width], memory)`: one decision of k seats;
- `unroll(features: float[T, B, width], memory)`: T decisions of B seats, the same as T calls of `step`;
- `unroll_packed(features: float[T, B, width], first: bool[T, B])`: the same for sequences of several matches, with
  memory reset where `first`.
"""

from math import gcd
from typing import Literal

import torch
from torch import Tensor, nn

from sparring.policy.causal import CausalMemory
from sparring.policy.interface import Memory
from sparring.policy.turns import TurnMemory

MemoryName = Literal["none", "lstm", "transformer"]


class NoMemory(nn.Module):
    """Passes features through."""

    def initial(self, rows: int) -> Memory:
        """No memory."""
        return {}

    def step(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """The features themselves."""
        return features, {}

    def unroll(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """The features themselves."""
        return features, {}

    def unroll_packed(self, features: Tensor, first: Tensor) -> Tensor:
        """The features themselves."""
        return features


class LstmMemory(nn.Module):
    """One LSTM layer with a residual path: features + LSTM(features)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.cell = nn.LSTMCell(width, width)

    def initial(self, rows: int) -> Memory:
        """Zeroed hidden and cell state, `float[rows, width]` each."""
        weight = self.cell.weight_hh
        zeros = torch.zeros(rows, self.width, dtype=weight.dtype, device=weight.device)
        return {"hidden": zeros, "cell": zeros.clone()}

    def step(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """One LSTM step."""
        hidden, cell = self.cell(features, (memory["hidden"], memory["cell"]))
        return features + hidden, {"hidden": hidden, "cell": cell}

    def unroll(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """T LSTM steps, one after the other."""
        outputs = []
        for now in features.unbind(0):
            output, memory = self.step(now, memory)
            outputs.append(output)
        return torch.stack(outputs), memory

    def unroll_packed(self, features: Tensor, first: Tensor) -> Tensor:
        """T LSTM steps, with memory reset where another match begins."""
        outputs, memory = [], self.initial(features.shape[1])
        for now, fresh in zip(features.unbind(0), first.unsqueeze(-1).unbind(0), strict=True):
            memory = {name: state.masked_fill(fresh, 0) for name, state in memory.items()}
            output, memory = self.step(now, memory)
            outputs.append(output)
        return torch.stack(outputs)


Core = NoMemory | LstmMemory | TurnMemory | CausalMemory


def memory_core(kind: MemoryName, width: int, *, window: int = 16, layers: int = 1, heads: int = 4) -> Core:
    """The core called `kind`; `window`, `layers` and `heads` (fewer if they do not divide) are the transformer's."""
    if kind == "transformer":
        return TurnMemory(width, window=window, layers=layers, heads=gcd(heads, width))
    return LstmMemory(width) if kind == "lstm" else NoMemory()
