"""A policy sharded over the processes that train it (FSDP2), for networks that do not fit on a single device.

Each process holds some rows of every weight, of its gradient and of Adam's moments. A layer's weights are gathered for
its forward and backward pass and freed afterwards. So all processes must run the policy equally often.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from sparring.inference import Device
from sparring.learn import parallel
from sparring.policy import Output, Policy, Versatile

_ASKED = ("unroll", "unroll_packed")
"""The forward passes of a policy that torch does not know as such."""


def shard(policy: Policy, device: Device) -> None:
    """Spreads `policy` over all processes, in place, with the weights of rank 0; does nothing in a single process.

    Each layer of a list of layers is gathered by itself; all other weights form one more group. The whole policy is
    never on the device.
    """
    parallel.same_start(policy)
    if parallel.size() == 1:
        policy.to(device.torch_device)
        return
    from torch.distributed.device_mesh import init_device_mesh  # takes most of a second
    from torch.distributed.fsdp import fully_shard

    # Torch warns against changing a layer's output in place, which never happens here.
    warnings.filterwarnings("ignore", message=r"FSDP2-wrapped module .* returned a view tensor")
    mesh = init_device_mesh(device.kind, (parallel.size(),))
    for module in policy.modules():
        if isinstance(module, nn.ModuleList):
            for layer in module:
                fully_shard(layer, mesh=mesh, reshard_after_forward=True)
    fully_shard(policy, mesh=mesh, reshard_after_forward=True)
    _gather_for(policy, policy)
    if isinstance(policy, Versatile):
        _gather_for_views(policy)


def is_sharded(policy: nn.Module) -> bool:
    """Whether this process has only a part of the policy's weights."""
    return hasattr(policy, "set_requires_gradient_sync")


def own_rows(rows: int, rank: int, size: int) -> slice:
    """Which of a tensor's `rows` rank `rank` of `size` holds."""
    each = -(-rows // size)
    return slice(min(rows, rank * each), min(rows, (rank + 1) * each))


def is_part(tensor: Tensor) -> bool:
    """Whether other processes hold other rows of `tensor`."""
    return hasattr(tensor, "to_local")


def part_of(tensor: Tensor) -> Tensor:
    """The rows of `tensor` that this process holds: all, if it is not sharded."""
    found: Tensor = tensor.to_local() if is_part(tensor) else tensor  # type: ignore[attr-defined]
    return found


def whole(tensor: Tensor) -> Tensor:
    """All rows of `tensor`. If it is sharded, all processes must call this."""
    found: Tensor = tensor.full_tensor() if is_part(tensor) else tensor  # type: ignore[attr-defined]
    return found


def spread_as(tensor: Tensor, model: Tensor) -> Tensor:
    """`tensor`, given whole or as the rows of this process, sharded like `model`; unchanged if that is not sharded."""
    if not is_part(model) or tensor.ndim != model.ndim:
        return tensor
    from torch.distributed.tensor import DTensor

    mesh: Any = model.device_mesh  # type: ignore[attr-defined]
    placements: Any = model.placements  # type: ignore[attr-defined]
    if tensor.shape == model.shape:
        tensor = tensor[own_rows(len(tensor), parallel.rank(), parallel.size())]
    device = part_of(model).device
    return DTensor.from_local(tensor.to(device), mesh, placements, shape=model.shape, stride=model.stride())


def load_weights(policy: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Loads `weights` into `policy`; if it is sharded, each may be given whole or as the rows of this process."""
    there = policy.state_dict()
    policy.load_state_dict({name: spread_as(weight, there.get(name, weight)) for name, weight in weights.items()})


def gathered_weights(policy: nn.Module, *, everywhere: bool = False) -> dict[str, Tensor]:
    """Copies of a policy's weights; if it is sharded, all processes must call this.

    Then they are in main memory, and only rank 0 gets them, unless they are wanted `everywhere`.
    """
    if not is_sharded(policy):
        return {name: weight.detach().clone() for name, weight in policy.state_dict().items()}
    found = {}
    for name, weight in policy.state_dict().items():  # one at a time: all of them may be too many
        gathered = whole(weight).detach()
        if everywhere or parallel.rank() == 0:
            found[name] = gathered.to("cpu", copy=True)
    return found


def joined_parts(parts: Iterable[Mapping[str, Tensor]], rows: Mapping[str, int], *, split: bool) -> dict[str, Tensor]:
    """Tensors of `rows` rows, joined from the `parts` that each process saved, in the order of ranks.

    If the policy is `split` now, only the rows of this process.
    """
    rank, size = (parallel.rank(), parallel.size()) if split else (0, 1)
    wanted = {name: own_rows(count, rank, size) for name, count in rows.items()}
    begin = dict.fromkeys(rows, 0)
    found: dict[str, list[Tensor]] = {name: [] for name in rows}
    for part in parts:
        for name, rows_here in part.items():
            at, end = begin[name], begin[name] + len(rows_here)
            first, last = max(at, wanted[name].start), min(end, wanted[name].stop)
            if first < last or not found[name]:  # an empty piece keeps the dtype and the other sizes
                found[name].append(rows_here[max(0, first - at) : max(0, last - at)].clone())
            begin[name] = end
    return {name: torch.cat(pieces) for name, pieces in found.items()}


def _gather_for(policy: Policy, asked: Policy) -> None:
    """Makes calls of `asked`, the policy or a view of it, gather the weights of `policy` that belong to no layer."""
    from torch.distributed.fsdp import register_fsdp_forward_method

    for name in _ASKED:
        if hasattr(asked, name):
            alias = name if asked is policy else f"{name}_{id(asked)}"
            setattr(policy, alias, partial(_with_all_weights, policy, getattr(asked, name)))
            register_fsdp_forward_method(policy, alias)
            setattr(asked, name, getattr(policy, alias))


def _with_all_weights(policy: Policy, answer: Callable[..., Output], *asked: Any) -> Output:
    """The output of `answer`, made to depend on every weight that is gathered now.

    Not every format uses all of them. A weight without a gradient in one process would be missing from what that
    process sends to the others, which expect it.
    """
    output = answer(*asked)
    weights = [weight.sum() for weight in policy.parameters() if weight.requires_grad and not is_part(weight)]
    if not weights or not torch.is_grad_enabled():
        return output
    return output._replace(logits=output.logits + 0.0 * torch.stack(weights).sum())


def _gather_for_views(policy: Any) -> None:
    """`_gather_for` every view that `policy.playing` returns."""
    playing, known = policy.playing, {id(policy)}

    def gathering(spec: Any) -> Policy:
        view: Policy = playing(spec)
        if id(view) not in known:
            known.add(id(view))
            _gather_for(policy, view)
        return view

    policy.playing = gathering
