"""Several networks of one shape as one: their weights stacked, one forward pass for the rows of all of them."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from sparring.core import GameSpec
from sparring.inference.device import Device
from sparring.policy import Memory, Output, Policy

_FEWEST, _MOST_ROWS, _MOST_PADDING = 8, 32, 3
"""Measured by benchmarks/stacked.py: stacking gains with many networks of few rows each, and loses otherwise."""


def pays(rows: NDArray[np.integer]) -> bool:
    """Whether one stacked pass is faster than one pass per policy, given each policy's number of rows."""
    most, policies = int(rows.max()), int((rows > 0).sum())
    return policies >= _FEWEST and most <= _MOST_ROWS and most * len(rows) <= _MOST_PADDING * int(rows.sum())


class Stack:
    """n policies of one shape with their weights stacked, `[n, ...]` each."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self._weights = stack_module_state(list(modules))
        shape = copy.deepcopy(modules[0]).to("meta")

        def call(weights: Any, observation: Any, legal: Tensor, memory: Any) -> tuple[Tensor, Tensor, Memory]:
            output: Output = functional_call(shape, weights, (observation, legal, memory))
            return output.logits, output.value, output.memory

        self._call = torch.vmap(call)

    def step(self, which: NDArray[np.integer], rows: NDArray[np.integer]) -> "StackStep":
        """The step of k rows: policy `which[r]` answers row r, and policy i has `rows[i]` of them."""
        order = np.argsort(which, kind="stable")
        place = np.empty(len(which), np.int64)
        place[order] = np.arange(len(which)) - np.repeat(np.cumsum(rows) - rows, rows)
        return StackStep(self, torch.from_numpy(which * int(rows.max()) + place), len(rows), int(rows.max()))

    def __call__(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """Fields `[n, r, ...]` to an output `[n, r, ...]`."""
        logits, value, after = self._call(self._weights, observation, legal, memory)
        return Output(logits, value, after)


@dataclass(frozen=True)
class StackStep:
    """A `Step` that groups rows by policy, pads the groups to one size, and returns the answers in order."""

    stack: Stack
    place: Tensor
    """`int64[k]` the place of each row among `policies * rows`."""
    policies: int
    rows: int
    few_shapes: bool = False

    def __call__(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """See `Step`."""
        output = self.stack(
            {name: self._laid_out(field) for name, field in observation.items()},
            self._laid_out(legal),
            {name: self._laid_out(state) for name, state in memory.items()},
        )
        return Output(
            self._taken_back(output.logits),
            self._taken_back(output.value),
            {name: self._taken_back(state) for name, state in output.memory.items()},
        )

    def refresh(self) -> None:
        """Nothing to do: when weights change, the stack is rebuilt."""

    def _laid_out(self, rows: Tensor) -> Tensor:
        room = rows.new_zeros(self.policies * self.rows, *rows.shape[1:])
        room[self.place.to(rows.device)] = rows
        return room.view(self.policies, self.rows, *rows.shape[1:])

    def _taken_back(self, rows: Tensor) -> Tensor:
        return rows.flatten(0, 1)[self.place.to(rows.device)]


def stacked(modules: Sequence[nn.Module], spec: GameSpec, device: Device) -> Stack | None:
    """`modules` as one; None if they are not alike, or use operations that torch cannot stack."""
    shapes = [{name: weight.shape for name, weight in module.state_dict().items()} for module in modules]
    if any(type(one) is not type(modules[0]) or not isinstance(one, Policy) for one in modules):
        return None
    if any(shape != shapes[0] for shape in shapes) or any(str(one) != str(modules[0]) for one in modules):
        return None
    warnings.filterwarnings("ignore", "There is a performance drop because we have not yet implemented the batching")
    first: Any = modules[0]
    try:
        stack = Stack(modules)
        one = np.arange(len(modules))
        step = stack.step(one, np.ones(len(modules), np.int64))
        with torch.inference_mode(), device.autocast():
            step(
                {name: device.tensor(field.zeros(len(one))) for name, field in spec.observation.items()},
                device.tensor(np.ones((len(one), spec.actions), np.bool_)),
                first.initial_memory(len(one)),
            )
    except (RuntimeError, NotImplementedError):  # operations that torch.vmap does not know, such as an LSTM cell
        return None
    return stack
