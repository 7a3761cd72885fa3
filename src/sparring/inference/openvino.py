"""A policy's step run by OpenVINO: the same weights and answers, often faster than torch on a CPU.

The converted model shares its constants with the torch module, so that new weights cost one compilation (tens of
milliseconds for a small network) and no conversion.
"""

import sys
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from sparring.core import GameSpec
from sparring.policy import Memory, Output

_ROWS = 16
"""Batches are padded to a multiple of this, since every new shape costs some preparation."""


def installed() -> bool:
    """Whether the `openvino` package is there."""
    return find_spec("openvino") is not None


def _openvino() -> Any:
    """The package, an extra that is slow to import, without the part that reports each import over the network.

    OpenVINO takes a stub of its own where that part is missing.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


class OpenVinoStep:
    """The `Step` of a policy without memory."""

    few_shapes = False  # it pads by itself

    def __init__(self, module: nn.Module, spec: GameSpec) -> None:
        openvino = _openvino()
        self._core = openvino.Core()
        self._fields = list(spec.observation)
        examples = [torch.from_numpy(field.zeros(_ROWS)) for field in spec.observation.values()]
        examples.append(torch.ones(_ROWS, spec.actions, dtype=torch.bool))
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the tracer's: shapes are made dynamic below, and tests compare answers
            self._model = openvino.convert_model(_Flat(module, self._fields), example_input=tuple(examples))
        self._model.reshape({index: [-1, *example.shape[1:]] for index, example in enumerate(examples)})
        able = self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        self.precision = "bf16" if "BF16" in able else "f32"
        self._request: Any = None
        self.refresh()

    def refresh(self) -> None:
        """Takes the module's present weights."""
        options = {
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": self.precision,
        }
        self._request = self._core.compile_model(self._model, "CPU", options).create_infer_request()

    def __call__(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """See `Step`."""
        rows = len(legal)
        inputs = [_padded(tensor).numpy() for tensor in (*(observation[name] for name in self._fields), legal)]
        answers = self._request.infer(inputs)
        logits, value = (torch.from_numpy(answers[output][:rows].copy()) for output in range(2))
        return Output(logits, value, {})


class _Flat(nn.Module):
    """`step` with tensors in and tensors out, as a tracer needs it."""

    def __init__(self, module: nn.Module, fields: list[str]) -> None:
        super().__init__()
        self.module = module
        self.fields = fields

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        observation = dict(zip(self.fields, inputs[:-1], strict=True))
        output: Output = self.module.step(observation, inputs[-1], {})  # type: ignore[operator]
        return output.logits, output.value


def _padded(tensor: Tensor) -> Tensor:
    missing = -len(tensor) % _ROWS
    tensor = tensor.contiguous()
    return tensor if missing == 0 else torch.cat([tensor, tensor.new_zeros(missing, *tensor.shape[1:])])
