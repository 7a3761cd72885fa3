"""The policy interface: a torch network that answers rows now and unrolls sequences in training.

Memory is part of the interface: a dict of tensors whose first axis is the row, empty for a network without
memory. The inference engine keeps it in slabs and never looks inside.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn

from sparring.core import GameSpec

Memory = dict[str, Tensor]
"""Name to `dtype[k, ...]`; `{}` for a policy without memory."""


class Bins(NamedTuple):
    """A value given as a distribution: logits `float[..., bins]` over the gains `support: float[bins]`."""

    logits: Tensor
    support: Tensor


class Output(NamedTuple):
    """A policy's output: unmasked logits `float[..., actions]`, value `float[...]`, the memory after.

    `bins` is the distribution whose mean `value` is, where the value is categorical (see `policy.value`).
    """

    logits: Tensor
    value: Tensor
    memory: Memory
    bins: Bins | None = None


class Policy(nn.Module, ABC):
    """A network that maps what a seat sees to action logits and an expected gain.

    `step` plays and `unroll` trains; they are the same function of the same weights, and a test holds them equal. A
    module that only plays needs no `unroll`, and need not derive from this class as long as it has the other methods.
    """

    checkpointing: bool = False
    """Whether `unroll` should recompute activations in the backward pass instead of keeping them; small networks may
    ignore it."""

    @abstractmethod
    def initial_memory(self, rows: int) -> Memory:
        """Memory of `rows` seats that have seen nothing: zeros."""

    @abstractmethod
    def step(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """Answers k rows: fields `[k, *shape]`, `legal: bool[k, actions]`, memory `[k, ...]`."""

    @abstractmethod
    def unroll(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """Answers B sequences of T rows: fields `[T, B, *shape]`, `legal: bool[T, B, actions]`.

        Each sequence belongs to one match and starts from its row of `memory`, `[B, ...]`.
        """

    def forward(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """`step`, under the name that torch's own tools call."""
        return self.step(observation, legal, memory)


@runtime_checkable
class Packing(Protocol):
    """A policy that can be trained on several matches in one sequence, so that short ones need no padding."""

    def unroll_packed(self, observation: Mapping[str, Tensor], legal: Tensor, first: Tensor) -> Output:
        """As `unroll`, with memory reset at the start and where `first: bool[T, B]`; the output has no memory."""
        ...


@runtime_checkable
class Versatile(Protocol):
    """A policy whose weights play more than one spec of their game: other rules, other actions."""

    def playing(self, spec: GameSpec) -> Policy:
        """The same weights for rows of `spec`, always as the same object; raises `InputError`."""
        ...


@runtime_checkable
class Absorbing(Protocol):
    """A policy that normalises its inputs by running statistics, kept in buffers and saved with the weights."""

    def absorb(self, observation: Mapping[str, Tensor]) -> None:
        """Updates the statistics with rows `[k, *shape]`. Learners call it once, at the end of each update."""
        ...


def policy_for(policy: Policy, spec: GameSpec) -> Policy:
    """`policy` for rows of `spec`: itself, unless it plays several specs."""
    return policy.playing(spec) if isinstance(policy, Versatile) else policy


def set_checkpointing(policy: nn.Module, on: bool) -> None:
    """Turns activation checkpointing on or off in a policy and all its parts that support it."""
    for module in policy.modules():
        if isinstance(getattr(module, "checkpointing", None), bool):
            module.checkpointing = on  # type: ignore[assignment]


def parameter_count(policy: nn.Module) -> int:
    """How many weights a policy has."""
    return sum(parameter.numel() for parameter in policy.parameters())


def parameter_text(policy: nn.Module) -> str:
    """As in `237,345 weights (encoder 204,960, core 0, head 32,385)`."""
    parts = ", ".join(f"{name} {parameter_count(part):,}" for name, part in policy.named_children())
    return f"{parameter_count(policy):,} weights ({parts})"
