"""Memory as a causal transformer over a match's decisions, whose key-value cache is the policy's memory.

Each decision is one token: the encoder's features, widened to the transformer's own width. It attends to itself and to
the `window - 1` decisions before it in each layer, so that with many layers a match is seen far beyond the window.
Positions are rotary, so that only distances between decisions count.

A seat carries the keys and values of its last `window` decisions, in a ring buffer, so that a decision costs one step
however long the match. `TurnMemory` keeps the layers' inputs instead and recomputes keys and values; that suits one
shallow layer trained from stored memory, this suits deep networks trained on whole matches.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from sparring.policy.interface import Memory

_BASE = 10_000.0
"""Longest wavelength of the rotary positions, in decisions (times 2 pi)."""


class CausalMemory(nn.Module):
    """features + transformer(features): `layers` of `inner` width between two linear maps.

    Memory: `cache: float[k, layers, 2, window, inner]`, keys and values, decision n at place n mod window, and `count:
    float[k]`, how many decisions there have been. Under autocast the cache has the lower precision of its contents.
    """

    def __init__(self, width: int, *, inner: int, window: int, layers: int, heads: int) -> None:
        super().__init__()
        self.inner = inner
        self.window = window
        self.checkpointing = False
        """Whether unrolls recompute each layer's activations in the backward pass instead of keeping them."""
        self.enter = nn.Linear(width, inner)
        self.layers = nn.ModuleList([CausalLayer(inner, heads=heads, depth=layers) for _ in range(layers)])
        self.norm = nn.LayerNorm(inner)
        self.leave = nn.Linear(inner, width)
        nn.init.normal_(self.leave.weight, std=0.1 * inner**-0.5)
        nn.init.zeros_(self.leave.bias)
        half = inner // heads // 2
        self.register_buffer("speed", _BASE ** -(torch.arange(half) / half), persistent=False)
        self.speed: Tensor

    def initial(self, rows: int) -> Memory:
        """Zeros: nothing seen."""
        weight = self.enter.weight
        kind = weight.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
        shape = (rows, len(self.layers), 2, self.window, self.inner)
        return {
            "cache": torch.zeros(shape, dtype=dtype, device=weight.device),
            "count": torch.zeros(rows, dtype=torch.float32, device=weight.device),
        }

    def step(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """One decision of k seats: `float[k, width]` in and out."""
        cache, count = memory["cache"], memory["count"].long()
        place = torch.arange(self.window, device=features.device)
        now = (place == (count % self.window).unsqueeze(1)).unsqueeze(-1)  # [k, window, 1] where this decision goes
        visible = (place <= count.unsqueeze(1))[:, None, None]
        turn = self._turn(count.unsqueeze(1))
        line = self.enter(features).float().unsqueeze(1)
        kept = []
        for number, module in enumerate(self.layers):
            layer = cast(CausalLayer, module)
            query, key, value = layer.project(line, turn)
            key = torch.where(now, key, cache[:, number, 0].to(key.dtype))
            value = torch.where(now, value, cache[:, number, 1].to(value.dtype))
            kept += [key, value]
            line = layer.attend(line, query, key, value, visible)
        after = torch.stack(kept, dim=1).view(cache.shape)
        return features + self._leave(line.squeeze(1)), {"cache": after, "count": memory["count"] + 1}

    def unroll(self, features: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """T decisions of B seats at once: `float[T, B, width]` in and out."""
        steps, cache, count = len(features), memory["cache"], memory["count"].long().unsqueeze(1)
        ring = torch.arange(self.window, device=features.device)
        new = torch.arange(steps, device=features.device)
        # Decision numbers of the ring's entries (below 0: empty) and of the new decisions.
        held = count - 1 - (count - 1 - ring) % self.window
        now = count + new
        numbers = torch.cat((held, now), dim=1)
        back = now.unsqueeze(2) - numbers.unsqueeze(1)  # [B, T, window + T]
        visible = (back >= 0) & (back < self.window) & (numbers >= 0).unsqueeze(1)
        line, kept = self._layers(features, self._turn(now), visible, cache)
        after = count + steps
        number = after - 1 - (after - 1 - ring) % self.window  # the decision at each place of the ring afterwards
        source = torch.where(number >= count, self.window + number - count, ring)
        whole = torch.cat((cache.to(kept.dtype), kept), dim=3)
        at = source[:, None, None, :, None].expand(-1, *whole.shape[1:3], -1, self.inner)
        return line, {"cache": whole.gather(3, at), "count": memory["count"] + steps}

    def unroll_packed(self, features: Tensor, first: Tensor) -> Tensor:
        """Sequences `float[T, B, width]` of several matches each; a new one starts where `first: bool[T, B]`."""
        steps = torch.arange(len(features), device=features.device)
        start = torch.where(first, steps.unsqueeze(1), 0).cummax(0).values.transpose(0, 1)  # [B, T]
        back = steps.unsqueeze(1) - steps
        visible = ((back >= 0) & (back < self.window)) & (steps >= start.unsqueeze(2))
        return self._layers(features, self._turn(steps - start), visible, None)[0]

    def _layers(
        self, features: Tensor, turn: tuple[Tensor, Tensor], visible: Tensor, cache: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Features `[T, B, width]` through all layers; keys and values `[B, layers, 2, T, inner]` if there is a cache.

        `visible: bool[B, T, n]` says which of the n decisions, those of the cache first, each of the T attends to.
        """
        line = self.enter(features).float().transpose(0, 1)
        visible = visible.unsqueeze(1)
        kept = []
        for number, layer in enumerate(self.layers):
            past = None if cache is None else cache[:, number]
            if self.checkpointing and torch.is_grad_enabled():
                line, own = checkpoint(layer, line, turn, visible, past, use_reentrant=False)
            else:
                line, own = layer(line, turn, visible, past)
            if cache is not None:
                kept.append(own)
        out = features + self._leave(line).transpose(0, 1)
        return out, torch.stack(kept, dim=1) if kept else out.new_empty(0)

    def _leave(self, line: Tensor) -> Tensor:
        left: Tensor = self.leave(self.norm(line))
        return left

    def _turn(self, number: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines `float[B, 1, n, head / 2]` of the decisions numbered `int[B, n]`."""
        angle = (number.unsqueeze(-1) * self.speed).unsqueeze(1)
        return angle.cos(), angle.sin()


class CausalLayer(nn.Module):
    """Attention of decisions to earlier ones and a feed-forward step of twice the width, each added to its input."""

    def __init__(self, width: int, *, heads: int, depth: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.joint = nn.Linear(width, 3 * width)
        self.after_attention = nn.Linear(width, width)
        self.before_feed = nn.LayerNorm(width)
        self.feed_in = nn.Linear(width, 2 * width)
        self.feed_out = nn.Linear(2 * width, width)
        for layer in (self.joint, self.after_attention, self.feed_in, self.feed_out):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
            nn.init.zeros_(layer.bias)
        for layer in (self.after_attention, self.feed_out):  # so that the sum over all layers keeps its size
            nn.init.normal_(layer.weight, std=(2 * depth * layer.in_features) ** -0.5)

    def forward(
        self, line: Tensor, turn: tuple[Tensor, Tensor], visible: Tensor, past: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Decisions `float[B, T, width]` after this layer, and their keys and values `[B, 2, T, width]`.

        `past: float[B, 2, n, width]` are keys and values that go before them.
        """
        query, key, value = self.project(line, turn)
        kept = torch.stack((key, value), dim=1)
        if past is not None:
            key = torch.cat((past[:, 0].to(key.dtype), key), dim=1)
            value = torch.cat((past[:, 1].to(value.dtype), value), dim=1)
        return self.attend(line, query, key, value, visible), kept

    def project(self, line: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries `[B, heads, T, head]`, keys and values `[B, T, width]` of decisions, rotary positions applied."""
        query, key, value = self.joint(self.before_attention(line)).chunk(3, dim=-1)
        return _turned(self._split(query), turn), _joined(_turned(self._split(key), turn)), value

    def attend(self, line: Tensor, query: Tensor, key: Tensor, value: Tensor, visible: Tensor) -> Tensor:
        """The decisions after attention to keys and values `[B, n, width]`, and after the feed-forward step."""
        mixed = functional.scaled_dot_product_attention(query, self._split(key), self._split(value), attn_mask=visible)
        line = line + self.after_attention(_joined(mixed))
        fed: Tensor = self.feed_out(functional.gelu(self.feed_in(self.before_feed(line))))
        return line + fed

    def _split(self, rows: Tensor) -> Tensor:
        """`[B, heads, n, head]` of `[B, n, width]`."""
        return rows.view(*rows.shape[:-1], self.heads, -1).transpose(1, 2)


def _joined(rows: Tensor) -> Tensor:
    """`[B, n, width]` of `[B, heads, n, head]`."""
    return rows.transpose(1, 2).flatten(2)


def _turned(rows: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary positions: rotates pairs of numbers of `[B, heads, n, head]` by the angles of their decisions."""
    cosine, sine = turn
    left, right = rows.float().chunk(2, dim=-1)
    return torch.cat((left * cosine - right * sine, left * sine + right * cosine), dim=-1).to(rows.dtype)
