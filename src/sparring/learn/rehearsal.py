"""Rehearsal: a tie to other players' choices, which make up some of the rows of every gradient step."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from sparring.core import Episodes, masked_log_softmax
from sparring.inference import Device
from sparring.learn.batches import unroll
from sparring.learn.choices import choice_batches, chosen_actions
from sparring.learn.imitation import imitation_losses
from sparring.learn.ties import Tied
from sparring.policy import Policy, policy_for


class Rehearsal:
    """Imitation of episodes from `draw`, one batch per gradient step; `share` is their part of its rows.

    They count in proportion: up to its scale, the step's loss is the mean over both kinds of rows.
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
        output = unroll(policy_for(self._policy, batch.spec), batch, self._device)
        losses = imitation_losses(
            masked_log_softmax(output.logits.float(), batch.legal, xp=torch),
            batch.legal,
            self._device.tensor(chosen_actions(episodes, batch.rows)),
            batch.valid.float(),
        )
        named = {"imitation_loss": losses["policy_loss"], "imitation_top1": losses["top1"]}
        return self._weight * losses["policy_loss"], named
