"""A policy in training: everything that changes its weights, or saves and restores them.

Every learner holds one `Optimiser`, so that the learning-rate schedule, gradient clipping, the guard against NaN, the
normalisers' statistics and the saved state are the same for all of them.
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from sparring.core import Episodes
from sparring.core.rows import flatten, nested
from sparring.inference import Device
from sparring.learn.learner import NotFinite, first_not_finite
from sparring.policy import Absorbing, Policy

LrSchedule = Literal["constant", "linear"]

_LEAST_RATE = 0.01
"""A linear schedule ends at this part of the first learning rate."""


class Optimiser:
    """Adam with a learning-rate schedule, gradient clipping, and float16 loss scaling where the device needs it."""

    def __init__(
        self,
        policy: Policy,
        *,
        learning_rate: float,
        lr_schedule: LrSchedule,
        max_grad_norm: float,
        device: Device,
        beta1: float = 0.9,
    ) -> None:
        self.policy = policy.to(device.torch_device)
        self._learning_rate = learning_rate
        self._lr_schedule = lr_schedule
        self._max_grad_norm = max_grad_norm
        self._device = device
        self._scaler = device.scaler()
        self._adam = torch.optim.Adam(policy.parameters(), lr=learning_rate, betas=(beta1, 0.999), eps=1e-5)

    def schedule(self, progress: float) -> float:
        """Sets the learning rate for `progress` in [0, 1] through the run, and returns it."""
        rate = self._learning_rate * (1 - progress if self._lr_schedule == "linear" else 1)
        rate = max(rate, self._learning_rate * _LEAST_RATE)
        for group in self._adam.param_groups:
            group["lr"] = rate
        return rate

    def step(self, loss: Tensor, suspects: Mapping[str, Tensor]) -> float:
        """One step down `loss`; returns the gradient norm before clipping.

        If the loss or the gradient is not finite nothing is changed and `NotFinite` is raised, naming the first of
        `suspects` (inputs first, then what was computed from them) that is not finite.
        """
        if not torch.isfinite(loss):
            raise NotFinite(first_not_finite(suspects) or "loss", suspects)
        self._adam.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._scaler.unscale_(self._adam)
        gradients = {f"gradient of {n}": p.grad for n, p in self.policy.named_parameters() if p.grad is not None}
        total = nn.utils.get_total_norm(gradients.values())
        norm = float(total)
        if norm != norm or (norm == float("inf") and not self._scaler.is_enabled()):
            raise NotFinite(first_not_finite(gradients) or "gradient norm", suspects)
        nn.utils.clip_grads_with_norm_(self.policy.parameters(), self._max_grad_norm, total)
        self._scaler.step(self._adam)
        self._scaler.update()
        return norm

    def absorb(self, episodes: Episodes) -> None:
        """Updates the statistics by which the policy normalises observations, if it keeps any.

        Called at the end of an update, so that no probability changes between two epochs.
        """
        if isinstance(self.policy, Absorbing):
            self.policy.absorb(self._device.tensors(episodes.steps.observation))

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The policy's weights and Adam's moments as tensors, the rest as JSON."""
        adam = self._adam.state_dict()
        moments = {
            str(index): {name: torch.as_tensor(value) for name, value in entry.items()}
            for index, entry in adam["state"].items()
        }
        tensors = flatten({"policy": self.policy.state_dict(), "adam": flatten(moments)})
        return tensors, {"groups": adam["param_groups"], "scaler": self._scaler.state_dict()}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`; tensors that are not part of it are passed over."""
        parts = nested(tensors)
        self.policy.load_state_dict(parts["policy"])
        moments = {int(index): entry for index, entry in nested(parts.get("adam", {})).items()}
        self._adam.load_state_dict({"state": moments, "param_groups": values["groups"]})
        self._scaler.load_state_dict(values["scaler"])
