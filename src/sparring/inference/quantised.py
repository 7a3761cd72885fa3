"""A policy's step with its linear layers in int8: less memory traffic for actors on a CPU, slightly other answers.

Weights are rounded once when they change, activations row by row (dynamic quantisation). Everything else (embeddings,
attention, normalisation) stays in float32. Actions are recorded with the probabilities they were drawn with, so that
learners correct for the difference.
"""

import copy
import warnings
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from sparring.policy import Memory, Output


class Int8Step:
    """The `Step` of a policy in int8."""

    few_shapes = False

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self.refresh()

    def refresh(self) -> None:
        """Takes the module's present weights."""
        twin = copy.deepcopy(self._module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated, but its successor is a package of its own
            self._rounded = torch.ao.quantization.quantize_dynamic(  # type: ignore[no-untyped-call]
                twin, {nn.Linear, nn.LSTMCell}, dtype=torch.qint8, inplace=True
            )

    def __call__(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """See `Step`."""
        output: Output = self._rounded.step(observation, legal, memory)
        return output
