"""Rehearsal: a tie to choices of others. Some of the rows of every gradient step are theirs, and are imitated."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from sparring.core import Episodes, masked_log_softmax
from sparring.inference import Device
from sparring.learn.choices import choice_batches, chosen_actions
from sparring.learn.imitation import imitation_losses
from sparring.learn.ties import Tied
from sparring.policy import Packing, Policy, policy_for


class Rehearsal:
    """Imitation of episodes that `draw` gives, one batch a gradient step; `share` is their part of its rows.

    They count for as much as they are: the step's loss is the mean over both kinds of rows, but for its size.
    """

    def __init__(self, policy: Policy, draw: Callable[[], Episodes], *, share: float, device: Device) -> None:
        self._policy = policy
        self._draw = draw
        self._weight = share / (1 - share)
        self._device = device

    def loss(self, tied: Tied) -> tuple[Tensor, dict[str, Tensor]]:
        """The imitation loss of the next episodes."""
        episodes = self._draw()
        (batch,) = choice_batches(
            episodes,
            self._policy,
            minibatch_size=2 * episodes.rows + int(episodes.headers.lengths.max()) ** 2,
            length=int(episodes.headers.lengths.max()),
            device=self._device,
            rng=np.random.default_rng(0),
        )
        policy = policy_for(self._policy, batch.spec)
        with self._device.autocast():
            if batch.first is not None and isinstance(policy, Packing):
                output = policy.unroll_packed(batch.observation, batch.legal, batch.first)
            else:
                output = policy.unroll(batch.observation, batch.legal, batch.memory)
        losses = imitation_losses(
            masked_log_softmax(output.logits.float(), batch.legal, xp=torch),
            batch.legal,
            self._device.tensor(chosen_actions(episodes, batch.rows)),
            batch.valid.float(),
        )
        named = {"imitation_loss": losses["policy_loss"], "imitation_top1": losses["top1"]}
        return self._weight * losses["policy_loss"], named
