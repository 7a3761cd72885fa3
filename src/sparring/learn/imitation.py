"""Imitation: teach the network what others chose, and how their matches ended.

A record of a match does not always show the choice. What it leaves open is a set of actions, of which one was chosen:
the loss is the negative log of the whole set's probability, so that nothing is guessed. A set of one is plain
cross-entropy.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes, masked_log_softmax
from sparring.core.episodes import SegmentMemory, unpack_mask
from sparring.core.settings import Count, Fraction, NonNegative
from sparring.inference import Device
from sparring.learn import parallel
from sparring.learn.batches import Batch, batches
from sparring.learn.learner import mean_metrics
from sparring.learn.optimiser import Optimiser, OptimiserSettings
from sparring.policy import Policy, value_error


class ImitationSettings(OptimiserSettings, frozen=True, kw_only=True, tag_field="kind", tag="imitation"):
    """Imitation of the episodes that `data` names. Each comment says what raising the value does."""

    batch_size: Count = 16384
    """Decisions for each update: raising it makes metrics rarer and steadier."""
    minibatch_size: Count = 1024
    """Decisions for each gradient step: raising it makes steps less noisy and fewer."""
    segment_length: Count = 32
    """Decisions in a row that a network with memory is trained on: raising it teaches a longer memory."""
    value_coef: NonNegative = 0.5
    """Raising it makes the value loss count for more beside the policy loss."""
    label_smoothing: Fraction = 0.0
    """The part of the target that is spread over all legal actions: raising it keeps the policy from certainty."""
    loser_weight: NonNegative = 1.0
    """What a choice of a player who lost counts beside one of a player who won: below 1, winners are imitated more."""
    holdout: Fraction = 0.05
    """The part of the matches that is never trained on, and on which the policy is validated."""


class Imitation:
    """The imitation learner."""

    def __init__(self, policy: Policy, settings: ImitationSettings, *, device: Device, seed: int) -> None:
        self._settings = settings
        self._device = device
        self._rng = np.random.default_rng(seed)
        self._recurrent = bool(policy.initial_memory(1))
        self._optimiser = Optimiser(policy, settings, device=device)

    @property
    def policy(self) -> Policy:
        """The policy being trained."""
        return self._optimiser.policy

    def update(self, episodes: Episodes, *, progress: float) -> dict[str, float]:
        """Goes once over `episodes`, which begin anew in memory."""
        learning_rate = self._optimiser.schedule(progress)
        steps = [self._step(batch, episodes) for batch in self._batches(episodes)]
        self._optimiser.absorb(episodes)
        return mean_metrics(steps) | {"learning_rate": learning_rate, "gradient_steps": float(len(steps))}

    @torch.no_grad()
    def validate(self, episodes: Episodes) -> dict[str, float]:
        """How well the policy foretells `episodes`, from which nothing is learned."""
        found = [(self._losses(batch, episodes)[0], int(batch.valid.sum())) for batch in self._batches(episodes)]
        total = sum(rows for _, rows in found)
        return {name: sum(float(losses[name]) * rows for losses, rows in found) / total for name in found[0][0]}

    def _batches(self, episodes: Episodes) -> list[Batch]:
        """Minibatches; those of a network with memory are whole episodes or windows, from no memory on."""
        if self._recurrent:
            length = int(episodes.headers.lengths.max())
            fresh = self.policy.initial_memory(len(episodes))
            memory = SegmentMemory({name: tensor.cpu().numpy() for name, tensor in fresh.items()})
            episodes = replace(episodes, segment=length, memory=memory)
        size = self._settings.minibatch_size
        return list(batches(episodes, minibatch_size=size, device=self._device, rng=self._rng))

    def _step(self, batch: Batch, episodes: Episodes) -> dict[str, float]:
        """One gradient step. Returns its metrics."""
        losses, suspects = self._losses(batch, episodes)
        loss = losses["policy_loss"] + self._settings.value_coef * losses["value_loss"]
        grad_norm = self._optimiser.step(loss * parallel.share(batch.valid.sum()), suspects)
        return {name: float(part.detach()) for name, part in losses.items()} | {"grad_norm": grad_norm}

    def _losses(self, batch: Batch, episodes: Episodes) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        outcome = np.repeat(episodes.headers.outcome, episodes.headers.lengths)
        target = batch.pick(outcome, self._device)
        output = self._optimiser.unroll(batch)
        weight = torch.where(target < 0, self._settings.loser_weight, 1.0) * batch.valid
        losses = imitation_losses(
            output.logits.float(),
            batch.legal,
            self._device.tensor(chosen_actions(episodes, batch.rows)),
            weight,
            label_smoothing=self._settings.label_smoothing,
        )
        errors = value_error(output, target)
        losses["value_loss"] = (errors * batch.valid).sum() / batch.valid.sum()
        return losses, batch.inputs | {"logits": output.logits, "value": output.value}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights, optimiser, and the order of minibatches."""
        tensors, values = self._optimiser.state()
        return tensors, {"optimiser": values, "rng": self._rng.bit_generator.state}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._optimiser.load(tensors, values["optimiser"])
        self._rng.bit_generator.state = values["rng"]


def chosen_actions(episodes: Episodes, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """`bool[..., actions]` the actions of `rows: intp[...]`, or all that they may have been where that is open."""
    steps, actions = episodes.steps, episodes.spec.actions
    if steps.consistent is not None:
        return unpack_mask(steps.consistent[rows], actions)
    chosen = np.zeros((*rows.shape, actions), np.bool_)
    np.put_along_axis(chosen, steps.action[rows][..., None].astype(np.intp), True, axis=-1)
    return chosen


def imitation_losses(
    logits: Tensor, legal: Tensor, chosen: Tensor, weight: Tensor, *, label_smoothing: float = 0.0
) -> dict[str, Tensor]:
    """The mean negative log-probability of the sets `chosen`, and how often the likeliest actions are in them.

    `logits: float[..., actions]`, `legal, chosen: bool[..., actions]` with `chosen` inside `legal`. Rows whose `weight:
    float[...]` is 0 count for nothing. With `label_smoothing` a part of the target is spread over all legal actions.
    """
    log_probs = masked_log_softmax(logits, legal, xp=torch)
    of_set = torch.logsumexp(torch.where(chosen, log_probs, -torch.inf), dim=-1)
    spread = torch.where(legal, log_probs, 0.0).sum(-1) / legal.sum(-1)
    loss = -(1 - label_smoothing) * of_set - label_smoothing * spread
    total = weight.sum().clamp_min(1e-9)
    best = log_probs.topk(min(3, logits.shape[-1]), dim=-1).indices
    hit = chosen.gather(-1, best).float()
    counted = (weight > 0).float()
    rows = counted.sum().clamp_min(1.0)
    return {
        "policy_loss": (loss * weight).sum() / total,
        "top1": (hit[..., 0] * counted).sum() / rows,
        "top3": (hit.amax(-1) * counted).sum() / rows,
    }
