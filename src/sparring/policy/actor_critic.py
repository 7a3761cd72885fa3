"""The common shape of a policy: an encoder, a memory core, and a head for logits and value.

A game writes an encoder and a head; this module makes them a `Policy`, feed-forward or recurrent.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sparring.policy.interface import Bins, Memory, Output, Policy
from sparring.policy.memory import Core
from sparring.policy.recall import Recall
from sparring.policy.value import expected_value


class ActorCritic(Policy):
    """encoder(observation, legal) -> (features `[k, width]`, context); head(features, context) -> (logits, value).

    `context` is whatever the head needs besides the features (board planes, entity embeddings): a tensor
    with rows first, or None. Only the features pass through the memory core. With a `support: float[bins]` the
    head's value is `[k, bins]`, the logits of a categorical value over it. With a `recall` the encoder also sees some
    fields of the previous decision.
    """

    support: Tensor | None

    def __init__(
        self,
        encoder: nn.Module,
        core: Core,
        head: nn.Module,
        *,
        support: Tensor | None = None,
        recall: Recall | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.core = core
        self.head = head
        self.recall = Recall({}) if recall is None else recall
        self.register_buffer("support", support, persistent=False)

    def initial_memory(self, rows: int) -> Memory:
        """The core's zeroed memory, and nothing recalled."""
        return self.core.initial(rows) | self.recall.initial(rows, next(self.parameters()).device)

    def step(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """One decision of k seats."""
        before, recalled = self.recall.step(observation, memory)
        features, context = self.encoder({**observation, **before}, legal)
        features, memory = self.core.step(features, memory)
        logits, value = self.head(features, context)
        return self._output(logits, value, memory | recalled)

    def unroll(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """T decisions of B seats. Encoder and head run on all T * B rows at once; only the core knows their order."""
        before, recalled = self.recall.unroll(observation, memory)
        features, context = self._encode({**observation, **before}, legal)
        carried, memory = self.core.unroll(features, memory)
        return self._decide(carried, context, memory | recalled)

    def unroll_packed(self, observation: Mapping[str, Tensor], legal: Tensor, first: Tensor) -> Output:
        """Sequences of several matches each; a new one starts where `first: bool[T, B]`."""
        before = self.recall.unroll_packed(observation, first)
        features, context = self._encode({**observation, **before}, legal)
        return self._decide(self.core.unroll_packed(features, first), context, {})

    def _encode(self, observation: Mapping[str, Tensor], legal: Tensor) -> tuple[Tensor, Tensor | None]:
        """Features `[T, B, width]`, and the context of T * B rows."""
        flat = {name: field.flatten(0, 1) for name, field in observation.items()}
        if self.checkpointing and torch.is_grad_enabled():
            features, context = checkpoint(self.encoder, flat, legal.flatten(0, 1), use_reentrant=False)
        else:
            features, context = self.encoder(flat, legal.flatten(0, 1))
        return features.view(*legal.shape[:2], -1), context

    def _decide(self, carried: Tensor, context: Tensor | None, memory: Memory) -> Output:
        """The head's output for features `[T, B, width]` from the core."""
        steps, batch = carried.shape[:2]
        logits, value = cast("tuple[Tensor, Tensor]", self.head(carried.flatten(0, 1), context))
        return self._output(logits.view(steps, batch, -1), value.view(steps, batch, *value.shape[1:]), memory)

    def _output(self, logits: Tensor, value: Tensor, memory: Memory) -> Output:
        if self.support is None:
            return Output(logits, value, memory)
        return Output(logits, expected_value(value, self.support), memory, Bins(value, self.support))


def mlp(sizes: list[int], *, last: float = 1.0) -> nn.Sequential:
    """Linear layers with ReLU between; the last layer's weights are scaled by `last` (0.01 for calm first logits)."""
    layers: list[Any] = []
    for width_in, width_out in pairwise(sizes):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
    layers.pop()
    final = layers[-1]
    nn.init.orthogonal_(final.weight, gain=last)
    nn.init.zeros_(final.bias)
    return nn.Sequential(*layers)
