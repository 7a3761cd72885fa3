"""Proximal policy optimisation, feed-forward or recurrent, with the legal mask in every probability.

Both seats' episodes train the one policy: in a zero-sum game each is the other's opponent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparring.core import Episodes, entropy, masked_log_softmax
from sparring.core.rows import flatten
from sparring.core.settings import Count, Fraction, NonNegative, NonNegativeInt, Positive
from sparring.inference import Device
from sparring.learn import parallel
from sparring.learn.batches import Batch, batches
from sparring.learn.learner import NotFinite, explained_variance, first_not_finite, mean_metrics
from sparring.learn.optimiser import Optimiser, OptimiserSettings
from sparring.learn.returns import generalised_advantages
from sparring.learn.ties import Tie, Tied, add_ties
from sparring.policy import Policy, value_error


class PpoSettings(OptimiserSettings, frozen=True, kw_only=True, tag_field="kind", tag="ppo"):
    """PPO: policy gradients in clipped steps.

    Each comment says what raising the value does.
    """

    batch_size: Count = 16384
    """Decisions collected for each update: raising it makes gradients less noisy and updates rarer."""
    epochs: Count = 3
    """Passes over them at most: raising it learns more from the same data, until `target_kl` ends the update."""
    minibatch_size: Count = 2048
    """Decisions for each gradient step: raising it makes steps less noisy and fewer."""
    clip_range: Positive = 0.2
    """Raising it lets an update change the probability of an action by a larger factor."""
    value_coef: NonNegative = 0.5
    """Raising it makes the value loss count for more beside the policy loss."""
    entropy_coef: NonNegative = 0.01
    """Raising it keeps the policy more random."""
    gamma: Fraction = 1.0
    """The discount: raising it makes rewards far ahead count for more."""
    gae_lambda: Fraction = 0.95
    """Raising it relies less on the value function: less bias, more variance."""
    max_grad_norm: Positive = 0.5
    target_kl: Positive = 0.03
    """The update ends after the epoch in which the approximate KL divergence exceeds this: raising it lets the policy
    change more in an update."""
    segment_length: Count = 16
    """Decisions that gradients flow back through if the network has memory: raising it learns longer dependencies."""
    truncate_after: NonNegativeInt = 0
    """Decisions after which an unfinished episode is learned from, with the value function's estimate for the rest:
    raising it relies less on the value function and waits longer; 0 always waits for the end."""


class Ppo:
    """The PPO learner."""

    def __init__(
        self, policy: Policy, settings: PpoSettings, *, device: Device, seed: int, sharded: bool = False
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
        """Up to `epochs` passes over `episodes`, fewer if the policy has moved far enough by then."""
        settings, steps = self._settings, episodes.steps
        learning_rate = self._optimiser.schedule(progress)
        advantage, value_target = generalised_advantages(
            steps.reward,
            steps.value,
            episodes.headers.lengths,
            episodes.headers.last_value,
            settings.gamma,
            settings.gae_lambda,
        )
        advantage = normalised(advantage)
        self._check_observations(episodes, advantage)
        done: list[dict[str, float]] = []
        epochs = 0
        for _ in range(settings.epochs):
            epoch = [
                self._step(batch, episodes, advantage, value_target, ties)
                for batch in batches(
                    episodes, minibatch_size=settings.minibatch_size, device=self._device, rng=self._rng
                )
            ]
            done += epoch
            epochs += 1
            own_kl = float(np.mean([metrics["approx_kl"] for metrics in epoch]))
            if parallel.average(own_kl * parallel.share(torch.tensor(episodes.rows))) > settings.target_kl:
                break
        self._optimiser.absorb(episodes)
        return mean_metrics(done) | {
            "epochs": float(epochs),
            "learning_rate": learning_rate,
            "explained_variance": explained_variance(
                float(np.var(value_target - steps.value)), float(np.var(value_target))
            ),
        }

    def _check_observations(self, episodes: Episodes, advantage: NDArray[np.float32]) -> None:
        """Raises `NotFinite` if advantages are not finite because an observation is not.

        One bad observation spoils the advantages of all rows, since they are normalised together, and the first
        minibatch need not contain it.
        """
        if not np.isfinite(advantage).all():
            observation = flatten({"observation": self._device.tensors(episodes.steps.observation)})
            bad = parallel.anyones_fault(first_not_finite(observation))
            if bad is not None:
                raise NotFinite(bad, observation)

    def _step(
        self,
        batch: Batch,
        episodes: Episodes,
        advantage: NDArray[np.float32],
        value_target: NDArray[np.float32],
        ties: Sequence[Tie],
    ) -> dict[str, float]:
        """One gradient step. Returns its metrics."""
        settings, device = self._settings, self._device
        advantages, value_targets = batch.pick(advantage, device), batch.pick(value_target, device)
        output = self._optimiser.unroll(batch)
        log_probs = masked_log_softmax(output.logits.float(), batch.legal, xp=torch)
        losses = ppo_losses(
            log_prob=log_probs.gather(-1, batch.action.unsqueeze(-1)).squeeze(-1),
            old_log_prob=batch.log_prob,
            advantage=advantages,
            value_error=value_error(output, value_targets),
            entropy=entropy(log_probs, xp=torch),
            valid=batch.valid,
            clip_range=settings.clip_range,
        )
        loss = (
            losses["policy_loss"]
            + settings.value_coef * losses["value_loss"]
            - settings.entropy_coef * losses["entropy"]
        )
        loss = add_ties(loss, losses, ties, Tied.of(batch, episodes, log_probs))
        suspects = batch.inputs | {
            "log_prob": batch.log_prob,
            "advantage": advantages,
            "value target": value_targets,
            "logits": output.logits,
            "value": output.value,
        }
        grad_norm = self._optimiser.step(loss * parallel.share(batch.valid.sum()), suspects)
        return {name: float(part.detach()) for name, part in losses.items()} | {"grad_norm": grad_norm}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights, optimiser and the order of minibatches."""
        tensors, values = self._optimiser.state()
        return tensors, {"optimiser": values, "rng": self._rng.bit_generator.state}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self._optimiser.load(tensors, values["optimiser"])
        self._rng.bit_generator.state = values["rng"]


def normalised(advantage: NDArray[np.float32]) -> NDArray[np.float32]:
    """`advantage: float32[r]` with mean 0 and standard deviation 1 over the rows of all processes."""
    mean, deviation = float(advantage.mean()), float(advantage.std())
    if parallel.size() > 1:
        mean, deviation = parallel.mean_and_deviation(torch.from_numpy(advantage))
    scaled: NDArray[np.float32] = (advantage - np.float32(mean)) / np.float32(deviation + 1e-8)
    return scaled


def ppo_losses(
    *,
    log_prob: Tensor,
    old_log_prob: Tensor,
    advantage: Tensor,
    value_error: Tensor,
    entropy: Tensor,
    valid: Tensor,
    clip_range: float,
) -> dict[str, Tensor]:
    """The clipped surrogate, the value error and diagnostics, each a mean over the `valid` rows.

    All arguments are `float[T, B]` but `valid: bool[T, B]`. Log-probabilities are of the action taken, both
    under the legal mask.
    """
    weight = valid.float() / valid.sum()

    def mean(values: Tensor) -> Tensor:
        return (values * weight).sum()

    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(1 - clip_range, 1 + clip_range) * advantage)
    return {
        "policy_loss": -mean(surrogate),
        "value_loss": mean(value_error),
        "entropy": mean(entropy),
        "approx_kl": mean(ratio - 1 - log_ratio),
        "clip_fraction": mean(((ratio - 1).abs() > clip_range).float()),
    }
