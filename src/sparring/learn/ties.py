"""Ties: auxiliary losses that hold a policy to something besides its own gains.

A tie adds a loss to every gradient step. All learners take them alike: `update(episodes, progress=..., ties=[...])`.
The anchor is the KL divergence from the policy to a fixed one (say, what it was before self-play); a magnet's portfolio
ties it to its own past, and `rehearsal` to other players' choices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sparring.core import Episodes, GameSpec, masked_log_softmax
from sparring.inference import Device
from sparring.learn.batches import Batch, Indices
from sparring.learn.outputs import row_outputs
from sparring.policy import Policy, policy_for


@dataclass(frozen=True)
class Tied:
    """The rows of one gradient step, `[..., k]` or `[T, B]`, as ties see them."""

    spec: GameSpec
    observation: Mapping[str, Tensor]
    legal: Tensor
    log_probs: Tensor
    """`float[..., actions]` of the policy that learns, with their gradient."""
    valid: Tensor
    """`bool[...]` false where padding."""
    episodes: Episodes | None = None
    """What the rows were taken from; None if each is on its own."""
    rows: Indices | None = None
    """`intp[...]` which rows of `episodes` they are."""

    @classmethod
    def of(cls, batch: Batch, episodes: Episodes, log_probs: Tensor) -> "Tied":
        """A whole batch of rows of `episodes`."""
        return cls(batch.spec, batch.observation, batch.legal, log_probs, batch.valid, episodes, batch.rows)

    def mean(self, values: Tensor) -> Tensor:
        """The mean of `values: float[...]` over the valid rows."""
        return (values * self.valid).sum() / self.valid.sum()


class Tie(Protocol):
    """An auxiliary loss."""

    def loss(self, tied: Tied) -> tuple[Tensor, dict[str, Tensor]]:
        """What to add to the loss of a gradient step, and metrics."""
        ...


def add_ties(loss: Tensor, losses: dict[str, Tensor], ties: Sequence[Tie], tied: Tied) -> Tensor:
    """`loss` with what `ties` add to it; their metrics join `losses`."""
    for tie in ties:
        more, metrics = tie.loss(tied)
        loss = loss + more
        losses |= metrics
    return loss


class Anchor:
    """The KL divergence from the policy to a fixed one, both under the legal mask."""

    def __init__(self, policy: Policy, *, kl: float, device: Device) -> None:
        self.kl = kl
        """The coefficient of the divergence in the loss."""
        self._policy = policy.to(device.torch_device).requires_grad_(False)
        self._device = device
        self._said: tuple[Episodes, Tensor] | None = None
        """The episodes of the last gradient step, and the log-probabilities of their rows."""

    def loss(self, tied: Tied) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean divergence over the step's rows, times the coefficient; skipped once that is 0."""
        if not self.kl:
            return tied.log_probs.new_zeros(()), {}
        divergence = tied.mean(kl_divergence(tied.log_probs, self._log_probs(tied), tied.legal))
        return self.kl * divergence, {"anchor_kl": divergence}

    def _log_probs(self, tied: Tied) -> Tensor:
        """`float[..., actions]` the anchor's log-probabilities of the rows."""
        if tied.episodes is None or tied.rows is None:
            return self._alone(tied)
        if self._said is None or self._said[0] is not tied.episodes:
            self._said = (tied.episodes, row_outputs(self._policy, tied.episodes, device=self._device)[0])
        return self._said[1][self._device.tensor(tied.rows)]

    @torch.no_grad()
    def _alone(self, tied: Tied) -> Tensor:
        """The same for rows `[k]` on their own, each as the first of its match."""
        seen = {name: field.unsqueeze(0) for name, field in tied.observation.items()}
        with self._device.autocast():
            output = policy_for(self._policy, tied.spec).unroll(
                seen, tied.legal.unsqueeze(0), self._policy.initial_memory(len(tied.legal))
            )
        log_probs: Tensor = masked_log_softmax(output.logits[0].float(), tied.legal, xp=torch)
        return log_probs


def kl_divergence(log_probs: Tensor, reference_log_probs: Tensor, legal: Tensor) -> Tensor:
    """`float[...]` KL divergence from `log_probs` to `reference_log_probs`, both `float[..., actions]`."""
    return torch.where(legal, log_probs.exp() * (log_probs - reference_log_probs), 0.0).sum(-1)
