"""A forward pass as the engine sees it: a `Step`, and the two that torch itself runs."""

from collections.abc import Callable, Mapping
from typing import Protocol

from torch import Tensor, nn

from sparring.inference.compiled import Compiled
from sparring.inference.device import Device
from sparring.policy import Memory, Output


class Step(Protocol):
    """Answers k rows with one policy."""

    @property
    def few_shapes(self) -> bool:
        """Whether every new batch size costs some preparation, so that padding to a few sizes pays."""
        ...

    def __call__(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """Logits `[k, actions]`, values `[k]` and the memory after these rows."""
        ...

    def refresh(self) -> None:
        """Takes the module's present weights."""
        ...


class TorchStep:
    """`module.step` as it is; it reads the module's weights at every call."""

    def __init__(self, module: nn.Module, device: Device) -> None:
        self._step: Callable[..., Output] = module.step  # type: ignore[assignment]
        self.few_shapes = device.prefers_few_shapes

    def __call__(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """See `Step`."""
        return self._step(observation, legal, memory)

    def refresh(self) -> None:
        """Nothing to do."""


class CompiledStep:
    """`module.step` through `torch.compile`; if that fails it says so once and goes on without it."""

    def __init__(self, module: nn.Module, device: Device, *, name: str, say: Callable[[str], None]) -> None:
        step: Callable[..., Output] = module.step  # type: ignore[assignment]
        self._step = Compiled(step, what=f"policy {name}", say=say, dynamic=False)
        self._prefers_few = device.prefers_few_shapes

    @property
    def few_shapes(self) -> bool:
        """True while compiled; afterwards as the device prefers."""
        return self._step.works or self._prefers_few

    def __call__(self, observation: Mapping[str, Tensor], legal: Tensor, memory: Memory) -> Output:
        """See `Step`."""
        return self._step(observation, legal, memory)

    def refresh(self) -> None:
        """Nothing to do: compiled code reads the module's weights."""
