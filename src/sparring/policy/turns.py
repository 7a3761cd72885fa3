"""Memory as attention over past decisions: a causal transformer whose cache is the policy's memory.

A seat carries the inputs of each layer at its last `window` decisions. A decision attends to itself and to them, with
a learned bias for each distance. Keys and values are recomputed from the kept inputs, so that gradients reach their
weights at every decision of a segment, and so that stored memory depends only on the layers below.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparring.policy.interface import Memory


class TurnMemory(nn.Module):
    """Causal attention layers over a seat's decisions, each added to its input; they start as the identity.

    Memory: `turns: float[k, layers, window, width]`, newest last, and `seen: float[k, window]`, 1 where there is one.
    """

    def __init__(self, width: int, *, window: int, layers: int, heads: int) -> None:
        super().__init__()
        self.width = width
        self.window = window
        self.layers = nn.ModuleList([TurnLayer(width, window=window, heads=heads) for _ in range(layers)])
        back = torch.arange(window, -1, -1)
        self.register_buffer("back", back, persistent=False)
        self.back: Tensor

    def initial(self, rows: int) -> Memory:
        """Zeros: nothing seen."""
        weight = next(self.parameters())
        shape = (rows, len(self.layers), self.window, self.width)
        return {
            "turns": torch.zeros(shape, dtype=weight.dtype, device=weight.device),
            "seen": torch.zeros(rows, self.window, dtype=weight.dtype, device=weight.device),
        }

    def step(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """One decision of k seats: `float[k, width]` in and out."""
        turns, seen = memory["turns"], memory["seen"]
        visible = functional.pad(seen > 0, (0, 1), value=True).unsqueeze(1)  # [k, 1, window + 1]
        back = self.back.unsqueeze(0)
        now = features.unsqueeze(1)
        inputs = []
        for number, layer in enumerate(self.layers):
            line = torch.cat((turns[:, number], now), dim=1)
            inputs.append(line[:, 1:])
            now = layer(now, line, visible, back)
        seen = functional.pad(seen[:, 1:], (0, 1), value=1.0)
        return now.squeeze(1), {"turns": torch.stack(inputs, dim=1), "seen": seen}

    def unroll(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """T decisions of B seats at once: `float[T, B, width]` in and out."""
        steps = len(features)
        turns, seen = memory["turns"], memory["seen"]
        there = functional.pad(seen > 0, (0, steps), value=True)  # [B, window + T]
        back = torch.arange(steps, device=features.device).unsqueeze(1) + self.window
        back = back - torch.arange(self.window + steps, device=features.device)  # [T, window + T]
        visible = ((back >= 0) & (back <= self.window)) & there.unsqueeze(1)
        now = features.transpose(0, 1)
        inputs = []
        for number, layer in enumerate(self.layers):
            line = torch.cat((turns[:, number], now), dim=1)
            inputs.append(line[:, steps:])
            now = layer(now, line, visible, back.clamp(0, self.window))
        return now.transpose(0, 1), {"turns": torch.stack(inputs, dim=1), "seen": there[:, steps:].to(seen.dtype)}

    def unroll_packed(self, features: Tensor, first: Tensor) -> Tensor:
        """Sequences `float[T, B, width]` of several matches each; a new one starts where `first: bool[T, B]`."""
        steps = torch.arange(len(features), device=features.device)
        match = first.cumsum(0).transpose(0, 1)
        back = steps.unsqueeze(1) - steps
        visible = ((back >= 0) & (back <= self.window)) & (match.unsqueeze(2) == match.unsqueeze(1))
        now = features.transpose(0, 1)
        for layer in self.layers:
            now = layer(now, now, visible, back.clamp(0, self.window))
        return now.transpose(0, 1)


class TurnLayer(nn.Module):
    """Attention of decisions to earlier ones and a feed-forward step, each added to its input."""

    def __init__(self, width: int, *, window: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.distance = nn.Parameter(torch.zeros(heads, window + 1))
        self.after_attention = nn.Linear(width, width)
        self.before_feed = nn.LayerNorm(width)
        self.feed_in = nn.Linear(width, 2 * width)
        self.feed_out = nn.Linear(2 * width, width)
        for layer in (self.after_attention, self.feed_out):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, now: Tensor, line: Tensor, visible: Tensor, back: Tensor) -> Tensor:
        """Updates q decisions, `now: float[k, q, width]`, by attention to n decisions, `line: float[k, n, width]`.

        `visible: bool[k, q, n]` says which of the n each of the q may attend to, `back: int[q, n]` how many decisions
        ago they were made: every distance has a learned bias of its own.
        """
        rows, asked, width = now.shape
        query = self.query(self.before_attention(now)).view(rows, asked, self.heads, -1).transpose(1, 2)
        kept = self.key_value(self.before_attention(line)).view(rows, line.shape[1], 2, self.heads, -1)
        key, value = kept.permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.distance[:, back].unsqueeze(0).masked_fill(~visible.unsqueeze(1), float("-inf"))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        now = now + self.after_attention(mixed.transpose(1, 2).reshape(rows, asked, width))
        fed: Tensor = self.feed_out(functional.relu(self.feed_in(self.before_feed(now))))
        return now + fed
