"""Before a long run: how much memory learning will take, and how fast it will be.

Both are measured by sending a few dummy rows forward and backward. What a forward pass keeps for the backward pass is
counted tensor by tensor, for two numbers of rows: part of it is constant (weights in lower precision), the rest grows
in proportion.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from torch import Tensor, nn

from sparring.core import GameSpec
from sparring.inference import Device
from sparring.learn.batches import Batch, unroll
from sparring.policy import Packing, Policy, parameter_count, policy_for, set_checkpointing

_SHORT = 32
"""Length of the sequences whose activations are counted; memory depends on the rows, hardly on their sequence."""
_TIMED = 256
"""Decisions that are timed on a CPU; other devices need a whole minibatch to show their speed."""


@dataclass(frozen=True)
class Probe:
    """What learning with a network costs."""

    weights: int
    """How many there are."""
    fixed: int
    """Bytes of weights, gradients and Adam's moments."""
    memory: int
    """Bytes at the peak of a gradient step, everything included."""
    rows_per_second: float
    """Decisions (tokens of a transformer) that go forward and backward; without the optimiser's step."""

    def text(self, decisions: int, device: Device) -> str:
        """One line for the start of a run of `decisions` decisions."""
        seconds = decisions / self.rows_per_second
        return (
            f"learning takes about {self.memory / 2**30:.2f} GiB on {device.kind} ({self.fixed / 2**30:.2f} GiB of it"
            f" weights, gradients and Adam); {self.rows_per_second:,.0f} tokens (decisions) a second in a probe,"
            f" {_span(seconds)} for {decisions:,}"
        )


def probe(policy: Policy, spec: GameSpec, *, rows: int, length: int, device: Device) -> Probe:
    """What gradient steps on `rows` decisions of `spec` cost, in sequences of `length`; changes no weight.

    `policy` is already on the device, with `checkpointing` as it will be.
    """
    few, more = (_batch(policy, spec, min(length, _SHORT), columns, device) for columns in (1, 2))
    kept = [_kept(policy, batch, device) for batch in (few, more)]
    with _without_checkpointing(policy) as changed:
        plain = [_kept(policy, batch, device) for batch in (few, more)] if changed else kept
    activations = _at(rows, few.rows.size, kept[0][0], kept[1][0])
    encoder = _at(rows, few.rows.size, plain[0][1], plain[1][1])
    own = sum(weight.numel() * weight.element_size() for weight in policy.parameters())
    # Activations are freed while gradients fill up: the encoder's go last, when nearly all gradients are there.
    peak = 3 * own + max(activations, own + encoder)
    timed = min(rows, _TIMED) if device.kind == "cpu" else rows
    speed = _speed(policy, _batch(policy, spec, min(length, timed), max(1, timed // length), device), device)
    device.give_back()
    return Probe(parameter_count(policy), 4 * own, round(peak), speed)


def _speed(policy: Policy, batch: Batch, device: Device) -> float:
    """Rows a second forward and backward."""
    if device.kind != "cpu":  # kernels are chosen in the first pass
        _loss(policy, batch, device).backward()  # type: ignore[no-untyped-call]
        device.synchronise()
    begin = perf_counter()
    _loss(policy, batch, device).backward()  # type: ignore[no-untyped-call]
    device.synchronise()
    seconds = perf_counter() - begin
    policy.zero_grad(set_to_none=True)
    return batch.rows.size / seconds


def _batch(policy: Policy, spec: GameSpec, length: int, columns: int, device: Device) -> Batch:
    """Dummy rows `[length, columns]`, packed if the policy can be trained that way."""
    zeros = {name: device.tensor(field.zeros(length, columns)) for name, field in spec.observation.items()}
    of_row = torch.zeros(length, columns, device=device.torch_device)
    first = torch.arange(length, device=device.torch_device).unsqueeze(1).expand(length, columns) == 0
    return Batch(
        spec=spec,
        rows=np.zeros((length, columns), np.intp),
        valid=of_row == 0,
        observation=zeros,
        legal=torch.ones(length, columns, spec.actions, dtype=torch.bool, device=device.torch_device),
        action=of_row.long(),
        log_prob=of_row,
        policy=None,
        memory={} if isinstance(policy, Packing) else policy.initial_memory(columns),
        first=first if isinstance(policy, Packing) else None,
    )


def _loss(policy: Policy, batch: Batch, device: Device) -> Tensor:
    """Some loss that needs all weights."""
    output = unroll(policy_for(policy, batch.spec), batch, device)
    value = output.value if output.bins is None else output.bins.logits
    return output.logits.float().logsumexp(-1).mean() + value.float().mean()


def _kept(policy: Policy, batch: Batch, device: Device) -> tuple[int, int]:
    """Bytes that a forward pass keeps for the backward pass, without weights, and those inside the encoder."""
    known = {weight.untyped_storage().data_ptr() for weight in policy.parameters()}
    found: dict[int, int] = {}
    inside = [0]

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # the tensor itself would be in a reference cycle with its node, and never be freed

    def mark(sign: int) -> None:
        inside[0] += sign * sum(found.values())

    encoder = getattr(policy_for(policy, batch.spec), "encoder", None)
    hooks = []
    if isinstance(encoder, nn.Module):
        hooks.append(encoder.register_forward_pre_hook(lambda *args: mark(-1)))
        hooks.append(encoder.register_forward_hook(lambda *args: mark(1)))
    try:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = _loss(policy, batch, device)
    finally:
        for hook in hooks:
            hook.remove()
    del loss
    return sum(found.values()), inside[0]


@contextmanager
def _without_checkpointing(policy: Policy) -> Iterator[bool]:
    """Inside, all activations are kept; yields whether that differs from outside."""
    usual = policy.checkpointing
    set_checkpointing(policy, False)
    try:
        yield usual
    finally:
        set_checkpointing(policy, usual)


def _at(rows: int, few: int, of_few: int, of_twice: int) -> float:
    """Extrapolates to `rows` rows a quantity that is `of_few` for `few` rows and `of_twice` for twice as many."""
    return of_few + (of_twice - of_few) / few * (rows - few)


def _span(seconds: float) -> str:
    """As in `3.5 hours`."""
    for name, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} seconds"
