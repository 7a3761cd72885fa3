"""One optimiser step with its guards, and the optimiser's state as plain tensors."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from sparring.inference import Device
from sparring.learn.learner import NotFinite


class Optimiser:
    """Adam with gradient clipping, a guard against NaN, and float16 loss scaling where the device needs it."""

    def __init__(
        self, policy: nn.Module, *, learning_rate: float, clip_norm: float, device: Device, momentum: float = 0.9
    ) -> None:
        self._policy = policy
        self._clip_norm = clip_norm
        self._scaler = device.scaler()
        self.adam = torch.optim.Adam(policy.parameters(), lr=learning_rate, betas=(momentum, 0.999), eps=1e-5)

    def set_learning_rate(self, rate: float) -> None:
        """Used from the next step on."""
        for group in self.adam.param_groups:
            group["lr"] = rate

    def step(self, loss: Tensor, culprits: Mapping[str, Tensor]) -> float:
        """One step down `loss`; returns the gradient norm before clipping.

        If the loss or the gradient is not finite nothing is changed and `NotFinite` is raised, naming the
        first of `culprits` (inputs first) that is not finite.
        """
        if not torch.isfinite(loss):
            raise NotFinite(_first_bad(culprits) or "loss", dict(culprits))
        self.adam.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._scaler.unscale_(self.adam)
        gradients = {f"gradient of {n}": p.grad for n, p in self._policy.named_parameters() if p.grad is not None}
        total = nn.utils.get_total_norm(gradients.values())
        norm = float(total)
        if norm != norm or (norm == float("inf") and not self._scaler.is_enabled()):
            raise NotFinite(_first_bad(gradients) or "gradient norm", dict(culprits))
        nn.utils.clip_grads_with_norm_(self._policy.parameters(), self._clip_norm, total)
        self._scaler.step(self.adam)
        self._scaler.update()
        return norm

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Adam's moments as tensors, the rest as JSON."""
        state = self.adam.state_dict()
        tensors = {
            f"{index}.{name}": torch.as_tensor(value)
            for index, entry in state["state"].items()
            for name, value in entry.items()
        }
        return tensors, {"groups": state["param_groups"], "scaler": self._scaler.state_dict()}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        entries: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            index, name = key.split(".", 1)
            entries.setdefault(int(index), {})[name] = tensor
        self.adam.load_state_dict({"state": entries, "param_groups": values["groups"]})
        self._scaler.load_state_dict(values["scaler"])


def _first_bad(tensors: Mapping[str, Tensor]) -> str | None:
    return next((name for name, t in tensors.items() if t.is_floating_point() and not torch.isfinite(t).all()), None)
