"""Proximal policy optimisation, feed-forward or recurrent, with the legal mask in every probability.

Both seats' episodes train the one policy: in a zero-sum game each is the other's opponent.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import torch
from msgspec import Meta
from torch import Tensor, nn

from sparring.core import Episodes, entropy, masked_log_softmax
from sparring.inference import Device
from sparring.learn.batches import Batch, batches
from sparring.learn.learner import NotFinite
from sparring.learn.optimiser import Optimiser
from sparring.learn.returns import generalised_advantages
from sparring.policy import Absorbing, Output, value_error

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]


class PpoSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="ppo"):
    """Raising a weight makes its term count for more; the other comments say what raising the rest does."""

    rows: Count = 16384
    """Decisions collected for each update: steadier gradients, slower feedback."""
    epochs: Count = 3
    """Passes over them: more learning from the same data, until `stop_kl` ends it."""
    batch: Count = 2048
    """Rows a gradient step."""
    learning_rate: Positive = 1e-3
    schedule: Literal["constant", "linear"] = "linear"
    """Whether the learning rate falls to 0 over the run."""
    clip: Positive = 0.2
    """How far a probability may move in one update."""
    value_weight: NotNegative = 0.5
    entropy_weight: NotNegative = 0.01
    discount: Fraction = 1.0
    trace: Fraction = 0.95
    """GAE's lambda: less bias from the value function, more variance."""
    clip_norm: Positive = 0.5
    """Gradients longer than this are shortened to it."""
    stop_kl: Positive = 0.03
    """Epochs end once the policy has moved this far (mean KL divergence)."""
    segment: Count = 16
    """Rows back-propagated through at a time when the network has memory."""
    cut: Annotated[int, Meta(ge=0)] = 0
    """Rows after which a running episode is handed over, valued by the network; 0 waits for its end."""


Penalty = Callable[[Batch, Tensor], Tensor]
"""Of a batch and log-probabilities `float[T, B, actions]` of the policy: `float[T, B]`, added to the loss by row."""


class Ppo:
    """The PPO learner. `penalty`, if given for an update, is one more term of the loss."""

    def __init__(self, policy: nn.Module, settings: PpoSettings, *, device: Device, seed: int) -> None:
        self.policy = policy.to(device.torch_device)
        self._settings = settings
        self._device = device
        self._rng = np.random.default_rng(seed)
        self._optimiser = Optimiser(
            policy, learning_rate=settings.learning_rate, clip_norm=settings.clip_norm, device=device
        )

    def update(self, episodes: Episodes, *, progress: float, penalty: Penalty | None = None) -> dict[str, float]:
        """Up to `epochs` passes over `episodes`, stopping early once the policy has moved far enough."""
        settings = self._settings
        rate = settings.learning_rate * (1 - progress if settings.schedule == "linear" else 1)
        self._optimiser.set_learning_rate(max(rate, settings.learning_rate * 0.01))
        advantage, target = generalised_advantages(
            episodes.steps.reward,
            episodes.steps.value,
            episodes.headers.lengths,
            episodes.headers.last_value,
            settings.discount,
            settings.trace,
        )
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        if not np.isfinite(scaled).all():
            self._blame_observation(episodes)
        seen: list[dict[str, float]] = []
        epochs = 0
        for _ in range(settings.epochs):
            epoch = [
                self._learn(batch, episodes, scaled, target, penalty)
                for batch in batches(episodes, rows=settings.batch, device=self._device, rng=self._rng)
            ]
            seen += epoch
            epochs += 1
            if np.mean([entry["kl"] for entry in epoch]) > settings.stop_kl:
                break
        if isinstance(self.policy, Absorbing):
            self.policy.absorb({name: self._device.tensor(rows) for name, rows in episodes.steps.observation.items()})
        metrics = {name: float(np.mean([entry[name] for entry in seen])) for name in seen[0]}
        spread = float(np.var(target))
        metrics |= {
            "epochs": float(epochs),
            "learning_rate": rate,
            "explained_variance": 1 - float(np.var(target - episodes.steps.value)) / spread if spread > 0 else 0.0,
        }
        return metrics

    def _blame_observation(self, episodes: Episodes) -> None:
        """Raises `NotFinite` if an observation is to blame: its value has spoiled every advantage by now."""
        seen = {f"observation.{name}": self._device.tensor(rows) for name, rows in episodes.steps.observation.items()}
        for name, rows in seen.items():
            if not torch.isfinite(rows).all():
                raise NotFinite(name, seen)

    def _learn(
        self,
        batch: Batch,
        episodes: Episodes,
        advantage: np.ndarray,
        target: np.ndarray,
        penalty: Penalty | None,
    ) -> dict[str, float]:
        device = self._device
        old_log_prob = batch.pick(episodes.steps.log_prob, device)
        advantages = batch.pick(advantage, device)
        targets = batch.pick(target, device)
        with device.autocast():
            output: Output = self.policy.unroll(batch.observation, batch.legal, batch.first, batch.memory)  # type: ignore[operator]
        log_probs = masked_log_softmax(output.logits.float(), batch.legal, xp=torch)
        log_prob = log_probs.gather(-1, batch.action.unsqueeze(-1)).squeeze(-1)
        parts = ppo_losses(
            log_prob=log_prob,
            old_log_prob=old_log_prob,
            advantage=advantages,
            value_error=value_error(output, targets),
            entropy=entropy(log_probs, xp=torch),
            valid=batch.valid,
            clip=self._settings.clip,
        )
        loss = (
            parts["policy_loss"]
            + self._settings.value_weight * parts["value_loss"]
            - self._settings.entropy_weight * parts["entropy"]
        )
        if penalty is not None:
            parts["penalty"] = (penalty(batch, log_probs) * batch.valid).sum() / batch.valid.sum()
            loss = loss + parts["penalty"]
        culprits = {f"observation.{name}": field for name, field in batch.observation.items()}
        culprits |= {f"memory.{name}": field for name, field in batch.memory.items()}
        culprits |= {"log_prob": old_log_prob, "advantage": advantages, "value target": targets}
        culprits |= {"logits": output.logits, "value": output.value}
        norm = self._optimiser.step(loss, culprits)
        return {name: float(part.detach()) for name, part in parts.items()} | {"gradient_norm": norm}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights, optimiser and the order of minibatches."""
        moments, values = self._optimiser.state()
        tensors = {f"policy/{name}": tensor for name, tensor in self.policy.state_dict().items()}
        tensors |= {f"optimiser/{name}": tensor for name, tensor in moments.items()}
        return tensors, {"optimiser": values, "rng": self._rng.bit_generator.state}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        self.policy.load_state_dict({n[7:]: t for n, t in tensors.items() if n.startswith("policy/")})
        self._optimiser.load({n[10:]: t for n, t in tensors.items() if n.startswith("optimiser/")}, values["optimiser"])
        self._rng.bit_generator.state = values["rng"]


def ppo_losses(
    *,
    log_prob: Tensor,
    old_log_prob: Tensor,
    advantage: Tensor,
    value_error: Tensor,
    entropy: Tensor,
    valid: Tensor,
    clip: float,
) -> dict[str, Tensor]:
    """The clipped surrogate, the value error and the diagnostics, each a mean over the rows that are `valid`.

    All arguments are `float[T, B]` but `valid: bool[T, B]`. Log-probabilities are of the action taken, both
    under the legal mask.
    """
    weight = valid.float() / valid.sum()

    def mean(values: Tensor) -> Tensor:
        return (values * weight).sum()

    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
    return {
        "policy_loss": -mean(surrogate),
        "value_loss": mean(value_error),
        "entropy": mean(entropy),
        "kl": mean(ratio - 1 - log_ratio),
        "clip_fraction": mean(((ratio - 1).abs() > clip).float()),
    }
