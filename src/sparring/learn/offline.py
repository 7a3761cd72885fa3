"""Offline reinforcement learning: better than the players in the data, without playing a match.

Imitation copies bad choices as well as good ones. Here the value head is a critic of the data: it learns what its
players went on to gain, from n-step targets of a slowly moving copy of itself. A choice's advantage is how much better
than that it turned out, and `loss` says what it does: `filtered` drops choices without one, `weighted` lets the better
ones count for more. Where a record leaves several actions open, the whole set is what was chosen.

The critic judges states, not actions, so an advantage includes the luck of the n rows it looks ahead. Luck falls on
good and bad choices alike and averages out; a small n has less of it and relies more on the critic.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes, masked_log_softmax
from sparring.core.rows import flatten, nested
from sparring.core.settings import Count, Fraction, Positive
from sparring.inference import Device
from sparring.inference.device import to_numpy
from sparring.learn import parallel
from sparring.learn.batches import Batch
from sparring.learn.choices import ChoiceSettings, choice_batches, chosen_actions, set_log_prob
from sparring.learn.learner import explained_variance, mean_metrics
from sparring.learn.offline_filtered import filtered_loss
from sparring.learn.offline_weighted import weighted_loss
from sparring.learn.optimiser import Optimiser
from sparring.learn.outputs import move_towards, row_outputs
from sparring.learn.returns import n_step_returns
from sparring.learn.sharding import load_weights, shard
from sparring.learn.ties import Tie, Tied, add_ties
from sparring.policy import Policy, value_error


class OfflineSettings(ChoiceSettings, frozen=True, kw_only=True, tag_field="kind", tag="offline"):
    """Offline reinforcement learning from the episodes that `data` names.

    Each comment says what raising the value does.
    """

    loss: Literal["filtered", "weighted"] = "filtered"
    """`filtered` imitates what turned out better than expected and drops the rest; `weighted` lets each choice count by
    the exponential of its advantage."""
    threshold: float = 0.0
    """For `filtered`: the advantage that a choice must exceed; raising it keeps fewer and better ones."""
    temperature: Positive = 0.3
    """For `weighted`: what advantages are divided by; raising it comes closer to plain imitation."""
    max_weight: Positive = 20.0
    """For `weighted`: the most that a choice may count; raising it lets rare successes count for more."""
    n_steps: Count = 5
    """Decisions whose rewards a target includes before it trusts the critic: raising it means less bias, more luck."""
    gamma: Fraction = 1.0
    """The discount: raising it makes rewards far ahead count for more."""
    target_network_avg: Annotated[float, Meta(gt=0, le=1)] = 0.02
    """The part of the way that the target network moves towards the learning one, each step: raising it makes targets
    follow faster and less steadily."""
    segment_length: Count = 256


class Offline:
    """The offline learner."""

    def __init__(
        self, policy: Policy, settings: OfflineSettings, *, device: Device, seed: int, sharded: bool = False
    ) -> None:
        self._settings = settings
        self._device = device
        self._rng = np.random.default_rng(seed)
        self.target = copy.deepcopy(policy).requires_grad_(False)
        """The critic that makes the targets."""
        self._optimiser = Optimiser(policy, settings, device=device, sharded=sharded)
        if sharded:
            shard(self.target, device)
        else:
            parallel.same_start(self.target.to(device.torch_device))

    @property
    def policy(self) -> Policy:
        """The policy being trained; its value head is the critic."""
        return self._optimiser.policy

    def update(self, episodes: Episodes, *, progress: float, ties: Sequence[Tie] = ()) -> dict[str, float]:
        """One pass over whole `episodes`, starting from empty memory."""
        settings, headers = self._settings, episodes.headers
        learning_rate = self._optimiser.schedule(progress)
        value = to_numpy(row_outputs(self.target, episodes, device=self._device)[1])
        target = n_step_returns(
            episodes.steps.reward, value, headers.lengths, headers.last_value, settings.gamma, settings.n_steps
        )
        minibatches = choice_batches(
            episodes,
            self.policy,
            minibatch_size=settings.minibatch_size,
            length=settings.segment_length,
            device=self._device,
            rng=self._rng,
        )
        steps = [self._step(batch, episodes, target, target - value, ties) for batch in minibatches]
        self._optimiser.absorb(episodes)
        return mean_metrics(steps) | {
            "learning_rate": learning_rate,
            "gradient_steps": float(len(steps)),
            "advantage": float(np.abs(target - value).mean()),
            "explained_variance": explained_variance(float(np.var(target - value)), float(np.var(target))),
        }

    def _step(
        self,
        batch: Batch,
        episodes: Episodes,
        target: NDArray[np.float32],
        advantage: NDArray[np.float32],
        ties: Sequence[Tie],
    ) -> dict[str, float]:
        """One gradient step. Returns its metrics."""
        settings, device = self._settings, self._device
        targets, advantages = batch.pick(target, device), batch.pick(advantage, device)
        output = self._optimiser.unroll(batch)
        log_probs = masked_log_softmax(output.logits.float(), batch.legal, xp=torch)
        chosen = device.tensor(chosen_actions(episodes, batch.rows))
        log_prob = set_log_prob(log_probs, chosen)
        losses = (
            filtered_loss(log_prob, advantages, batch.valid, threshold=settings.threshold)
            if settings.loss == "filtered"
            else weighted_loss(
                log_prob,
                advantages,
                batch.valid,
                temperature=settings.temperature,
                max_weight=settings.max_weight,
            )
        )
        losses["value_loss"] = (value_error(output, targets) * batch.valid).sum() / batch.valid.sum()
        loss = losses["policy_loss"] + settings.value_coef * losses["value_loss"]
        loss = add_ties(loss, losses, ties, Tied.of(batch, episodes, log_probs))
        suspects = batch.inputs | {
            "value target": targets,
            "advantage": advantages,
            "logits": output.logits,
            "value": output.value,
        }
        grad_norm = self._optimiser.step(loss * parallel.share(batch.valid.sum()), suspects)
        move_towards(self.target, self.policy, settings.target_network_avg)
        return {name: float(part.detach()) for name, part in losses.items()} | {"grad_norm": grad_norm}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Both networks, the optimiser, and the order of minibatches."""
        tensors, values = self._optimiser.state()
        values = {"optimiser": values, "rng": self._rng.bit_generator.state}
        return tensors | flatten({"target": self.target.state_dict()}), values

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._optimiser.load(tensors, values["optimiser"])
        load_weights(self.target, nested(tensors)["target"])
        self._rng.bit_generator.state = values["rng"]
