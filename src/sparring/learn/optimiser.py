"""A policy in training: everything that changes its weights, or saves and restores them.

Every learner holds one `Optimiser`, so that the learning-rate schedule, gradient clipping, the guard against NaN, the
normalisers' statistics and the saved state are the same for all of them.
"""

from collections.abc import Callable, Mapping
from math import cos, pi
from typing import Any, Literal

import msgspec
import torch
from torch import Tensor, nn

from sparring.core import Episodes, GameSpec
from sparring.core.rows import flatten, nested
from sparring.core.settings import Count, Fraction, NonNegative, Positive
from sparring.inference import Device
from sparring.inference.compiled import Compiled
from sparring.learn import parallel
from sparring.learn.batches import Batch
from sparring.learn.learner import NotFinite, first_not_finite
from sparring.learn.sharding import is_sharded, load_weights, part_of, shard, spread_as, whole
from sparring.policy import Absorbing, Memory, Output, Packing, Policy, policy_for, set_checkpointing

LrSchedule = Literal["constant", "linear", "cosine"]

_LEAST_RATE = 0.01
"""A falling schedule ends at this part of the learning rate, and a warm-up begins there."""


class OptimiserSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of gradient steps, for every learner. Each comment says what raising the value does."""

    learning_rate: Positive = 1e-3
    """Raising it makes learning faster and less stable."""
    lr_schedule: LrSchedule = "linear"
    """`linear` and `cosine` lower the learning rate over the run to a hundredth, cosine slowly at both ends; `constant`
    keeps it."""
    warmup: Fraction = 0.0
    """The part of the run over which the learning rate rises to its full value: raising it gives large networks a
    gentler start."""
    weight_decay: NonNegative = 0.0
    """AdamW's weight decay, of matrices only: raising it makes large networks overfit less."""
    max_grad_norm: Positive = 1.0
    """Longer gradients are scaled down to this norm: raising it allows larger steps."""
    gradient_accumulation: Count = 1
    """Minibatches whose gradients make one step: raising it makes steps fewer and less noisy, without more memory."""
    compile: bool = False
    """Whether learning runs through torch.compile: a slow first update, faster ones after it."""
    activation_checkpointing: bool = False
    """Whether activations inside the encoder and the layers of a transformer are recomputed in the backward pass: a
    third more work, a fraction of the memory."""


def scheduled(settings: OptimiserSettings, progress: float) -> float:
    """The learning rate at `progress` in [0, 1] through the run."""
    if progress < settings.warmup:
        part = progress / settings.warmup
    else:
        past = (progress - settings.warmup) / (1 - settings.warmup) if settings.warmup < 1 else 0.0
        part = {"constant": 1.0, "linear": 1 - past, "cosine": (1 + cos(pi * past)) / 2}[settings.lr_schedule]
    return settings.learning_rate * max(part, _LEAST_RATE)


class Optimiser:
    """AdamW with a learning-rate schedule, gradient clipping, and float16 loss scaling where the device needs it."""

    def __init__(
        self,
        policy: Policy,
        settings: OptimiserSettings,
        *,
        device: Device,
        beta1: float = 0.9,
        sharded: bool = False,
        say: Callable[[str], None] = print,
    ) -> None:
        """With `sharded`, the policy is spread over the processes that train it."""
        self.policy = policy
        set_checkpointing(policy, settings.activation_checkpointing)
        if sharded:
            shard(policy, device)
        else:
            parallel.same_start(policy.to(device.torch_device))
        self._settings = settings
        self._device = device
        self._scaler = device.scaler()
        self._adam = torch.optim.AdamW(
            _groups(policy, settings.weight_decay), lr=settings.learning_rate, betas=(beta1, 0.999), eps=1e-5
        )
        self._held = 0
        """Minibatches whose gradients have been accumulated for the next step."""
        self._norm = 0.0
        """The norm of the last step's gradient."""
        self._say = say
        self._unrolls: dict[tuple[int, bool], Callable[..., Output]] = {}

    def unroll(self, batch: Batch) -> Output:
        """The policy's output for `batch`, in the device's precision, compiled if that is set."""
        return self.answers(batch.spec, batch.observation, batch.legal, batch.memory, first=batch.first)

    def answers(
        self,
        spec: GameSpec,
        observation: Mapping[str, Tensor],
        legal: Tensor,
        memory: Memory,
        *,
        first: Tensor | None = None,
    ) -> Output:
        """The policy's output for rows `[T, B]` of `spec`, packed if `first: bool[T, B]` is given."""
        policy = policy_for(self.policy, spec)
        with self._device.autocast():
            if first is None:
                return self._function(policy, packed=False)(observation, legal, memory)
            return self._function(policy, packed=True)(observation, legal, first)

    def _function(self, policy: Policy, *, packed: bool) -> Callable[..., Output]:
        """The policy's function for sequences, or for packed ones."""
        if packed:
            assert isinstance(policy, Packing)
            function: Callable[..., Output] = policy.unroll_packed
        else:
            function = policy.unroll
        if not self._settings.compile:
            return function
        key = (id(policy), packed)
        if key not in self._unrolls:
            self._unrolls[key] = Compiled(function, what="the learner", say=self._say)
        return self._unrolls[key]

    def schedule(self, progress: float) -> float:
        """Sets the learning rate for `progress` in [0, 1] through the run, and returns it."""
        rate = scheduled(self._settings, progress)
        for group in self._adam.param_groups:
            group["lr"] = rate
        return rate

    def step(self, loss: Tensor, suspects: Mapping[str, Tensor]) -> float:
        """One gradient step, or part of one with `gradient_accumulation`; see `accumulate` for what it raises.

        Returns the norm of the last step's gradient before clipping.
        """
        self.accumulate(loss / self._settings.gradient_accumulation, suspects)
        self._held += 1
        return self.apply(suspects) if self._held == self._settings.gradient_accumulation else self._norm

    def accumulate(self, loss: Tensor, suspects: Mapping[str, Tensor]) -> None:
        """Adds the gradient of `loss` to the step that `apply` will take.

        If the loss, or later the gradient, is not finite, no weight is changed and `NotFinite` is raised, naming the
        first of `suspects` (inputs first, then what was computed from them) that is not finite.
        """
        if not torch.isfinite(loss):
            if parallel.size() == 1:
                self._adam.zero_grad(set_to_none=True)
                raise NotFinite(first_not_finite(suspects) or "loss", suspects)
            loss = loss * float("nan")  # so that all processes notice, in `apply`
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]

    def apply(self, suspects: Mapping[str, Tensor]) -> float:
        """One step with the accumulated gradients; returns their norm before clipping."""
        if not is_sharded(self.policy):  # otherwise FSDP does it in the backward pass
            parallel.average_gradients(self.policy.parameters())
        self._scaler.unscale_(self._adam)
        gradients = {f"gradient of {n}": p.grad for n, p in self.policy.named_parameters() if p.grad is not None}
        total = whole(nn.utils.get_total_norm(gradients.values()))
        norm = float(total)
        if norm != norm or (norm == float("inf") and not self._scaler.is_enabled()):
            culprit = parallel.anyones_fault(first_not_finite(suspects)) if parallel.size() > 1 else None
            found = first_not_finite({name: part_of(gradient) for name, gradient in gradients.items()})
            raise NotFinite(culprit or found or "gradient norm", suspects)
        nn.utils.clip_grads_with_norm_(self.policy.parameters(), self._settings.max_grad_norm, total)
        self._scaler.step(self._adam)
        self._scaler.update()
        self._adam.zero_grad(set_to_none=True)
        self._held, self._norm = 0, norm
        return norm

    def absorb(self, episodes: Episodes) -> None:
        """Ends an update: applies gradients that are still accumulated, and updates the policy's observation
        statistics, if it keeps any; only here, so that no probability changes between two epochs.
        """
        if self._held:
            share = self._settings.gradient_accumulation / self._held
            for weight in self.policy.parameters():
                if weight.grad is not None:
                    weight.grad.mul_(share)
            self.apply({})
        if isinstance(self.policy, Absorbing):
            for part in parallel.every_part(self._device.tensors(episodes.steps.observation)):
                self.policy.absorb(part)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The policy's weights and Adam's moments as tensors, sharded if the policy is, the rest as JSON."""
        adam = self._adam.state_dict()
        moments = {
            str(index): {name: torch.as_tensor(value) for name, value in entry.items()}
            for index, entry in adam["state"].items()
        }
        tensors = flatten({"policy": self.policy.state_dict(), "adam": flatten(moments)})
        return tensors, {"groups": adam["param_groups"], "scaler": self._scaler.state_dict()}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Goes back to a `state`; other tensors are ignored.

        For a sharded policy each tensor may be given whole, or as the rows of this process.
        """
        parts = nested(tensors)
        load_weights(self.policy, parts["policy"])
        weights = [weight for group in self._adam.param_groups for weight in group["params"]]
        moments = {
            int(index): {name: spread_as(value, weights[int(index)]) for name, value in entry.items()}
            for index, entry in nested(parts.get("adam", {})).items()
        }
        self._adam.load_state_dict({"state": moments, "param_groups": values["groups"]})
        self._scaler.load_state_dict(values["scaler"])


def _groups(policy: Policy, weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups for AdamW: only matrices decay, not biases, scales or embeddings."""
    if not weight_decay:
        return [{"params": list(policy.parameters()), "weight_decay": 0.0}]
    tables = {id(module.weight) for module in policy.modules() if isinstance(module, nn.Embedding)}
    decays = [weight.ndim >= 2 and id(weight) not in tables for weight in policy.parameters()]
    return [
        {
            "params": [weight for weight, own in zip(policy.parameters(), decays, strict=True) if own == wanted],
            "weight_decay": weight_decay if wanted else 0.0,
        }
        for wanted in (True, False)
    ]
