"""Imitation: teach the network what others chose, and how their matches ended.

The loss of a choice is the negative log of its probability, or of the whole set's where a record leaves several
actions open (see `choices`). A set of one is plain cross-entropy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes, Headers, masked_log_softmax
from sparring.core.settings import Fraction, NonNegative
from sparring.inference import Device
from sparring.learn import parallel
from sparring.learn.batches import Batch
from sparring.learn.choices import ChoiceSettings, choice_batches, chosen_actions, hits, set_log_prob
from sparring.learn.learner import mean_metrics
from sparring.learn.optimiser import Optimiser
from sparring.learn.ties import Tie, Tied, add_ties
from sparring.policy import Policy, value_error

_MOST_DOUBLINGS = 3.0


class ImitationSettings(ChoiceSettings, frozen=True, kw_only=True, tag_field="kind", tag="imitation"):
    """Imitation of the episodes that `data` names. Each comment says what raising the value does."""

    label_smoothing: Fraction = 0.0
    """The part of the target that is spread over all legal actions: raising it keeps the policy from certainty."""
    loser_weight: NonNegative = 1.0
    """What a choice of a player who lost counts beside one of a player who won: below 1, winners are imitated more."""
    rating_doubling: NonNegative = 0.0
    """Points of rating that double what a player's choices count, from an eighth to eight times those of a player rated
    `rating_middle`: raising it makes ratings matter less; 0: they do not matter."""
    rating_middle: NonNegative = 1500.0
    """The rating at which a choice counts 1, as it does where the rating is unknown."""


class Imitation:
    """The imitation learner."""

    def __init__(
        self, policy: Policy, settings: ImitationSettings, *, device: Device, seed: int, sharded: bool = False
    ) -> None:
        self._settings = settings
        self._device = device
        self._rng = np.random.default_rng(seed)
        self._optimiser = Optimiser(policy, settings, device=device, sharded=sharded)

    @property
    def policy(self) -> Policy:
        """The policy being trained."""
        return self._optimiser.policy

    def update(self, episodes: Episodes, *, progress: float, ties: Sequence[Tie] = ()) -> dict[str, float]:
        """Goes once over `episodes`, which begin anew in memory."""
        learning_rate = self._optimiser.schedule(progress)
        batches = choice_batches(
            episodes,
            self.policy,
            minibatch_size=self._settings.minibatch_size,
            length=self._settings.segment_length,
            device=self._device,
            rng=self._rng,
        )
        steps = [self._step(batch, episodes, ties) for batch in batches]
        self._optimiser.absorb(episodes)
        return mean_metrics(steps) | {"learning_rate": learning_rate, "gradient_steps": float(len(steps))}

    def _step(self, batch: Batch, episodes: Episodes, ties: Sequence[Tie]) -> dict[str, float]:
        """One gradient step. Returns its metrics."""
        headers, settings = episodes.headers, self._settings
        target = batch.pick(np.repeat(headers.outcome, headers.lengths), self._device)
        weight = batch.pick(np.repeat(choice_weights(headers, settings), headers.lengths), self._device)
        output = self._optimiser.unroll(batch)
        log_probs = masked_log_softmax(output.logits.float(), batch.legal, xp=torch)
        losses = imitation_losses(
            log_probs,
            batch.legal,
            self._device.tensor(chosen_actions(episodes, batch.rows)),
            weight * batch.valid,
            label_smoothing=settings.label_smoothing,
        )
        losses["value_loss"] = (value_error(output, target) * batch.valid).sum() / batch.valid.sum()
        loss = losses["policy_loss"] + settings.value_coef * losses["value_loss"]
        loss = add_ties(loss, losses, ties, Tied.of(batch, episodes, log_probs))
        suspects = batch.inputs | {"value target": target, "logits": output.logits, "value": output.value}
        grad_norm = self._optimiser.step(loss * parallel.share(batch.valid.sum()), suspects)
        return {name: float(part.detach()) for name, part in losses.items()} | {"grad_norm": grad_norm}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights, optimiser, and the order of minibatches."""
        tensors, values = self._optimiser.state()
        return tensors, {"optimiser": values, "rng": self._rng.bit_generator.state}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._optimiser.load(tensors, values["optimiser"])
        self._rng.bit_generator.state = values["rng"]


def choice_weights(headers: Headers, settings: ImitationSettings) -> NDArray[np.float32]:
    """`float32[n]` what a choice in each episode counts, by how its match ended for the player and by his rating."""
    weight = np.where(headers.outcome < 0, settings.loser_weight, 1.0)
    if settings.rating_doubling and headers.rating is not None:
        above = (headers.rating - settings.rating_middle) / settings.rating_doubling
        weight = weight * np.exp2(np.nan_to_num(above, nan=0.0).clip(-_MOST_DOUBLINGS, _MOST_DOUBLINGS))
    return weight.astype(np.float32)


def imitation_losses(
    log_probs: Tensor, legal: Tensor, chosen: Tensor, weight: Tensor, *, label_smoothing: float = 0.0
) -> dict[str, Tensor]:
    """The mean negative log-probability of the sets `chosen`, and how often the likeliest actions are in them.

    `log_probs: float[..., actions]` under the mask `legal: bool[..., actions]`, and `chosen: bool[..., actions]` inside
    it. Rows whose `weight: float[...]` is 0 count for nothing. With `label_smoothing` a part of the target is spread
    over all legal actions.
    """
    spread = torch.where(legal, log_probs, 0.0).sum(-1) / legal.sum(-1)
    loss = -(1 - label_smoothing) * set_log_prob(log_probs, chosen) - label_smoothing * spread
    hit = hits(log_probs, chosen).float()
    counted = (weight > 0).float()
    rows = counted.sum().clamp_min(1.0)
    return {
        "policy_loss": (loss * weight).sum() / weight.sum().clamp_min(1e-9),
        "top1": (hit[..., 0] * counted).sum() / rows,
        "top3": (hit.amax(-1) * counted).sum() / rows,
    }
