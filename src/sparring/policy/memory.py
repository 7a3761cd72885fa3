"""Memory cores: what a network carries from one of a seat's decisions to the next.

A core maps features to features and memory to memory. `NoMemory`, `LstmMemory` and `TurnMemory` share one shape, so
that a network is written once and is feed-forward or recurrent by choice.
"""

from math import gcd
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from sparring.policy.interface import Memory
from sparring.policy.turns import TurnMemory

MemoryName = Literal["none", "lstm", "transformer"]


class MemoryCore(Protocol):
    """Features `float[k, width]` in and out, memory carried beside them."""

    def initial(self, rows: int) -> Memory:
        """Zeroed memory for `rows` seats."""
        ...

    def step(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """One decision of k seats."""
        ...

    def unroll(self, features: Tensor, first: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """`features: float[T, B, width]`; memory is zeroed before rows whose `first: bool[T, B]` is set."""
        ...


class NoMemory(nn.Module):
    """Passes features through."""

    def initial(self, rows: int) -> Memory:
        """No memory."""
        return {}

    def step(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """The features themselves."""
        return features, {}

    def unroll(self, features: Tensor, first: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """The features themselves."""
        return features, {}


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

    def unroll(self, features: Tensor, first: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """T steps in order, as `step` would take them."""
        outputs = []
        for now, starts in zip(features.unbind(0), first.unbind(0), strict=True):
            keep = (~starts).unsqueeze(-1)
            memory = {name: state * keep for name, state in memory.items()}
            output, memory = self.step(now, memory)
            outputs.append(output)
        return torch.stack(outputs), memory


Core = NoMemory | LstmMemory | TurnMemory


def memory_core(kind: MemoryName, width: int, *, window: int = 16, layers: int = 1, heads: int = 4) -> Core:
    """The core called `kind`; `window`, `layers` and `heads` (fewer where they do not divide) are the transformer's."""
    if kind == "transformer":
        return TurnMemory(width, window=window, layers=layers, heads=gcd(heads, width))
    return LstmMemory(width) if kind == "lstm" else NoMemory()
