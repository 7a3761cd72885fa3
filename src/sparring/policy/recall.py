"""Memory of a few fields of a seat's previous observation, beside a memory core.

An encoder that sees the fields of both decisions can tell what happened in between.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from sparring.core import Field
from sparring.policy.interface import Memory

_BEFORE = "before_"
"""Prefix of a field of the previous decision, in memory and in the encoder's input."""


class Recall:
    """Remembers `fields` of the observation for one decision; they are zeros at the first of a match."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._fields = dict(fields)

    def initial(self, rows: int, device: torch.device) -> Memory:
        """Zeros: nothing seen."""
        return {_BEFORE + name: torch.from_numpy(field.zeros(rows)).to(device) for name, field in self._fields.items()}

    def step(self, observation: Mapping[str, Tensor], memory: Memory) -> tuple[dict[str, Tensor], Memory]:
        """The previous fields, for the encoder, and the memory after k rows."""
        return (
            {_BEFORE + name: memory[_BEFORE + name] for name in self._fields},
            {_BEFORE + name: observation[name] for name in self._fields},
        )

    def unroll(self, observation: Mapping[str, Tensor], memory: Memory) -> tuple[dict[str, Tensor], Memory]:
        """The fields before each of the rows `[T, B]`, and the memory after the last."""
        return (
            {
                _BEFORE + name: torch.cat((memory[_BEFORE + name].unsqueeze(0), observation[name][:-1]))
                for name in self._fields
            },
            {_BEFORE + name: observation[name][-1] for name in self._fields},
        )

    def unroll_packed(self, observation: Mapping[str, Tensor], first: Tensor) -> dict[str, Tensor]:
        """The fields before each of the rows `[T, B]`, zeros where a match begins."""
        before = {}
        for name in self._fields:
            field = observation[name]
            fresh = first.view(*first.shape, *[1] * (field.ndim - 2))
            before[_BEFORE + name] = torch.cat((field[:1], field[:-1])).masked_fill(fresh, 0)
        return before
